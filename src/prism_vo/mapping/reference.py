# SPDX-License-Identifier: Apache-2.0
"""What the window knows about depth, seen from one of its keyframes: the maps that frames are tracked against."""

from __future__ import annotations

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats, Integers, Mask
from prism_vo.mapping.keyframe import Keyframe
from prism_vo.mapping.points import Candidates, Points
from prism_vo.mapping.residuals import IN
from prism_vo.optics.camera import FocusedView


def project(
    view: FocusedView,
    keyframes: list[Keyframe],
    target: int,
    host: Integers,
    u: Floats,
    v: Floats,
    q: Array,
) -> tuple[Array, Array, Array, Array]:
    """Pixels x, y, scaled depth z·q and inverse depth of points in the keyframe at a window position."""
    pose = keyframes[target].pose
    relative = np.array([pose @ se3.inverse(k.pose) for k in keyframes])[host]
    f, cx, cy = view.focal_px, view.cx, view.cy
    rays = np.stack([(u - cx) / f, (v - cy) / f, np.ones(len(u))], -1)
    moved = np.einsum("nij,nj->ni", relative[:, :3, :3], rays) + relative[:, :3, 3] * q[:, None]
    z = moved[:, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        return f * moved[:, 0] / z + cx, f * moved[:, 1] / z + cy, z, q / z


def inside(view: FocusedView, x: Array, y: Array, z: Array, margin: int) -> Mask:
    """In front of the keyframe and at least ``margin`` px from its border."""
    with np.errstate(invalid="ignore"):
        in_x = (x >= margin) & (x < view.width - 1 - margin)
        return (z > 1e-3) & in_x & (y >= margin) & (y < view.height - 1 - margin)


def depth_variance(view: FocusedView, points: Points, eta: float, noise2: float) -> Array:
    """σ²(q) of active points.

    A point's residuals in all targets share one host patch, with its noise and aliasing, so their curvature counts
    once, not once for each target; the plenoptic measurement is independent of them.
    """
    slope = view.inv_virtual_depth_slope(points.inv_depth)
    measured = points.information * slope**2
    shared = np.maximum((points.state == IN).sum(1), 1)
    photometric = np.maximum(points.curvature - eta * measured, 0.0) / (shared * noise2)
    return 1.0 / np.maximum(photometric + measured, 1e-9)


def reference_maps(
    view: FocusedView, keyframes: list[Keyframe], position: int, points: Points, variance: Array,
    candidates: Candidates | None,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Sparse maps of inverse depth and variance in a keyframe: active points fused with its plenoptic depth."""
    weight, total = np.zeros((view.height, view.width)), np.zeros((view.height, view.width))
    if len(points):
        x, y, z, q = project(view, keyframes, position, points.host, points.u, points.v, points.inv_depth)
        seen = inside(view, x, y, z, 2) & ((points.state[:, position] == IN) | (points.host == position))
        spread = variance / np.maximum(z, 1e-3) ** 4  # dq'/dq = (ray's depth)/z²
        _fuse(total, weight, x[seen], y[seen], q[seen], spread[seen])
    if candidates is not None:
        c = candidates.take((candidates.host == position) & (candidates.information > 0))
        _fuse(total, weight, c.u, c.v, c.inv_depth, np.maximum((c.high - c.low) / 4.0, 1e-6) ** 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (total / weight).astype(np.float32), (1.0 / weight).astype(np.float32)


def _fuse(
    total: Array, weight: Array, x: Array | Floats, y: Array | Floats, q: Array, variance: Array
) -> None:
    ix, iy = np.rint(x).astype(int), np.rint(y).astype(int)
    np.add.at(total, (iy, ix), q / variance)
    np.add.at(weight, (iy, ix), 1.0 / variance)
