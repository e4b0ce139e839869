# SPDX-License-Identifier: Apache-2.0
"""Smooth curves over [0, 1]: cubic B-splines and how much they bend."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import BSpline

from prism_vo.arrays import Array

DEGREE = 3
BEFORE_END = 1.0 - 1e-9  # the last piece is open


def spline_basis(at: Array, pieces: int) -> Array:
    """Values (N, pieces + DEGREE) of the B-splines at places in [0, 1]."""
    knots = np.concatenate([np.zeros(DEGREE), np.linspace(0.0, 1.0, pieces + 1), np.ones(DEGREE)])
    return np.asarray(BSpline.design_matrix(np.clip(at, 0.0, BEFORE_END), knots, DEGREE).toarray())


def bending(count: int) -> Array:
    """(count, count) of the quadratic form Σ (second difference of the coefficients)²."""
    second = np.diff(np.eye(count), n=2, axis=0)
    return np.asarray(second.T @ second)
