# SPDX-License-Identifier: Apache-2.0
"""Inverse depths one by one, keyframes held: what a point must survive to join the energy."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Mask
from prism_vo.points.pattern import IN
from prism_vo.points.records import Points
from prism_vo.window.energy import WindowEnergy
from prism_vo.window.state import LARGEST_DEPTH_FACTOR, LEAST_DEPTH_SCALE, State
from prism_vo.window.terms.depth import DepthTerm
from prism_vo.window.terms.photometric import PhotometricTerm

BEYOND_INFINITY = -0.02  # 1/m: noise may put a far point there, but not farther


@dataclass(frozen=True)
class SolvedDepths:
    """Points after their own solve, and which of them deserve to join."""

    points: Points
    good: Mask
    curvature: Array  # (N,) of each point's own energy


@dataclass(frozen=True)
class _OwnEnergies:
    """The energy of every point for itself at some inverse depths, linearised."""

    cost: Array
    h: Array
    b: Array
    status: NDArray[np.int8]


def solve_depths(
    photometric: PhotometricTerm,
    depth: DepthTerm | None,
    state: State,
    iterations: int,
    least_curvature: float,
) -> SolvedDepths:
    """Minimise each point's own energy over its inverse depth, keyframes held (docs/method.md, section 5).

    A point takes a step only if its own energy falls; one that was refused stays where it is.
    """
    shift = float(state.camera.value[-1]) if len(state.camera) else 0.0
    energy = WindowEnergy(photometric, () if depth is None else (depth,))

    def at(q: Array) -> _OwnEnergies:
        system = energy.linearize(replace(state, inv_depth=q))
        found = system.photometric
        cost = np.where(found.status >= 0, photometric.limited(found.energy), 0.0).sum(1)
        if depth is not None:
            cost = cost + depth.weight * np.nan_to_num(depth.residuals(q, shift).in_sigmas) ** 2
        return _OwnEnergies(cost, system.h_points, system.b_points, found.status)

    q = photometric.points.inv_depth.copy()
    now = at(q)
    for _ in range(iterations):
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(now.h > 0, -now.b / now.h, 0.0)
        limit = LARGEST_DEPTH_FACTOR * np.maximum(np.abs(q), LEAST_DEPTH_SCALE)
        trial = q + np.clip(step, -limit, limit)
        new = at(trial)
        better = new.cost < now.cost
        q = np.where(better, trial, q)
        now = _OwnEnergies(
            np.where(better, new.cost, now.cost),
            np.where(better, new.h, now.h),
            np.where(better, new.b, 0.0),
            np.where(better[:, None], new.status, now.status),
        )
    inside, seen = (now.status == IN).sum(1), (now.status >= 0).sum(1)
    good = (inside >= 1) & (2 * inside >= seen) & (now.h > least_curvature) & (q > BEYOND_INFINITY)
    points = replace(photometric.points, inv_depth=q, residual_status=now.status.astype(np.int8))
    return SolvedDepths(points, good, now.h)
