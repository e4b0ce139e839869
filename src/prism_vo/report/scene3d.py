# SPDX-License-Identifier: Apache-2.0
"""What the report's 3-D view draws: map, path, truth and keyframes in one world, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from prism_vo.arrays import Array, Floats
from prism_vo.report.packed_cloud import encoded, packed
from prism_vo.report.pictures import map_table
from prism_vo.report.truth import truth_in_estimate

if TYPE_CHECKING:
    from prism_vo.cloud import PointCloud
    from prism_vo.dense.densify import DenseMap
    from prism_vo.evaluate.metrics import AlignedError
    from prism_vo.pipeline import RunResult
    from prism_vo.trajectory import Trajectory

MOST_VERTICES = 4000  # of a path
MOST_CAMERAS = 150
LARGEST_RELATIVE_SIGMA = 0.05  # end of the colour scale of σ, relative to the distance
INNER = (0.01, 0.99)  # quantiles between which a scene is measured: some points are always wrong
TOGETHER = 0.5  # length of the mean viewing direction from which on a camera looked one way
ASIDE, ABOVE = 0.35, 0.22  # rad: from beside and above what the camera saw, so that depth shows


def scene_json(
    result: RunResult, alignment: AlignedError | None, dense: DenseMap | None = None
) -> dict[str, Any]:
    """Everything in the world of the estimate; the truth is brought there by the inverse of the alignment.

    Of several worlds the one with most keyframes: laid over each other they would show what nobody saw.
    """
    keyframes = result.odometry.keyframe_trajectory()
    shown = keyframes.largest_segment
    keyframes, trajectory = keyframes.in_segment(shown), result.trajectory.in_segment(shown)
    cloud = shown_cloud(result) if dense is None else dense.cloud
    points = cloud.points.astype(np.float64)
    path = trajectory.positions
    truth = truth_in_estimate(result.truth, alignment)
    centre, radius, floor = _extent(points, path)
    view = result.odometry.view
    low, high = np.quantile(points[:, 1], [0.02, 0.98]) if len(points) else (0.0, 1.0)
    every = max(1, len(keyframes) // MOST_CAMERAS)
    yaw, pitch = best_side(keyframes)
    return {
        "cloud": packed(cloud, _sparse_spacing(cloud, radius) if dense is None else dense.spacing),
        "dense": dense is not None,
        "heights": [float(low), float(high)],
        "height_table": encoded(map_table(cv2.COLORMAP_TURBO)),
        "sigma_table": encoded(map_table(cv2.COLORMAP_VIRIDIS)),
        "largest_sigma": LARGEST_RELATIVE_SIGMA,
        "scale_sigma": float(np.nan_to_num(result.scale_sigma)),
        "path": [_line(trajectory.positions)],
        "truth": _line(truth),
        "cameras": [
            [_rounded(pose[:3, 3]), _rounded(pose[:3, :3].ravel())] for pose in keyframes.poses[::every]
        ],
        "centre": _rounded(centre),
        "radius": round(radius, 4),
        "floor": round(floor, 4),
        "yaw": round(yaw, 4),
        "pitch": round(pitch, 4),
        "aspect": view.height / view.width,
        "camera": round(min(0.035 * radius, 0.06 * float(np.linalg.norm(np.ptp(path, axis=0))) + 1e-4), 6),
    }


def shown_cloud(result: RunResult) -> PointCloud:
    """The points of the odometry, of the world that is shown."""
    cloud, keyframes = result.odometry.cloud(), result.odometry.keyframe_trajectory()
    shown = keyframes.largest_segment
    if shown is None or keyframes.segments is None or cloud.keyframe is None:
        return cloud
    return cloud.select(keyframes.segments[cloud.keyframe] == shown)


def scene_size(cloud: PointCloud) -> Array | None:
    """Width, height and depth (m) of what was seen, along the axes of the world; None for a few points."""
    if len(cloud) < 100:
        return None
    low, high = np.quantile(cloud.points.astype(np.float64), INNER, axis=0)
    return np.asarray(high - low)


def map_words(cloud: PointCloud, dense: bool) -> str:
    """How large the map is, in words."""
    kind, size = "dense map" if dense else "map", scene_size(cloud)
    if size is None:
        return f"{kind} of {len(cloud):,} points."
    lengths = " × ".join(f"{v:.{2 if v < 10 else 1 if v < 100 else 0}f}" for v in size)
    return f"{kind} of {len(cloud):,} points, of a scene {lengths} m wide, high and deep."


def best_side(keyframes: Trajectory) -> tuple[float, float]:
    """Yaw and pitch of a view as the camera saw the scene, from a little aside and above; of one that looked around,
    from outside."""
    forward = keyframes.poses[:, :3, 2].mean(0) if len(keyframes) else np.zeros(3)
    length = float(np.linalg.norm(forward))
    if length < TOGETHER:
        return -0.7, 0.55
    x, y, z = forward / length
    return float(np.arctan2(-x, z)) - ASIDE, float(np.arcsin(y)) + ABOVE


def _sparse_spacing(cloud: PointCloud, radius: float) -> Floats:
    """Few points are drawn larger."""
    grain = radius * np.clip(0.6 / np.sqrt(len(cloud) + 1), 0.002, 0.016)
    return np.full(len(cloud), grain, np.float32)


def _extent(points: Array, path: Array) -> tuple[Array, float, float]:
    """Centre and radius of what is worth looking at, and the height of the grid below it (y points down)."""
    everything = np.concatenate([points, path]) if len(points) else path
    low, high = np.quantile(everything, [0.05, 0.95], axis=0)
    low, high = np.minimum(low, path.min(0)), np.maximum(high, path.max(0))
    return (low + high) / 2, max(0.5 * float(np.linalg.norm(high - low)), 1e-3), float(high[1])


def _line(points: Array) -> list[list[float]]:
    every = max(1, -(-len(points) // MOST_VERTICES))
    return [_rounded(p) for p in points[::every]]


def _rounded(values: Array) -> list[float]:
    return [round(float(v), 5) for v in values]
