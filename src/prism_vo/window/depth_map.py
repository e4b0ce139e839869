# SPDX-License-Identifier: Apache-2.0
"""What the window knows about depth, seen from one of its keyframes: the maps that frames are tracked against."""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Array, Floats
from prism_vo.optics.camera import FocusedView
from prism_vo.optics.pinhole import Pinhole
from prism_vo.points.pattern import IN
from prism_vo.points.projection import NEAREST, project_into
from prism_vo.points.records import Candidates, HostFrames, Points

MARGIN = 2  # px from the border
LEAST_INFORMATION = 1e-9  # m²: a point about which nothing is known
LEAST_SIGMA = 1e-6  # 1/m, of a candidate's depth interval


def depth_variance(view: FocusedView, points: Points, information: Array, noise2: float) -> Array:
    """σ²(q) of active points; ``information``: 1/σ²(ρ_v) of their depth measurements.

    A point's residuals in all targets share one host patch, with its noise and aliasing, so their curvature counts
    once, not once for each target; the plenoptic measurement is independent of them.
    """
    slope = view.inv_virtual_depth_slope(points.inv_depth)
    measured = information * slope**2
    shared = np.maximum((points.residual_status == IN).sum(1), 1)
    photometric = points.photometric_curvature / (shared * noise2)
    return 1.0 / np.maximum(photometric + measured, LEAST_INFORMATION)


def depth_map(
    plane: Pinhole, hosts: HostFrames, position: int, points: Points, variance: Array, candidates: Candidates
) -> tuple[Floats, Floats]:
    """Sparse maps of inverse depth and variance in a keyframe: active points fused with its plenoptic depth."""
    c = candidates.take((candidates.host == position) & (candidates.information > 0))
    x, y, q = [c.u], [c.v], [c.inv_depth]
    spread = [np.maximum((c.high - c.low) / 4.0, LEAST_SIGMA) ** 2]
    if len(points):
        p = project_into(plane, hosts, position, points)
        inlier = (points.residual_status[:, position] == IN) | (points.host == position)
        seen = p.inside(plane, MARGIN) & inlier
        x, y, q = [p.x[seen], *x], [p.y[seen], *y], [p.inv_depth[seen], *q]
        # dq'/dq = (ray's depth)/z²
        spread = [(variance / np.maximum(p.depth_ratio, NEAREST) ** 4)[seen], *spread]
    return _fused(plane, *(np.concatenate(parts) for parts in (x, y, q, spread)))


def _fused(plane: Pinhole, x: Array, y: Array, q: Array, variance: Array) -> tuple[Floats, Floats]:
    """Maps (h, w) of inverse depths (N,): means of those at one pixel, by their variances."""
    place = np.rint(y).astype(np.intp) * plane.width + np.rint(x).astype(np.intp)
    known, which = np.unique(place, return_inverse=True)
    weight = np.bincount(which, 1.0 / variance, len(known))
    total = np.bincount(which, q / variance, len(known))
    inv_depth = np.full((plane.height, plane.width), np.nan, np.float32)
    spread = np.full((plane.height, plane.width), np.inf, np.float32)
    inv_depth.ravel()[known], spread.ravel()[known] = total / weight, 1.0 / weight
    return inv_depth, spread
