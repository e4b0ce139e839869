# SPDX-License-Identifier: Apache-2.0
"""Marginalisation of some variables of a quadratic."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from prism_vo.arrays import Array, Mask
from prism_vo.linear.scaling import jacobi_scale, scaled

LEAST_EIGENVALUE = 1e-10  # of the scaled block: directions with less are not known and are left out


def marginalise(h: Array, b: Array, drop: Mask) -> tuple[Array, Array]:
    """Schur complement onto the variables that stay; directions without information are left out."""
    scale = jacobi_scale(h)
    hs = scaled(h, scale)
    bs = b * scale
    keep = ~drop
    values, vectors = scipy.linalg.eigh(hs[np.ix_(drop, drop)])
    good = values > LEAST_EIGENVALUE
    half = vectors[:, good] / np.sqrt(values[good])
    cross = hs[np.ix_(keep, drop)] @ half
    reduced = hs[np.ix_(keep, keep)] - cross @ cross.T
    back = np.where(scale[keep] > 0, 1.0 / np.where(scale[keep] > 0, scale[keep], 1.0), 0.0)
    reduced = scaled(0.5 * (reduced + reduced.T), back)
    return reduced, (bs[keep] - cross @ (half.T @ bs[drop])) * back
