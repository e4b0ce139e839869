# SPDX-License-Identifier: Apache-2.0
"""Several pixels at once are what single numbers give."""

import numpy as np
from central_differences import with_gradients
from looked_up import look_up

from prism_vo.arrays import Floats
from prism_vo.bilinear import EIGHT, add_eight, between_eight, between_values
from prism_vo.compiled import njit

WIDTH, HEIGHT = 13, 11


@njit()
def _look_up_values(flat: Floats, width: int, x: Floats, y: Floats, out: Floats) -> None:
    for n in range(len(x)):
        column, row = np.int64(x[n]), np.int64(y[n])
        at, below = np.uint64(row * width + column), np.uint64(width)
        out[n] = between_values(flat, at, below, x[n] - np.float32(column), y[n] - np.float32(row))


def interpolated(image: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Between four pixels of an image (h, w, …)."""
    column, row = x.astype(int), y.astype(int)
    u, v = (x - column)[:, None].astype(np.float64), (y - row)[:, None].astype(np.float64)
    upper = (1 - u) * image[row, column] + u * image[row, column + 1]
    lower = (1 - u) * image[row + 1, column] + u * image[row + 1, column + 1]
    return np.asarray((1 - v) * upper + v * lower)


def test_values_between_pixels_are_bilinear() -> None:
    rng = np.random.default_rng(0)
    image = rng.uniform(-50.0, 255.0, (HEIGHT, WIDTH)).astype(np.float32)
    x, y = (rng.uniform(0.0, side - 1.1, 500).astype(np.float32) for side in (WIDTH, HEIGHT))
    x[:3], y[:3] = (0.0, 4.0, 11.9), (0.0, 5.0, 9.9)
    found = np.empty(500, np.float32)
    _look_up_values(image.ravel(), WIDTH, x, y, found)
    np.testing.assert_allclose(found, interpolated(image[..., None], x, y)[:, 0], atol=2e-4)


def test_gradients_are_those_of_an_image_that_carries_them() -> None:
    rng = np.random.default_rng(1)
    image = rng.uniform(-50.0, 255.0, (HEIGHT, WIDTH)).astype(np.float32)
    x, y = (rng.uniform(1.0, side - 2.01, 500) for side in (WIDTH, HEIGHT))
    x[:3], y[:3] = (1.0, 4.0, 10.9), (1.0, 5.0, 8.9)  # as far out as they reach
    found = look_up(image, x, y)
    np.testing.assert_allclose(found.T, interpolated(with_gradients(image), x, y), atol=2e-4)


def test_the_gradient_of_a_plane_is_its_slope() -> None:
    y, x = np.mgrid[:20, :30].astype(np.float32)
    value, along, down = look_up(3.0 * x - 2.0 * y, np.array([7.25]), np.array([11.5]))
    assert (value[0], along[0], down[0]) == (3.0 * 7.25 - 2.0 * 11.5, 3.0, -2.0)


@njit()
def _look_up_eights(
    flat: Floats, width: int, pixel: np.ndarray, work: Floats, sums: Floats, base: int
) -> None:
    count = len(pixel)
    x, y, weight, out = np.uint64(0), np.uint64(count), np.uint64(2 * count), np.uint64(3 * count)
    for n in range(0, count, EIGHT):
        k = np.uint64(n)
        between_eight(flat, np.uint64(base), np.uint64(width), pixel, work, k, x, y, out)
        add_eight(sums, k, flat, np.uint64(base), np.uint64(width), pixel, work, k, x, y, weight)


def test_eight_values_at_once_are_those_of_one_after_the_other() -> None:
    rng = np.random.default_rng(2)
    image = rng.uniform(-50.0, 255.0, (HEIGHT, WIDTH)).astype(np.float32)
    count, base = 5 * EIGHT, WIDTH + 2  # pixels are counted from one of the image
    x, y = rng.uniform(2.0, WIDTH - 1.1, count), rng.uniform(1.0, HEIGHT - 1.1, count)
    x[:2], y[:2] = (2.0, WIDTH - 1.01), (1.0, HEIGHT - 1.01)
    pixel = (y.astype(np.int32) * WIDTH + x.astype(np.int32) - base).clip(0).astype(np.int32)
    column, row = (pixel + base) % WIDTH, (pixel + base) // WIDTH
    u, v, weight = (rng.random(count) for _ in range(3))
    work = np.concatenate([u, v, weight, np.full(count, np.nan)]).astype(np.float32)
    before = rng.random(count).astype(np.float32)
    sums = before.copy()
    inside = column < WIDTH - 1
    _look_up_eights(np.append(image.ravel(), np.zeros(WIDTH, np.float32)), WIDTH, pixel, work, sums, base)
    true = interpolated(image[..., None], np.where(inside, column + u, 0.0), row + v)[:, 0]
    assert inside.sum() > 30
    np.testing.assert_allclose(work[3 * count :][inside], true[inside], atol=2e-4)
    np.testing.assert_allclose(sums[inside], (before + true * weight)[inside], atol=2e-4)
