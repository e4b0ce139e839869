# SPDX-License-Identifier: Apache-2.0
"""Pixels with gradient are spread over the image; the kernels against loops written out."""

import numpy as np
import pytest
from central_differences import with_gradients
from smooth_scene import SmoothScene, small_view

from prism_vo.points.spread import BLOCK, MARGIN, spread_pixels
from prism_vo.tracking.pyramid import image_pyramid

VIEW = small_view(192, 160, 240.0)


def textured(seed: int = 0, contrast: float = 35.0) -> np.ndarray:
    return image_pyramid(
        SmoothScene.build(seed, finest=0.06, contrast=contrast).image(VIEW, np.eye(4))[0], 1
    )[0]


@pytest.mark.parametrize("wanted", [150, 400, 900])
def test_about_the_wanted_count_is_picked(wanted: int) -> None:
    picked = spread_pixels(textured(), wanted, np.random.default_rng(0))
    assert 0.7 * wanted <= len(picked) <= 1.3 * wanted
    assert len(np.unique(picked, axis=0)) == len(picked)
    assert picked.min() >= MARGIN
    assert (picked[:, 0] < VIEW.width - MARGIN).all() and (picked[:, 1] < VIEW.height - MARGIN).all()


def test_weakly_textured_halves_are_covered_too() -> None:
    image = textured().copy()
    image[:, 96:] *= 0.5
    picked = spread_pixels(image, 400, np.random.default_rng(0))
    weak = picked[:, 0] > 100
    assert weak.mean() > 0.2
    counts, _, _ = np.histogram2d(picked[:, 0], picked[:, 1], bins=(6, 5), range=((0, 192), (0, 160)))
    assert (counts > 0).all()


def test_pixels_without_gradient_are_never_picked() -> None:
    image = textured().copy()
    image[40:120, 40:120] = 100.0
    picked = spread_pixels(image, 400, np.random.default_rng(0))
    inside = (picked > 40).all(1) & (picked < 119).all(1)
    assert not inside.any()
    flat = np.zeros_like(image)
    assert len(spread_pixels(flat, 400, np.random.default_rng(0))) == 0


def test_the_same_seed_picks_the_same_pixels() -> None:
    a, b, c = (spread_pixels(textured(), 300, np.random.default_rng(s)) for s in (5, 5, 6))
    np.testing.assert_array_equal(a, b)
    assert a.shape != c.shape or (a != c).any()


def plain_thresholds(image: np.ndarray) -> np.ndarray:
    """Median gradient of every block plus 7, mean of 3 × 3 blocks: squared."""
    rows, columns = (max(side // BLOCK, 1) for side in image.shape)
    height, width = image.shape[0] // rows, image.shape[1] // columns
    magnitude = np.hypot(*np.moveaxis(with_gradients(image)[..., 1:], -1, 0))
    blocks = np.empty((rows, columns))
    for row in range(rows):
        for column in range(columns):
            part = magnitude[row * height : (row + 1) * height, column * width : (column + 1) * width]
            blocks[row, column] = np.median(part) + 7.0
    padded = np.pad(blocks, 1, mode="edge")
    return sum(padded[y : y + rows, x : x + columns] for y in range(3) for x in range(3)) ** 2 / 81.0


def plain_passes(image: np.ndarray, cell: int, direction: np.ndarray) -> list[tuple[int, int]]:
    """Three passes over cells, pixel by pixel."""
    height, width = image.shape
    thresholds, gradients = plain_thresholds(image), with_gradients(image)[..., 1:]
    rows, columns = thresholds.shape
    picked: list[tuple[int, int]] = []
    for turn in range(3):
        size, before, number = cell << turn, set(picked), 0
        for y0 in range(MARGIN, height - MARGIN, size):
            for x0 in range(MARGIN, width - MARGIN, size):
                d, best, place, free = direction[number % len(direction)], 0.0, None, True
                number += 1
                for y in range(y0, min(y0 + size, height - MARGIN)):
                    for x in range(x0, min(x0 + size, width - MARGIN)):
                        free &= (x, y) not in before
                        g = gradients[y, x]
                        limit = thresholds[
                            min(y * rows // height, rows - 1), min(x * columns // width, columns - 1)
                        ]
                        if g @ g >= limit * 0.75 ** (2 * turn) and abs(g @ d) > best:
                            best, place = abs(g @ d), (x, y)
                if free and place is not None:
                    picked.append(place)
    return picked


@pytest.mark.parametrize("shape", [(160, 192), (97, 131), (40, 33), (20, 21)])
def test_the_same_pixels_as_loops_written_out(shape: tuple[int, int]) -> None:
    """An even and an odd number of pixels a block, and a single block."""
    image = np.ascontiguousarray(textured(seed=3)[: shape[0], : shape[1]])
    band = slice(shape[0] // 3, shape[0] // 2)
    image[band] = image.mean() + 0.2 * (image[band] - image.mean())  # cells that need a second pass
    wanted = shape[0] * shape[1] // 75
    angle = np.random.default_rng(1).uniform(0.0, 2.0 * np.pi, 4096)
    direction = np.stack([np.cos(angle), np.sin(angle)], -1).astype(np.float32).astype(np.float64)
    cell, expected = int(np.sqrt(shape[0] * shape[1] / wanted)), list[tuple[int, int]]()
    for _ in range(5):
        expected = plain_passes(image.astype(np.float64), cell, direction)
        ratio = len(expected) / wanted
        better = max(round(cell * np.sqrt(ratio)), 2)
        if better == cell or 0.85 < ratio < 1.2:
            break
        cell = better
    assert 3 < len(expected) <= 1.2 * wanted  # beyond that it is thinned out
    picked = spread_pixels(image, wanted, np.random.default_rng(1))
    assert [tuple(p) for p in picked.tolist()] == expected
