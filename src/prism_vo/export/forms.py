# SPDX-License-Identifier: Apache-2.0
"""The forms a run can be written in, and the sentence about what was written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from prism_vo.atomic import write_bytes_atomically, write_text_atomically
from prism_vo.bounded.files import MB, read_bytes
from prism_vo.cloud import check_ply, write_ply
from prism_vo.errors import DegenerateError, InputError
from prism_vo.export.colmap import Model, write_colmap
from prism_vo.export.finished_run import FinishedRun
from prism_vo.export.glb import check_glb, glb_bytes
from prism_vo.export.nerfstudio import write_nerfstudio
from prism_vo.export.pictures import Picture, pictures
from prism_vo.export.ros_bag import load_rosbags, write_bag
from prism_vo.export.whole_folder import check_new, whole_folder
from prism_vo.results import MAP, MESH_GLB
from prism_vo.trajectory import Trajectory, write_trajectory

Form = Literal["colmap", "nerfstudio", "tum", "kitti", "euroc", "ply", "glb", "mcap", "rosbag2"]
FORMS: tuple[Form, ...] = get_args(Form)
Which = Literal["keyframes", "all"]
ENDINGS = {"tum": "_tum.txt", "kitti": "_kitti.txt", "euroc": "_euroc.csv", "ply": ".ply", "glb": ".glb"}
DENSE: dict[str, str] = {"ply": MAP, "glb": MESH_GLB}  # of a run with a dense map
LARGEST = 4096 * MB
Watched = Callable[[Iterable[Picture], int], Iterable[Picture]]  # pictures and their number: to show progress


@dataclass(frozen=True)
class Order:
    """What is wanted of a run."""

    form: Form
    out: Path
    which: Which = "keyframes"  # whose images, where the form has images

    def poses(self, run: FinishedRun) -> Trajectory:
        """Those whose images are written."""
        return run.keyframes if self.which == "keyframes" else run.trajectory


def default_out(run: FinishedRun, form: Form) -> Path:
    """A name in the current folder."""
    return Path(run.name + ENDINGS.get(form, f"_{form}"))


def export_run(run: FinishedRun, order: Order, watched: Watched) -> str:
    """Write the form to a file or folder that does not exist yet; what was written, in words."""
    check_new(order.out)
    if not len(run.trajectory):
        raise InputError(f"{run.folder}: no frame has a pose; there is nothing to export.")
    if order.form in ("tum", "kitti", "euroc"):
        return _trajectory(run, order)
    if order.form in ("ply", "glb"):
        return _map(run, order)
    if order.form in ("mcap", "rosbag2"):
        load_rosbags()  # if it is missing, that is said at once
    worlds = run.worlds()
    with whole_folder(order.out) as folder:
        if order.form == "colmap":
            parts = [(w, watched(pictures(w, order.poses(w)), len(order.poses(w)))) for w in worlds]
            return _colmap_words(write_colmap(run, parts, folder), order.out)
        first = worlds[0]
        wanted = watched(pictures(first, order.poses(first)), len(order.poses(first)))
        if order.form == "nerfstudio":
            cloud = first.densest() if len(worlds) == 1 else first.cloud
            count = write_nerfstudio(first, wanted, cloud, folder)
            return f"{count} images, {len(cloud)} points{_left_out(worlds)}: {order.out}"
        folder.rmdir()  # the writer of bags makes it itself
        poses, images = write_bag(first, wanted, folder, "mcap" if order.form == "mcap" else "sqlite3")
        told = f"{poses} poses, {images} images, {len(first.cloud)} points{_left_out(worlds)}"
    return f"{told}: {order.out}"


def _trajectory(run: FinishedRun, order: Order) -> str:
    poses = run.trajectory
    if order.form == "kitti":  # a bare matrix of numbers: its own tools know no comments
        if poses.segment_count > 1:
            raise DegenerateError(
                f"{run.folder}: the run has {poses.segment_count} segments with worlds of their own, which KITTI's"
                " format cannot say; use --as tum."
            )
        rows = (" ".join(f"{value:.17g}" for value in pose[:3].ravel()) for pose in poses.poses)
        write_text_atomically(order.out, "\n".join(rows) + "\n")
        times = order.out.with_name(f"{order.out.stem}_times.txt")
        write_text_atomically(times, "".join(f"{time:.17g}\n" for time in poses.times))
        return f"{len(poses)} poses: {order.out}, their times: {times}"
    write_trajectory(poses, order.out, "tum" if order.form == "tum" else "euroc")
    return f"{len(poses)} poses: {order.out}"


def _map(run: FinishedRun, order: Order) -> str:
    dense = run.folder / DENSE[order.form]
    if dense.is_file():
        content = read_bytes(dense, LARGEST)
        (check_ply if order.form == "ply" else check_glb)(content, dense)
        write_bytes_atomically(order.out, content)
        return f"the dense {'map' if order.form == 'ply' else 'mesh'} of the run: {order.out}"
    worlds = run.worlds()
    first = worlds[0]
    if order.form == "ply":
        write_ply(first.cloud, order.out)
    else:
        write_bytes_atomically(order.out, glb_bytes(first.cloud, [first.trajectory.positions]))
    return f"{len(first.cloud)} points{_left_out(worlds)}: {order.out}"


def _left_out(worlds: list[FinishedRun]) -> str:
    """Other segments have worlds of their own, which one file cannot hold."""
    others = sum(len(world.trajectory) for world in worlds[1:])
    if not others:
        return ""
    return f" of the longest segment ({others} poses of {len(worlds) - 1} other segments left out)"


def _colmap_words(models: list[Model], out: Path) -> str:
    lines = []
    for n, model in enumerate(models):
        seen = model.seen
        errors = seen.error[seen.followed]
        error = f", {np.median(errors):.2f} px from the projection (median)" if len(errors) else ""
        lines.append(
            f"{model.images} images, {model.points} points, seen again {len(errors)} times{error}: {out}"
            + (f"/sparse/{n}" if len(models) > 1 else "")
        )
    return "\n".join(lines)
