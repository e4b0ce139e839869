# SPDX-License-Identifier: Apache-2.0
"""A raw image made ready for sampling: vignetting removed, the blur of bilinear sampling compensated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from prism_vo.lightfield.accumulate import OUTSIDE
from prism_vo.lightfield.bands import Bands
from prism_vo.optics.photometric import SATURATION

FloatImage = NDArray[np.float32]

BILINEAR_BLUR = (
    1.0 / 12.0
)  # bilinear sampling at a random phase adds (1/12) I'' on average: subtract it beforehand


@dataclass(frozen=True)
class PreparedRaw:
    """One raw image, ready for both uses."""

    sharp: FloatImage  # for the totally focused image
    even: FloatImage  # for matching: padded, not sharpened; OUTSIDE marks what must not be used (also saturated)


def prepare(values: FloatImage, gain: FloatImage, sharpen: float, border: int, bands: Bands) -> PreparedRaw:
    """Linear raw values (H, W) times vignetting gain; ``sharp`` less ``sharpen · I''`` along each axis."""
    height, width = values.shape
    light, sharp = np.empty(values.shape, np.float32), np.empty(values.shape, np.float32)
    even = np.empty((height + 2 * border, width + 2 * border), np.float32)
    limit = np.float32(SATURATION)
    bands.run(height, lambda first, last: _devignette_rows(values, gain, first, last, light))
    bands.run(height, lambda first, last: _sharpen_rows(light, np.float32(sharpen), first, last, sharp))
    bands.run(len(even), lambda first, last: _pad_rows(values, light, limit, border, first, last, even))
    return PreparedRaw(sharp, even)


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


@njit(nogil=True, cache=True)
def _pad_rows(values, light, limit, border, first, last, even):  # type: ignore[no-untyped-def]
    height, width = values.shape
    for row in range(first, last):
        y = row - border
        even[row, :] = OUTSIDE
        if y < 0 or y >= height:
            continue
        for x in range(width):
            usable = values[y, x] < limit and light[y, x] > 0.0
            even[row, x + border] = light[y, x] if usable else OUTSIDE
