# SPDX-License-Identifier: Apache-2.0
"""Normal equations with one number a point, solved by eliminating the points first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from prism_vo.arrays import Array, Mask
from prism_vo.compiled import njit
from prism_vo.linear.products import TILE, add_gram
from prism_vo.linear.scaling import jacobi_scale, scaled


@dataclass
class NormalEquations:
    """``H δ = −b`` with H = [[h, h_crossᵀ], [h_cross, diag(h_points)]]: terms add to it, solvers read it.

    The M variables are those of the keyframes and of the camera; the N points have one each.
    """

    h: Array  # (M, M)
    b: Array  # (M,)
    h_cross: Array  # (N, M)
    h_points: Array  # (N,)
    b_points: Array  # (N,)

    @classmethod
    def zeros(cls, variables: int, points: int) -> NormalEquations:
        """Nothing known yet."""
        return cls(
            np.zeros((variables, variables)),
            np.zeros(variables),
            np.zeros((points, variables)),
            np.zeros(points),
            np.zeros(points),
        )

    def reduced(self) -> tuple[Array, Array]:
        """Schur complement on the variables that are no points; points without curvature do not take part."""
        return eliminate_points(self.h, self.b, self.h_cross, self.h_points, self.b_points)


def eliminate_points(
    h: Array, b: Array, h_cross: Array, h_points: Array, b_points: Array
) -> tuple[Array, Array]:
    """``H − Cᵀ D⁻¹ C`` and ``b − Cᵀ D⁻¹ b_p`` over the points with positive curvature."""
    count, size = h_cross.shape
    columns = -(-(size + 1) // TILE) * TILE
    whitened, product = np.zeros((count, columns)), np.zeros((columns, columns))
    _whiten(h_cross, h_points, b_points, whitened)
    add_gram(whitened, product)
    return h - product[:size, :size], b - product[:size, size]


@njit(nogil=True, cache=True)
def _whiten(cross, h_points, b_points, out):  # type: ignore[no-untyped-def]
    """Rows of ``[C, b_p]`` over √D, so that both products are parts of one; nothing where there is no curvature."""
    size = cross.shape[1]
    for n in range(len(cross)):
        if h_points[n] > 0.0:
            per = 1.0 / np.sqrt(h_points[n])
            for m in range(size):
                out[n, m] = per * cross[n, m]
            out[n, size] = per * b_points[n]


@njit(nogil=True, cache=True)
def _substitute(cross, variables, b_points, h_points, out):  # type: ignore[no-untyped-def]
    """``−(b_p + C δ)/D`` of the points with positive curvature; a library's product may hang on where memory lies."""
    for n in range(len(out)):
        if h_points[n] > 0.0:
            gradient = b_points[n]
            for m in range(len(variables)):
                gradient += cross[n, m] * variables[m]
            out[n] = -gradient / h_points[n]


@dataclass(frozen=True)
class Step:
    """A proposed increment; ``ok`` is False when the system was not positive definite or not finite."""

    variables: Array  # (M,)
    points: Array  # (N,)
    ok: bool
    promised: float = np.inf  # −δᵀb of the reduced equations: twice the fall of the energy that they promise


def solve(system: NormalEquations, free: Mask, damping: float, least_curvature: float = 0.0) -> Step:
    """Solve ``(H + μ D) δ = −b`` with D = diag(H) (Jacobi scaling: units are mixed) on the free variables.

    Points whose curvature is at most ``least_curvature`` keep their depth.
    """
    points_on = system.h_points > least_curvature
    h_points = np.where(points_on, system.h_points * (1.0 + damping), 0.0)
    h_damped = system.h.copy()
    h_damped[np.diag_indices_from(h_damped)] *= 1.0 + damping
    h_all, b_all = eliminate_points(h_damped, system.b, system.h_cross, h_points, system.b_points)
    h, b = h_all[np.ix_(free, free)], b_all[free]
    variables = np.zeros(len(system.b))
    try:
        scale = jacobi_scale(h)
        factor = scipy.linalg.cho_factor(scaled(h, scale), check_finite=True)
        variables[free] = -scale * scipy.linalg.cho_solve(factor, scale * b)
    except (np.linalg.LinAlgError, ValueError):
        return Step(variables, np.zeros_like(h_points), ok=False)
    points = np.zeros(len(h_points))
    _substitute(system.h_cross, variables, system.b_points, h_points, points)
    ok = bool(np.isfinite(variables).all() and np.isfinite(points).all())
    return Step(variables, points, ok, promised=-float(variables[free] @ b))
