# SPDX-License-Identifier: Apache-2.0
"""Real windows with exact keyframes and points, a little away from their minimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from exact_windows import exact_window
from random_systems import as_dense
from still_frames import still_frame

from prism_vo import se3
from prism_vo.points.pattern import IN, NONE, OUTSIDE
from prism_vo.points.records import Points
from prism_vo.types import PosedFrame
from prism_vo.window.energy import WindowEnergy
from prism_vo.window.window import Window


def fill(window: Window, count: int) -> None:
    """Keyframes and points of the exact window of the same view; the first keyframe is the gauge."""
    exact = exact_window(count=count, each=40)
    rng = np.random.default_rng(0)
    for k in range(count):
        pose = exact.state.base_pose[k]
        if k:
            pose = se3.exp(rng.normal(0, 2e-4, 6)) @ pose  # not the exact minimum: gradients must not vanish
        affine = rng.normal(0, [1e-3, 0.1])
        frame = still_frame(exact.view, k, exact.photometric.images[k])
        window.insert(PosedFrame(frame, pose, affine), fixed=k == 0)
        window.keyframes[-1] = replace(window.keyframes[-1], tracked_affine=np.zeros(2))
    points = exact.points
    points = replace(points, inv_depth=points.inv_depth * np.exp(rng.normal(0, 2e-3, len(points))))
    depth = exact.depth
    assert depth is not None
    system = WindowEnergy(exact.photometric, (depth,)).linearize(window.state(points))
    status = system.photometric.status
    window.points = replace(
        points,
        residual_status=status,
        inlier_count=np.full(len(points), 5, np.int32),
        curvature=system.h_points,
        photometric_curvature=system.photometric.curvature,
    ).take((status != OUTSIDE).all(1))


def inliers_of(points: Points) -> Points:
    """The points with those of their residuals that count."""
    status = np.where(points.residual_status == IN, points.residual_status, NONE).astype(np.int8)
    return replace(points, residual_status=status)


def dense_of(window: Window, which: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Full system (frames and camera, then points) of the terms of some points: photometric inliers and depth."""
    only = inliers_of(window.points.take(which))
    depth = window.depth(only)
    energy = WindowEnergy(window.photometric(only), () if depth is None else (depth,))
    system = energy.linearize(window.state(only))
    return *as_dense(system), len(system.b)


def schur(h: np.ndarray, b: np.ndarray, drop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Dense marginal on what is not dropped."""
    keep = ~drop
    solve = np.linalg.solve(h[np.ix_(drop, drop)], np.column_stack([h[np.ix_(drop, keep)], b[drop]]))
    cross = h[np.ix_(keep, drop)]
    return h[np.ix_(keep, keep)] - cross @ solve[:, :-1], b[keep] - cross @ solve[:, -1]


def scaled(a: np.ndarray, h: np.ndarray) -> np.ndarray:
    """In units of the diagonal of H."""
    root = np.sqrt(np.maximum(np.diag(h), 1e-12))
    return a / np.outer(root, root) if a.ndim == 2 else a / root
