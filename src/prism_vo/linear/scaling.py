# SPDX-License-Identifier: Apache-2.0
"""Jacobi scaling: metres, radians and grey levels meet in one matrix, which is solved in units of its own diagonal."""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Array


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
    scale = jacobi_scale(h)
    system = scaled(h, scale)
    system[np.diag_indices_from(system)] += damping
    if not np.isfinite(system).all():
        return None
    try:
        step = -scale * np.linalg.solve(system, scale * b)
    except (np.linalg.LinAlgError, ValueError):
        return None
    return np.asarray(step) if np.isfinite(step).all() else None


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
