# SPDX-License-Identifier: Apache-2.0
"""A finished run again, frame by frame: the camera on its way, images and depth of keyframes, the map as it grows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.cloud import PointCloud
from prism_vo.dense_run import FinishedRun
from prism_vo.errors import PrismError
from prism_vo.pipeline import sensor_for
from prism_vo.report.pictures import depth_scale, sigma_scale
from prism_vo.report.snapshots import to_bytes
from prism_vo.results import TRAJECTORY
from prism_vo.trajectory import Trajectory, read_trajectory
from prism_vo.view.rerun_sink import pinhole

if TYPE_CHECKING:
    from prism_vo.datasets.source import Sequence
    from prism_vo.optics.view import FocusedView
    from prism_vo.types import DecodedFrame

MOST_PICTURES = 40  # keyframes with images


def recording_of(folder: Path) -> Sequence | None:
    """The recording of a results folder, if it is still there."""
    from prism_vo.datasets import open_sequence

    try:
        return open_sequence(FinishedRun.read(folder).recording_path())
    except PrismError:
        return None  # without it there are no pictures, and all the rest


def log_camera(rr: Any, rec: Any, folder: Path, sequence: Sequence) -> None:
    """The camera at every pose of the path."""
    view, times = sequence.camera.view(), np.asarray(sequence.times)
    rec.log("world/camera/image", pinhole(rr, view), static=True)
    for time, pose in read_trajectory(folder / TRAJECTORY):
        _set_time(rr, rec, times, time)
        rec.log("world/camera", rr.Transform3D(translation=pose[:3, 3], mat3x3=pose[:3, :3]))


def log_pictures(rr: Any, rec: Any, folder: Path, sequence: Sequence, keyframes: Trajectory) -> None:
    """Focused image, inverse virtual depth and σ of keyframes."""
    times = np.asarray(sequence.times)
    chosen = keyframes.times[:: max(1, -(-len(keyframes) // MOST_PICTURES))]
    sensor = None
    for time in chosen.tolist():
        frame = sequence[_number(times, time)]
        sensor = sensor or sensor_for(sequence.camera, FinishedRun.read(folder).config, sequence.white, frame)
        decoded = sensor.dense(frame)
        _set_time(rr, rec, times, time)
        picture = decoded.color if decoded.color is not None else to_bytes(decoded.image)
        rec.log("world/camera/image", rr.Image(picture).compress(jpeg_quality=80))
        for name, values in _maps(decoded).items():
            scale = depth_scale(values) if name == "depth" else sigma_scale()
            colors = np.where(np.isfinite(values)[..., None], scale.colors(values), 0).astype(np.uint8)
            rec.log(f"{name}/map", rr.Image(colors).compress(jpeg_quality=80))


def _maps(decoded: DecodedFrame) -> dict[str, Floats]:
    if decoded.inv_virtual_depth is None or decoded.variance is None:
        return {}
    valid = np.isfinite(decoded.inv_virtual_depth) & np.isfinite(decoded.variance)
    if decoded.valid is not None:
        valid &= decoded.valid
    nothing = np.float32(np.nan)
    return {
        "depth": np.where(valid, decoded.inv_virtual_depth, nothing),
        "sigma": np.sqrt(np.where(valid, decoded.variance, nothing)),
    }


def log_growing_map(rr: Any, rec: Any, cloud: PointCloud, sequence: Sequence, keyframes: Trajectory) -> None:
    """Each part of the map at the keyframe that looked at it first."""
    times, view = np.asarray(sequence.times), sequence.camera.view()
    for part, time in zip(first_seen(cloud, keyframes, view), keyframes.times.tolist()):
        if len(part):
            _set_time(rr, rec, times, time)
            colors = None if cloud.colors is None else cloud.colors[part]
            points = rr.Points3D(cloud.points[part], colors=colors, radii=rr.Radius.ui_points(2.0))
            rec.log(f"world/map/{_number(times, time):06d}", points)


def first_seen(cloud: PointCloud, keyframes: Trajectory, view: FocusedView) -> list[Array]:
    """For each keyframe the points that are in its image and were in none before; what is in none comes last."""
    waiting = np.arange(len(cloud))
    parts = []
    for pose in keyframes.poses:
        seen = se3.transform(se3.inverse(pose), cloud.points[waiting].astype(np.float64))
        with np.errstate(divide="ignore", invalid="ignore"):
            x, y = view.project(seen).T
        inside = (seen[:, 2] > view.z0) & (x >= 0) & (y >= 0) & (x < view.width) & (y < view.height)
        parts.append(waiting[inside])
        waiting = waiting[~inside]
    if parts:
        parts[-1] = np.concatenate([parts[-1], waiting])
    return parts


def _number(times: Array, time: float) -> int:
    return int(np.argmin(np.abs(times - time)))


def _set_time(rr: Any, rec: Any, times: Array, time: float) -> None:
    rec.set_time("frame", sequence=_number(times, time))
    rec.set_time("time", duration=time)
