# SPDX-License-Identifier: Apache-2.0
"""COLMAP's text model: known poses, map points with the images that see them. Metres stay metres.

Its pixel centres lie at half integers, its poses are world to camera, its camera looks along +z with y down, as ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prism_vo import se3
from prism_vo.cloud import PointCloud
from prism_vo.export.finished_run import FinishedRun
from prism_vo.export.images import Written, grey_reader, write_pictures
from prism_vo.export.pictures import Picture, view_of_run
from prism_vo.export.sightings import Rows, Sightings, sightings
from prism_vo.optics.view import FocusedView

HALF = 0.5  # px: where COLMAP has its pixel centres
NO_POINT = -1


@dataclass(frozen=True)
class Model:
    """What was written of one world."""

    images: int
    points: int
    seen: Sightings


def write_colmap(
    run: FinishedRun, worlds: list[tuple[FinishedRun, Iterable[Picture]]], out: Path
) -> list[Model]:
    """``images/`` and one model a world: ``sparse/0``, ``sparse/1``, …, the longest first."""
    view, models = view_of_run(run), []
    (out / "images").parent.mkdir(parents=True, exist_ok=True)
    for number, (world, pictures) in enumerate(worlds):
        folder = out / f"images{number}"
        written = write_pictures(pictures, folder)
        grey = grey_reader(folder, written)
        poses = np.array([w.T_world_view for w in written])
        seen = sightings(world.cloud, view, poses, _keyframe_pictures(world, written), grey)
        write_model(out / "sparse" / str(number), view, written, world.cloud, seen)
        models.append(Model(len(written), len(world.cloud), seen))
    _gather(out, len(worlds))
    return models


def _gather(out: Path, worlds: int) -> None:
    """All images in one folder: their names are different."""
    (out / "images").mkdir()
    for number in range(worlds):
        for path in (out / f"images{number}").iterdir():
            path.rename(out / "images" / path.name)
        (out / f"images{number}").rmdir()


def _keyframe_pictures(run: FinishedRun, written: list[Written]) -> Rows:
    """The picture of every keyframe."""
    return np.searchsorted([w.time for w in written], run.keyframes.times - 1e-9).astype(np.intp)


def write_model(
    folder: Path, view: FocusedView, written: list[Written], cloud: PointCloud, seen: Sightings
) -> None:
    """cameras.txt, images.txt and points3D.txt."""
    folder.mkdir(parents=True)
    f = f"{view.focal_px:.12g}"
    camera = f"1 PINHOLE {view.width} {view.height} {f} {f} {view.cx + HALF:.12g} {view.cy + HALF:.12g}"
    _text(folder / "cameras.txt", ["# CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]", camera])
    by_picture = np.argsort(seen.picture, kind="stable")
    starts = np.searchsorted(seen.picture[by_picture], np.arange(len(written) + 1))
    number_in_picture = np.empty(len(seen), np.intp)
    lines = ["# IMAGE_ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA_ID, NAME", "# POINTS2D[] as (X, Y, POINT3D_ID)"]
    for n, picture in enumerate(written):
        rows = by_picture[starts[n] : starts[n + 1]]
        number_in_picture[rows] = np.arange(len(rows))
        lines += [_image_line(n + 1, picture), _points_line(seen, rows)]
    _text(folder / "images.txt", lines)
    _text(folder / "points3D.txt", _point_lines(cloud, seen, number_in_picture))


def _image_line(number: int, picture: Written) -> str:
    T = se3.inverse(picture.T_world_view)
    x, y, z, w = se3.rotation_to_quaternion(T[:3, :3])
    numbers = " ".join(f"{value:.15g}" for value in (w, x, y, z, *T[:3, 3]))
    return f"{number} {numbers} 1 {picture.name}"


def _points_line(seen: Sightings, rows: Rows) -> str:
    return " ".join(
        f"{x + HALF:.4f} {y + HALF:.4f} {point + 1}"
        for (x, y), point in zip(seen.xy[rows].tolist(), seen.point[rows].tolist())
    )


def _point_lines(cloud: PointCloud, seen: Sightings, number_in_picture: Rows) -> list[str]:
    by_point = np.argsort(seen.point, kind="stable")
    starts = np.searchsorted(seen.point[by_point], np.arange(len(cloud) + 1))
    colors = cloud.colors if cloud.colors is not None else np.full((len(cloud), 3), 128, np.uint8)
    lines = ["# POINT3D_ID, X, Y, Z, R, G, B, ERROR, TRACK[] as (IMAGE_ID, POINT2D_IDX)"]
    for n, (point, color) in enumerate(zip(cloud.points.tolist(), colors.tolist())):
        rows = by_point[starts[n] : starts[n + 1]]
        error = float(seen.error[rows].mean()) if len(rows) else NO_POINT
        track = " ".join(f"{seen.picture[r] + 1} {number_in_picture[r]}" for r in rows)
        place = " ".join(f"{value:.9g}" for value in point)
        lines.append(f"{n + 1} {place} {' '.join(map(str, color))} {error:.4f} {track}")
    return lines


def _text(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
