# SPDX-License-Identifier: Apache-2.0
"""Patches are found again in an image that is turned, enlarged and darker; what is not there is not found."""

from __future__ import annotations

import cv2
import numpy as np

from prism_vo import se3
from prism_vo.export.patch_following import follow, turn_between
from prism_vo.export.pictures import projected
from prism_vo.optics.view import FocusedView

VIEW = FocusedView("central", 200, 200, 150.0, 99.5, 99.5, 0.0, 2.0, 0.5, 0.02, 0.98)
RNG = np.random.default_rng(5)


def texture() -> np.ndarray:
    """Smooth, so that interpolation says little."""
    grey = cv2.GaussianBlur(RNG.normal(size=(200, 200)), (0, 0), 2.0)
    return np.asarray(np.clip(128 + 40 * grey / grey.std(), 0, 255)).astype(np.uint8)


def test_turned_enlarged_and_darker_to_a_twentieth_of_a_pixel() -> None:
    before = texture()
    angle, size, centre = np.deg2rad(6.0), 1.15, np.array([99.5, 99.5])
    turn = size * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    matrix = np.column_stack([turn, centre - turn @ centre + [1.3, -2.1]])
    after = cv2.warpAffine(before, matrix, (200, 200), flags=cv2.INTER_CUBIC)
    after = np.rint(0.8 * after + 10.0).astype(np.uint8)
    start = RNG.uniform(50, 150, (60, 2))
    true = start @ turn.T + matrix[:, 2]
    guess = true + RNG.uniform(-1.0, 1.0, true.shape)
    found = follow(before, after, start, guess, np.tile(turn, (60, 1, 1)))
    assert found.good.mean() > 0.9
    error = np.linalg.norm(found.xy - true, axis=1)[found.good]
    assert np.median(error) < 0.05
    assert error.max() < 0.2
    plain = follow(before, after, start, guess, np.tile(np.eye(2), (60, 1, 1)))  # as optical flow would
    worse = np.linalg.norm(plain.xy - true, axis=1)
    assert np.median(worse) > 2 * np.median(error)


def test_what_is_not_there_is_not_found() -> None:
    start = RNG.uniform(30, 170, (50, 2))
    same = np.tile(np.eye(2), (50, 1, 1))
    assert follow(texture(), texture(), start, start, same).good.mean() < 0.1
    flat = np.full((200, 200), 90, np.uint8)
    assert not follow(flat, flat, start, start, same).good.any()
    nobody = np.zeros((0, 2))
    assert not len(follow(flat, flat, nobody, nobody, same[:0]).xy)


def test_turn_is_how_pixels_move() -> None:
    home, other = (
        se3.exp(np.array([0.1, 0, 0, 0, 0, 0.2])),
        se3.exp(np.array([0.3, -0.1, 0.4, 0.05, 0.1, 0.0])),
    )
    pixels, z = RNG.uniform(60, 140, (20, 2)), RNG.uniform(2.0, 4.0, 20)

    def there(xy: np.ndarray) -> np.ndarray:
        return projected(VIEW, other, se3.transform(home, VIEW.unproject(xy, z)))[0]

    turn = turn_between(VIEW, home, other, se3.transform(home, VIEW.unproject(pixels, z)))
    for axis in range(2):
        aside = 0.01 * np.eye(2)[axis]
        assert np.allclose(
            turn[:, :, axis], (there(pixels + aside) - there(pixels - aside)) / 0.02, atol=1e-6
        )
