# SPDX-License-Identifier: Apache-2.0
"""What the report's 3-D view draws: cloud, path, truth and keyframes in one world, as JSON."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.report.pictures import Scale, map_table
from prism_vo.report.truth import truth_in_estimate

if TYPE_CHECKING:
    from prism_vo.cloud import PointCloud
    from prism_vo.evaluate.metrics import AlignedError
    from prism_vo.pipeline import RunResult

MOST_POINTS = 100_000  # of the cloud
MOST_VERTICES = 4000  # of a path
MOST_CAMERAS = 150
LARGEST_RELATIVE_SIGMA = 0.05  # end of the colour scale of σ, relative to the distance


def scene_json(result: RunResult, alignment: AlignedError | None) -> dict[str, Any]:
    """Everything in the world of the estimate; the truth is brought there by the inverse of the alignment."""
    cloud = _thinned(result.odometry.cloud())
    points = cloud.points.astype(np.float64)
    path = result.trajectory.positions
    path = path if len(path) else np.zeros((1, 3))  # every frame was lost
    truth = truth_in_estimate(result.truth, alignment)
    keyframes = result.odometry.keyframe_trajectory()
    centre, radius, floor = _extent(points, path)
    view = result.odometry.view
    colors = cloud.colors if cloud.colors is not None else np.full(points.shape, 160, np.uint8)
    sigma = cloud.sigma if cloud.sigma is not None else np.zeros(len(points), np.float32)
    distance = np.maximum(np.linalg.norm(points - path.mean(0), axis=1), 1e-6)
    certain = Scale(0.0, LARGEST_RELATIVE_SIGMA, map_table(cv2.COLORMAP_VIRIDIS))
    low, high = np.quantile(points[:, 1], [0.02, 0.98]) if len(points) else (0.0, 1.0)
    height = Scale(float(high), float(low), map_table(cv2.COLORMAP_TURBO))
    every = max(1, len(keyframes) // MOST_CAMERAS)
    grain = float(np.clip(0.6 / np.sqrt(len(points) + 1), 0.002, 0.016))  # few points are drawn larger
    return {
        "cloud": _encoded(cloud.points.astype("<f4")),
        "colors": _encoded(colors),
        "sigma_colors": _encoded(certain.colors(sigma / distance)),
        "height_colors": _encoded(height.colors(points[:, 1])),
        "path": [_line(part) for part in _segments(result)],
        "truth": _line(truth),
        "cameras": [
            [_rounded(pose[:3, 3]), _rounded(pose[:3, :3].ravel())] for pose in keyframes.poses[::every]
        ],
        "centre": _rounded(centre),
        "radius": round(radius, 4),
        "floor": round(floor, 4),
        "grain": round(radius * grain, 6),
        "aspect": view.height / view.width,
        "camera": round(min(0.035 * radius, 0.06 * float(np.linalg.norm(np.ptp(path, axis=0))) + 1e-4), 6),
    }


def _thinned(cloud: PointCloud) -> PointCloud:
    from prism_vo.cloud import PointCloud

    keep = slice(None, None, max(1, -(-len(cloud) // MOST_POINTS)))
    return PointCloud(
        cloud.points[keep],
        None if cloud.colors is None else cloud.colors[keep],
        None if cloud.sigma is None else cloud.sigma[keep],
    )


def _segments(result: RunResult) -> list[Array]:
    """Positions of the tracked frames, one line a segment: a new start is not joined to the old end."""
    trajectory = result.trajectory
    if trajectory.segments is None:
        return [trajectory.positions]
    return [trajectory.positions[trajectory.segments == s] for s in np.unique(trajectory.segments)]


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


def _encoded(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
