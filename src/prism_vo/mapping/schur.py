# SPDX-License-Identifier: Apache-2.0
"""Damped solution of the window's normal equations by eliminating the points first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NormalEquations:
    """``H δ = −b`` with H = [[h_frames, h_crossᵀ], [h_cross, diag(h_points)]]; E is the energy at this state."""

    h_frames: Array  # (8K, 8K)
    b_frames: Array  # (8K,)
    h_cross: Array  # (N, 8K)
    h_points: Array  # (N,)
    b_points: Array  # (N,)
    energy: float

    def reduced(self, usable: NDArray[np.bool_] | None = None) -> tuple[Array, Array]:
        """Schur complement on the frames; points without curvature do not take part."""
        has = self.h_points > 0 if usable is None else usable & (self.h_points > 0)
        scaled = np.where(has[:, None], self.h_cross / np.where(has, self.h_points, 1.0)[:, None], 0.0)
        h = self.h_frames - self.h_cross.T @ scaled
        return 0.5 * (h + h.T), self.b_frames - scaled.T @ self.b_points


@dataclass(frozen=True)
class Step:
    """A proposed increment; ``ok`` is False when the system was not positive definite or not finite."""

    frames: Array  # (8K,)
    points: Array  # (N,)
    ok: bool


def solve(
    system: NormalEquations, free: NDArray[np.bool_], damping: float, least_curvature: float = 0.0
) -> Step:
    """Solve ``(H + μ D) δ = −b`` with D = diag(H) (Jacobi scaling: units are mixed) on the free frame variables.

    Points whose curvature is at most ``least_curvature`` keep their depth.
    """
    points_on = system.h_points > least_curvature
    h_points = np.where(points_on, system.h_points * (1.0 + damping), 1.0)
    cross = np.where(points_on[:, None], system.h_cross, 0.0)[:, free]
    b_points = np.where(points_on, system.b_points, 0.0)
    h = system.h_frames[np.ix_(free, free)].copy()
    h[np.diag_indices_from(h)] *= 1.0 + damping
    scaled = cross / h_points[:, None]
    h -= cross.T @ scaled
    b = system.b_frames[free] - scaled.T @ b_points
    frames = np.zeros(len(system.b_frames))
    try:
        scale = 1.0 / np.sqrt(np.maximum(np.diag(h), 1e-30))
        factor = scipy.linalg.cho_factor(h * scale[:, None] * scale[None, :], check_finite=True)
        frames[free] = -scale * scipy.linalg.cho_solve(factor, scale * b)
    except (np.linalg.LinAlgError, ValueError):
        return Step(frames, np.zeros_like(b_points), ok=False)
    points = -(b_points + cross @ frames[free]) / h_points
    points[~points_on] = 0.0
    return Step(frames, points, ok=bool(np.isfinite(frames).all() and np.isfinite(points).all()))
