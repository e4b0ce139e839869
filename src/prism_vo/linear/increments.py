# SPDX-License-Identifier: Apache-2.0
"""Left increments of poses, compiled: what :mod:`prism_vo.se3` does one at a time, for solvers that do it all day."""

from __future__ import annotations

import math

import numpy as np

from prism_vo.arrays import Array
from prism_vo.compiled import njit

SMALL_ANGLE = 0.1  # rad: below it the differences of the exponential map would cancel


def incremented(poses: Array, steps: Array) -> Array:
    """``exp(ξ) T`` of poses (K, 4, 4) and tangents (K, 6)."""
    out = np.empty((len(poses), 4, 4))
    _increment(poses, steps, out)
    return out


@njit(nogil=True, cache=True)
def _increment(poses, steps, out):  # type: ignore[no-untyped-def]
    turn, shear = np.empty((3, 3)), np.empty((3, 3))
    for k in range(len(poses)):
        x, y, z = steps[k, 3], steps[k, 4], steps[k, 5]
        square = x * x + y * y + z * z
        angle = math.sqrt(square)
        if angle > SMALL_ANGLE:
            sine, cosine = math.sin(angle) / angle, (1.0 - math.cos(angle)) / square
            cubic = (angle - math.sin(angle)) / (square * angle)
        else:
            sine = 1.0 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72)))
            cosine = 0.5 - square / 24 * (1 - square / 30 * (1 - square / 56 * (1 - square / 90)))
            cubic = 1 / 6 - square / 120 * (1 - square / 42 * (1 - square / 72 * (1 - square / 110)))
        _in_powers(x, y, z, sine, cosine, turn)
        _in_powers(x, y, z, cosine, cubic, shear)
        for r in range(3):
            for c in range(4):
                out[k, r, c] = (
                    turn[r, 0] * poses[k, 0, c] + turn[r, 1] * poses[k, 1, c] + turn[r, 2] * poses[k, 2, c]
                )
            out[k, r, 3] += shear[r, 0] * steps[k, 0] + shear[r, 1] * steps[k, 1] + shear[r, 2] * steps[k, 2]
        for c in range(4):
            out[k, 3, c] = poses[k, 3, c]


@njit(nogil=True, cache=True)
def _in_powers(x, y, z, linear, square, out):  # type: ignore[no-untyped-def]
    """``I + linear K + square K²`` with K = hat((x, y, z))."""
    out[0, 0], out[0, 1], out[0, 2] = (
        1.0 - square * (y * y + z * z),
        square * x * y - linear * z,
        square * x * z + linear * y,
    )
    out[1, 0], out[1, 1], out[1, 2] = (
        square * x * y + linear * z,
        1.0 - square * (x * x + z * z),
        square * y * z - linear * x,
    )
    out[2, 0], out[2, 1], out[2, 2] = (
        square * x * z - linear * y,
        square * y * z + linear * x,
        1.0 - square * (x * x + y * y),
    )
