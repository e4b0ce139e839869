# SPDX-License-Identifier: Apache-2.0
"""A sequence's focused images in the folder layouts other programs read (pixel centres at integers)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.arrays import Floats
from prism_vo.baselines.focused import FocusedFrame, eight_bit, metric_depth
from prism_vo.errors import InputError
from prism_vo.optics.camera import FocusedView
from prism_vo.trajectory import Trajectory, write_trajectory

Form = Literal["mono", "rgbd", "dso", "orbslam3", "tum", "colmap"]
TUM_DEPTH_UNITS = 5000.0  # per metre, 16 bit: the TUM RGB-D benchmark's convention
MILLIMETRES = 1000.0


@dataclass(frozen=True)
class Exported:
    """What was written: enough to start a program on it and to read its answer."""

    folder: Path
    times: tuple[float, ...]
    view: FocusedView


@dataclass(frozen=True)
class _Row:
    name: str  # file name without folder
    time: float
    exposure: float | None


@dataclass(frozen=True)
class _Layout:
    images: str  # folder of the images
    depth: str | None  # folder of the depth maps
    depth_units: float
    finish: Callable[[Path, FocusedView, list[_Row], Trajectory | None], None]


def export_sequence(
    frames: Iterable[FocusedFrame], view: FocusedView, truth: Trajectory | None, form: Form, out: Path
) -> Exported:
    """Write focused images (and depth, where the form has it), calibration and times to an empty folder."""
    if out.exists() and any(out.iterdir()):
        raise InputError(f"{out}: the folder is not empty; name another one with --out.")
    layout = _LAYOUTS[form]
    (out / layout.images).mkdir(parents=True, exist_ok=True)
    if layout.depth:
        (out / layout.depth).mkdir(exist_ok=True)
    rows = []
    for item in frames:
        frame = item.frame
        row = _Row(f"{frame.index:06d}.png", frame.time, frame.exposure)
        picture = frame.color[..., ::-1] if frame.color is not None else eight_bit(frame.image)
        _write_image(out / layout.images / row.name, picture)
        if layout.depth:
            _write_depth(out / layout.depth / row.name, metric_depth(item.measure()), layout.depth_units)
        rows.append(row)
    if not rows:
        raise InputError("The sequence has no frames to export.")
    layout.finish(out, view, rows, truth)
    return Exported(out, tuple(row.time for row in rows), view)


def _write_image(path: Path, image: NDArray[np.uint8] | NDArray[np.uint16]) -> None:
    if not cv2.imwrite(str(path), np.ascontiguousarray(image)):
        raise InputError(f"{path}: the image could not be written.")


def _write_depth(path: Path, depth: Floats, units: float) -> None:
    """16 bit, 0 where there is no depth or it does not fit."""
    scaled = np.rint(np.nan_to_num(depth * units, nan=0.0, posinf=0.0))
    _write_image(path, np.where((scaled > 0) & (scaled < 65536), scaled, 0).astype(np.uint16))


def _intrinsics(view: FocusedView) -> str:
    return f"{view.focal_px:.10g} {view.focal_px:.10g} {view.cx:.10g} {view.cy:.10g}"


def _text(path: Path, lines: Iterable[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _times(rows: list[_Row]) -> list[str]:
    return [f"{r.time:.9f}" + (f" {r.exposure:.9g}" if r.exposure is not None else "") for r in rows]


def _finish_mono(out: Path, view: FocusedView, rows: list[_Row], truth: Trajectory | None) -> None:
    _text(out / "intrinsics.txt", [_intrinsics(view)])
    _text(out / "times.txt", _times(rows))
    if truth is not None:
        write_trajectory(truth, out / "groundtruth.txt")


def _finish_dso(out: Path, view: FocusedView, rows: list[_Row], truth: Trajectory | None) -> None:
    """camera.txt (``none``: images are not resampled); times.txt with exposure in milliseconds (0: unknown)."""
    size = f"{view.width} {view.height}"
    _text(out / "camera.txt", [f"Pinhole {_intrinsics(view)} 0", size, "none", size])
    _text(
        out / "times.txt",
        [f"{Path(r.name).stem} {r.time:.9f} {1000 * (r.exposure or 0.0):.9g}" for r in rows],
    )
    if truth is not None:
        write_trajectory(truth, out / "groundtruth.txt")


def _finish_tum(out: Path, view: FocusedView, rows: list[_Row], truth: Trajectory | None) -> None:
    head = ["# focused images of a plenoptic camera", "# central perspective", "# timestamp filename"]
    _text(out / "rgb.txt", [*head, *(f"{r.time:.9f} rgb/{r.name}" for r in rows)])
    if (out / "depth").is_dir():
        _text(out / "depth.txt", [*head, *(f"{r.time:.9f} depth/{r.name}" for r in rows)])
        pairs = (f"{r.time:.9f} rgb/{r.name} {r.time:.9f} depth/{r.name}" for r in rows)
        _text(out / "associations.txt", pairs)
    _finish_mono(out, view, rows, truth)


def _finish_orbslam3(out: Path, view: FocusedView, rows: list[_Row], truth: Trajectory | None) -> None:
    _finish_tum(out, view, rows, truth)
    steps = np.diff([r.time for r in rows])
    rate = round(1.0 / float(np.median(steps))) if len(steps) else 10
    (out / "orbslam3.yaml").write_text(ORBSLAM3_SETTINGS.format(v=view, rate=max(1, rate)), encoding="utf-8")


def _finish_colmap(out: Path, view: FocusedView, rows: list[_Row], truth: Trajectory | None) -> None:
    """COLMAP text model: its pixel centres lie at half integers; poses are world-to-camera, where known."""
    model = out / "sparse" / "0"
    model.mkdir(parents=True)
    f = f"{view.focal_px:.10g}"
    camera = f"1 PINHOLE {view.width} {view.height} {f} {f} {view.cx + 0.5:.10g} {view.cy + 0.5:.10g}"
    _text(model / "cameras.txt", ["# CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]", camera])
    lines = ["# IMAGE_ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA_ID, NAME", "# POINTS2D[] as (X, Y, POINT3D_ID)"]
    known = {} if truth is None else {round(t * 1e6): pose for t, pose in truth}
    for number, row in enumerate(rows, 1):
        pose = known.get(round(row.time * 1e6))
        if pose is not None:
            centre = np.eye(4)
            centre[2, 3] = view.z0
            T = se3.inverse(pose @ centre)
            x, y, z, w = se3.rotation_to_quaternion(T[:3, :3])
            numbers = " ".join(f"{value:.12g}" for value in (w, x, y, z, *T[:3, 3]))
            lines += [f"{number} {numbers} 1 {row.name}", ""]
    _text(model / "images.txt", lines)
    _text(model / "points3D.txt", ["# POINT3D_ID, X, Y, Z, R, G, B, ERROR, TRACK[]"])


ORBSLAM3_SETTINGS = """%YAML:1.0
File.version: "1.0"
Camera.type: "PinHole"
Camera1.fx: {v.focal_px:.8f}
Camera1.fy: {v.focal_px:.8f}
Camera1.cx: {v.cx:.8f}
Camera1.cy: {v.cy:.8f}
Camera.width: {v.width}
Camera.height: {v.height}
Camera.fps: {rate}
Camera.RGB: 0
loopClosing: 0
ORBextractor.nFeatures: 2000
ORBextractor.scaleFactor: 1.2
ORBextractor.nLevels: 8
ORBextractor.iniThFAST: 20
ORBextractor.minThFAST: 7
Viewer.KeyFrameSize: 0.05
Viewer.KeyFrameLineWidth: 1.0
Viewer.GraphLineWidth: 0.9
Viewer.PointSize: 2.0
Viewer.CameraSize: 0.08
Viewer.CameraLineWidth: 3.0
Viewer.ViewpointX: 0.0
Viewer.ViewpointY: -0.7
Viewer.ViewpointZ: -1.8
Viewer.ViewpointF: 500.0
"""

_LAYOUTS: dict[Form, _Layout] = {
    "mono": _Layout("images", None, 1.0, _finish_mono),
    "rgbd": _Layout("images", "depth", MILLIMETRES, _finish_mono),
    "dso": _Layout("images", None, 1.0, _finish_dso),
    "orbslam3": _Layout("rgb", None, 1.0, _finish_orbslam3),
    "tum": _Layout("rgb", "depth", TUM_DEPTH_UNITS, _finish_tum),
    "colmap": _Layout("images", None, 1.0, _finish_colmap),
}
