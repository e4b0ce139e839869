# SPDX-License-Identifier: Apache-2.0
"""Jacobi scaling: metres, radians and grey levels meet in one matrix, which is solved in units of its own diagonal."""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Array
from prism_vo.compiled import njit


def jacobi_scale(h: Array) -> Array:
    """``1/√diag(H)``; 0 for variables without information."""
    diagonal = np.diag(h)
    known = diagonal > 0.0
    return np.where(known, 1.0 / np.sqrt(np.where(known, diagonal, 1.0)), 0.0)


def scaled(h: Array, scale: Array) -> Array:
    """``S H S`` with S = diag(scale)."""
    with np.errstate(invalid="ignore"):  # what is not finite is refused by whoever solves
        return np.asarray(h * scale[:, None] * scale[None, :])


def damped_step(h: Array, b: Array, damping: float) -> Array | None:
    """``−(H + μ diag(H))⁻¹ b``; None where the system cannot be solved."""
    step = np.empty(len(b))
    solved = _solve_damped(np.ascontiguousarray(h), np.ascontiguousarray(b), damping, step)
    return step if solved else None


@njit(nogil=True, cache=True, error_model="numpy")
def _solve_damped(h, b, damping, step):  # type: ignore[no-untyped-def]
    """Elimination with pivots in the scaled system → ``step``; False: it is singular or not finite.

    Poses have six numbers: a library call with its checks takes ten times as long as the arithmetic.
    """
    size = len(b)
    scale, system = np.zeros(size), np.empty((size, size + 1))
    for r in range(size):
        if h[r, r] > 0.0:
            scale[r] = 1.0 / np.sqrt(h[r, r])
    for r in range(size):
        for c in range(size):
            system[r, c] = scale[r] * h[r, c] * scale[c]
        system[r, r] += damping
        system[r, size] = -scale[r] * b[r]
    for k in range(size):
        pivot = k
        for r in range(k + 1, size):
            if abs(system[r, k]) > abs(system[pivot, k]):
                pivot = r
        for c in range(size + 1):
            system[k, c], system[pivot, c] = system[pivot, c], system[k, c]
        if not np.isfinite(system[k, k]) or system[k, k] == 0.0:
            return False
        for r in range(k + 1, size):
            factor = system[r, k] / system[k, k]
            for c in range(k, size + 1):
                system[r, c] -= factor * system[k, c]
    for r in range(size - 1, -1, -1):
        value = system[r, size]
        for c in range(r + 1, size):
            value -= system[r, c] * system[c, size]
        system[r, size] = value / system[r, r]
        step[r] = scale[r] * system[r, size]
        if not np.isfinite(step[r]):
            return False
    return True


def inverse(h: Array) -> Array | None:
    """H⁻¹; None where H is not positive definite, so that some direction is not known at all."""
    scale = jacobi_scale(h)
    system = scaled(h, scale)
    try:
        np.linalg.cholesky(system)  # refuses what is not positive definite
        found = np.asarray(np.linalg.inv(system), np.float64)
    except np.linalg.LinAlgError:
        return None
    return scaled(found, scale) if np.isfinite(found).all() else None
