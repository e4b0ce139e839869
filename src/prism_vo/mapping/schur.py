# SPDX-License-Identifier: Apache-2.0
"""Damped solution of the window's normal equations by eliminating the points first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numba import njit

from prism_vo.arrays import Array, Mask


@dataclass(frozen=True)
class NormalEquations:
    """``H δ = −b`` with H = [[h_frames, h_crossᵀ], [h_cross, diag(h_points)]]; E is the energy at this state."""

    h_frames: Array  # (8K, 8K)
    b_frames: Array  # (8K,)
    h_cross: Array  # (N, 8K)
    h_points: Array  # (N,)
    b_points: Array  # (N,)
    energy: float

    def reduced(self) -> tuple[Array, Array]:
        """Schur complement on the frames; points without curvature do not take part."""
        return eliminate_points(self.h_frames, self.b_frames, self.h_cross, self.h_points, self.b_points)


def eliminate_points(
    h_frames: Array, b_frames: Array, h_cross: Array, h_points: Array, b_points: Array
) -> tuple[Array, Array]:
    """``H − Cᵀ D⁻¹ C`` and ``b − Cᵀ D⁻¹ b_p`` over the points with positive curvature.

    A kernel of its own: a threaded matrix product would not give the same bytes on every machine.
    """
    h, b = h_frames.copy(), b_frames.copy()
    usable = h_points > 0.0
    inverse = np.where(usable, 1.0 / np.where(usable, h_points, 1.0), 0.0)
    _eliminate(np.ascontiguousarray(h_cross.T), inverse, b_points, h, b)
    return h, b


@njit(nogil=True, cache=True, fastmath=True)
def _eliminate(cross, inverse, b_points, h, b):  # type: ignore[no-untyped-def]
    """``cross`` (8K, N): every entry is one long product of two rows, which vectorises."""
    size, count = cross.shape
    weighted = np.empty(count)
    for r in range(size):
        total = 0.0
        for n in range(count):
            weighted[n] = cross[r, n] * inverse[n]
            total += weighted[n] * b_points[n]
        b[r] -= total
        for c in range(r // 8 * 8, size):
            total = 0.0
            for n in range(count):
                total += weighted[n] * cross[c, n]
            h[r, c] -= total
    for r in range(size):  # mirror the blocks above the diagonal
        for c in range((r // 8) * 8):
            h[r, c] = h[c, r]


@dataclass(frozen=True)
class Step:
    """A proposed increment; ``ok`` is False when the system was not positive definite or not finite."""

    frames: Array  # (8K,)
    points: Array  # (N,)
    ok: bool


def solve(system: NormalEquations, free: Mask, damping: float, least_curvature: float = 0.0) -> Step:
    """Solve ``(H + μ D) δ = −b`` with D = diag(H) (Jacobi scaling: units are mixed) on the free frame variables.

    Points whose curvature is at most ``least_curvature`` keep their depth.
    """
    points_on = system.h_points > least_curvature
    h_points = np.where(points_on, system.h_points * (1.0 + damping), 0.0)
    h_frames = system.h_frames.copy()
    h_frames[np.diag_indices_from(h_frames)] *= 1.0 + damping
    h_all, b_all = eliminate_points(h_frames, system.b_frames, system.h_cross, h_points, system.b_points)
    h, b = h_all[np.ix_(free, free)], b_all[free]
    frames = np.zeros(len(system.b_frames))
    try:
        scale = 1.0 / np.sqrt(np.maximum(np.diag(h), 1e-30))
        with np.errstate(invalid="ignore"):  # what is not finite is refused by the factorisation
            scaled = h * scale[:, None] * scale[None, :]
        factor = scipy.linalg.cho_factor(scaled, check_finite=True)
        frames[free] = -scale * scipy.linalg.cho_solve(factor, scale * b)
    except (np.linalg.LinAlgError, ValueError):
        return Step(frames, np.zeros_like(h_points), ok=False)
    points = np.zeros_like(h_points)
    gradient = system.b_points[points_on] + system.h_cross[points_on] @ frames
    points[points_on] = -gradient / h_points[points_on]
    return Step(frames, points, ok=bool(np.isfinite(frames).all() and np.isfinite(points).all()))
