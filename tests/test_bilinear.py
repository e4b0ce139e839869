# SPDX-License-Identifier: Apache-2.0
"""Four pixels at once are what single numbers give."""

import numpy as np

from prism_vo.arrays import Floats
from prism_vo.bilinear import CHANNELS, between_pixels, between_values
from prism_vo.compiled import njit


@njit()
def _look_up(flat: Floats, width: int, x: Floats, y: Floats, out: Floats) -> None:
    for n in range(len(x)):
        column, row = np.int64(x[n]), np.int64(y[n])
        at, below = np.uint64(CHANNELS * (row * width + column)), np.uint64(CHANNELS * width)
        found = between_pixels(flat, at, below, x[n] - np.float32(column), y[n] - np.float32(row))
        for channel in range(CHANNELS):
            out[n, channel] = found[channel]


@njit()
def _look_up_values(flat: Floats, width: int, x: Floats, y: Floats, out: Floats) -> None:
    for n in range(len(x)):
        column, row = np.int64(x[n]), np.int64(y[n])
        at, below = np.uint64(row * width + column), np.uint64(width)
        out[n] = between_values(flat, at, below, x[n] - np.float32(column), y[n] - np.float32(row))


def test_values_between_pixels_are_bilinear() -> None:
    rng = np.random.default_rng(0)
    image = rng.uniform(-50.0, 255.0, (11, 13, CHANNELS)).astype(np.float32)
    x, y = (rng.uniform(0.0, side - 2.1, 500).astype(np.float32) for side in (13, 11))
    x[:3], y[:3] = (0.0, 4.0, 10.9), (0.0, 5.0, 8.9)
    out = np.empty((500, CHANNELS), np.float32)
    _look_up(image.ravel(), 13, x, y, out)
    column, row = x.astype(int), y.astype(int)
    u, v = (x - column)[:, None].astype(np.float64), (y - row)[:, None].astype(np.float64)
    upper = (1 - u) * image[row, column] + u * image[row, column + 1]
    lower = (1 - u) * image[row + 1, column] + u * image[row + 1, column + 1]
    expected = (1 - v) * upper + v * lower
    np.testing.assert_allclose(out, expected, atol=2e-4)
    for channel in range(CHANNELS):
        alone = np.empty(500, np.float32)
        _look_up_values(np.ascontiguousarray(image[..., channel]).ravel(), 13, x, y, alone)
        np.testing.assert_allclose(alone, expected[:, channel], atol=2e-4)
