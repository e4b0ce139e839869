# SPDX-License-Identifier: Apache-2.0
"""Inverse depths one by one, keyframes held: what a point must survive to join the energy."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Mask
from prism_vo.mapping.energy import State, WindowEnergy
from prism_vo.mapping.points import Points
from prism_vo.mapping.residuals import IN


@dataclass(frozen=True)
class Activated:
    """Points after their own solve, and which of them deserve to join."""

    points: Points
    good: Mask
    curvature: Array  # (N,) of each point's own energy


def solve_depths(energy: WindowEnergy, state: State, iterations: int, least_curvature: float) -> Activated:
    """Minimise each point's own energy over its inverse depth, keyframes held (docs/method.md, section 5)."""
    points = energy.points
    q = points.inv_depth.copy()
    eta, gates = energy.eta, energy.gates

    def own_energy(lin_energies: Floats, states: NDArray[np.int8], residual: Array) -> Array:
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
