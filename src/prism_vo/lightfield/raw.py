# SPDX-License-Identifier: Apache-2.0
"""A raw image made ready for sampling: vignetting removed, the blur of bilinear sampling compensated."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from prism_vo.lightfield.bands import Bands

FloatImage = NDArray[np.float32]

BILINEAR_BLUR = (
    1.0 / 12.0
)  # bilinear sampling at a random phase adds (1/12) I'' on average: subtract it beforehand


def prepare(values: FloatImage, gain: FloatImage, sharpen: float, bands: Bands) -> FloatImage:
    """Linear raw values (H, W) times vignetting gain, sharpened by ``−sharpen · I''`` along each axis."""
    out = np.empty(values.shape, np.float32)
    even = np.empty(values.shape, np.float32)
    bands.run(values.shape[0], lambda first, last: _devignette_rows(values, gain, first, last, even))
    bands.run(values.shape[0], lambda first, last: _sharpen_rows(even, np.float32(sharpen), first, last, out))
    return out


@njit(nogil=True, cache=True, fastmath=True)
def _devignette_rows(values, gain, first, last, out):  # type: ignore[no-untyped-def]
    for y in range(first, last):
        for x in range(values.shape[1]):
            out[y, x] = values[y, x] * gain[y, x]


@njit(nogil=True, cache=True, fastmath=True)
def _sharpen_rows(even, amount, first, last, out):  # type: ignore[no-untyped-def]
    """Neighbours outside a micro-image (0) count as equal to the pixel itself: no light leaks across borders."""
    height, width = even.shape
    for y in range(first, last):
        up, down = max(y - 1, 0), min(y + 1, height - 1)
        for x in range(width):
            left, right = max(x - 1, 0), min(x + 1, width - 1)
            centre = even[y, x]
            a, b, c, d = even[y, left], even[y, right], even[up, x], even[down, x]
            a = a if a > 0 else centre
            b = b if b > 0 else centre
            c = c if c > 0 else centre
            d = d if d > 0 else centre
            out[y, x] = centre + amount * (np.float32(4.0) * centre - a - b - c - d)
