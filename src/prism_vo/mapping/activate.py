# SPDX-License-Identifier: Apache-2.0
"""Which candidates join the energy: well spread over the newest keyframe, and good after a solve of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numba import njit
from numpy.typing import NDArray

from prism_vo.mapping.energy import State, WindowEnergy
from prism_vo.mapping.points import Points
from prism_vo.mapping.residuals import IN

Array = NDArray[np.float64]


@njit(nogil=True, cache=True)
def spread(occupied, x, y, reach, chosen):  # type: ignore[no-untyped-def]
    """Mark the points (in order) that keep ``reach`` px from all occupied pixels and from each other."""
    h, w = occupied.shape
    for n in range(x.shape[0]):
        cx, cy = int(x[n]), int(y[n])
        if cx < 0 or cy < 0 or cx >= w or cy >= h:
            continue
        free = True
        for yy in range(max(cy - reach, 0), min(cy + reach + 1, h)):
            for xx in range(max(cx - reach, 0), min(cx + reach + 1, w)):
                if occupied[yy, xx]:
                    free = False
                    break
            if not free:
                break
        if free:
            occupied[cy, cx] = True
            chosen[n] = True


@dataclass(frozen=True)
class Activated:
    """Points after their own solve, and which of them deserve to join."""

    points: Points
    good: NDArray[np.bool_]
    curvature: Array  # (N,) of each point's own energy


def solve_depths(energy: WindowEnergy, state: State, iterations: int, least_curvature: float) -> Activated:
    """Minimise each point's own energy over its inverse depth, keyframes held (docs/method.md, section 5)."""
    points = energy.points
    q = points.inv_depth.copy()
    eta, gates = energy.eta, energy.gates

    def own_energy(lin_energies: NDArray[np.float32], states: NDArray[np.int8], residual: Array) -> Array:
        photometric = np.where(states >= 0, np.minimum(lin_energies, gates[None, :]), 0.0).sum(1)
        return photometric + eta * np.nan_to_num(residual) ** 2

    now = energy.linearize(replace(state, inv_depth=q))
    cost = own_energy(now.energies, now.state, now.depth.residual_sigmas)
    h, b = now.system.h_points, now.system.b_points
    states, curvature = now.state, h
    for _ in range(iterations):
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(h > 0, -b / h, 0.0)
        limit = 0.5 * np.maximum(np.abs(q), 0.05)
        trial = q + np.clip(step, -limit, limit)
        result = energy.linearize(replace(state, inv_depth=trial))
        new_cost = own_energy(result.energies, result.state, result.depth.residual_sigmas)
        better = new_cost < cost
        q, cost = np.where(better, trial, q), np.where(better, new_cost, cost)
        h, b = np.where(better, result.system.h_points, h), np.where(better, result.system.b_points, 0.0)
        states = np.where(better[:, None], result.state, states)
        curvature = np.where(better, result.system.h_points, curvature)
    inside = (states == IN).sum(1)
    seen = (states >= 0).sum(1)
    good = (inside >= 1) & (2 * inside >= seen) & (curvature > least_curvature) & (q > -0.02)
    return Activated(replace(points, inv_depth=q, state=states.astype(np.int8)), good, curvature)
