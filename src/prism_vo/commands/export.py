# SPDX-License-Identifier: Apache-2.0
"""``prism-vo export``: results or focused images in another program's layout."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from prism_vo.commands.quiet import Quiet

if TYPE_CHECKING:
    from collections.abc import Iterable

Form = Literal[
    "colmap",
    "nerfstudio",
    "tum",
    "kitti",
    "euroc",
    "ply",
    "glb",
    "mcap",
    "rosbag2",
    "mono",
    "rgbd",
    "dso",
    "orbslam3",
]


def export(
    source: Annotated[Path, Parameter(name="SOURCE")],
    /,
    *,
    form: Annotated[Form, Parameter(name="--as")],
    out: Path | None = None,
    which: Literal["keyframes", "all"] = "keyframes",
    sequence: Path | None = None,
    camera: Path | None = None,
    images: Literal["focused", "mono"] = "focused",
    first: int = 0,
    last: int | None = None,
    quiet: Quiet = False,
) -> None:
    """Write what a run found, or the focused images of a recording, for another program.

    Parameters
    ----------
    source
        Results folder of `prism-vo run`; or a recording, of which images are written, and its ground truth.
    form
        Of results: colmap, nerfstudio (undistorted focused images, own poses, map points, all in metres); tum,
        kitti, euroc (the path); ply, glb (the map); mcap, rosbag2 (poses with covariances, map, images; extra `ros`).
        Of a recording: mono, rgbd, dso, orbslam3, tum (layout of the TUM RGB-D benchmark), colmap.
    out
        File or folder to write; must not exist. Default: a name in the current folder.
    which
        Of results: the images of keyframes, or of all frames with a pose.
    sequence
        Of results: where the recording lies, if it was moved.
    camera
        Of results: camera file of the recording; default: the one the run ended with.
    images
        Of a recording: made from the plenoptic images, or those of an ordinary camera beside it (mono).
    first
        Of a recording: first frame.
    last
        Of a recording: last frame; default: the last there is.
    """
    from prism_vo.errors import ConfigError
    from prism_vo.export.finished_run import is_results
    from prism_vo.export.forms import FORMS

    if is_results(source):
        if form not in FORMS:
            raise ConfigError(f"{source}: results can be exported as {', '.join(FORMS)}; not as {form}.")
        if images != "focused" or first != 0 or last is not None:
            raise ConfigError("--images, --first and --last belong to recordings, not to results.")
        _export_results(source, form, out, which, sequence, camera, quiet)
        return
    if form not in RECORDING_FORMS:
        raise ConfigError(
            f"{source}: holds no results of `prism-vo run`, which --as {form} needs; a recording can be exported as"
            f" {', '.join(RECORDING_FORMS)}."
        )
    if sequence is not None or camera is not None or which != "keyframes":
        raise ConfigError("--sequence, --camera and --which belong to results, not to recordings.")
    _export_recording(source, form, images, out, first, last, quiet)


RECORDING_FORMS = ("mono", "rgbd", "dso", "orbslam3", "tum", "colmap")


def _export_results(
    folder: Path,
    form: Any,
    out: Path | None,
    which: Any,
    sequence: Path | None,
    camera: Path | None,
    quiet: bool,
) -> None:
    from prism_vo.export.finished_run import FinishedRun
    from prism_vo.export.forms import Order, default_out, export_run

    run = FinishedRun.read(folder, sequence, camera)
    order = Order(form, out or default_out(run, form), which)
    told = export_run(run, order, lambda items, total: _shown(items, f"{run.name} as {form}", total, quiet))
    if not quiet:
        print(told)


def _export_recording(
    path: Path, form: Any, images: str, out: Path | None, first: int, last: int | None, quiet: bool
) -> None:
    from prism_vo.baselines.export import export_sequence
    from prism_vo.baselines.focused import focused_frames, synchronised_frames, view_of
    from prism_vo.config import DecodeConfig
    from prism_vo.datasets import open_sequence
    from prism_vo.errors import ConfigError

    recording = open_sequence(path)
    stop = len(recording) if last is None else min(last + 1, len(recording))
    if not 0 <= first < stop:
        raise ConfigError(f"--first and --last must name frames between 0 and {len(recording) - 1}.")
    out = out or Path(f"{recording.name}_{form}")
    central = DecodeConfig(view="central")
    chosen = range(first, stop)
    if images == "mono":
        frames, view = synchronised_frames(recording, chosen)
    else:
        frames, view = focused_frames(recording, central, chosen), view_of(recording, central)
    shown = _shown(frames, f"{recording.name} as {form}", stop - first, quiet)
    exported = export_sequence(shown, view, recording.groundtruth, form, out)
    if not quiet:
        poses = (
            ", poses of its ground truth" if form == "colmap" and recording.groundtruth is not None else ""
        )
        print(
            f"{len(exported.times)} images of {view.width} × {view.height}, focal length {view.focal_px:.2f} px, "
            f"principal point ({view.cx:.2f}, {view.cy:.2f}){poses}: {out}"
        )


def _shown(items: Iterable[Any], words: str, total: int, quiet: bool) -> Iterable[Any]:
    """The same, with a bar on a terminal."""
    from rich.markup import escape
    from rich.progress import track

    return items if quiet else track(items, escape(words), total=total)
