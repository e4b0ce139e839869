# SPDX-License-Identifier: Apache-2.0
"""The focused image follows the depth of the scene, calmly."""

import numpy as np
import pytest
from light_fields import mini

from prism_vo.config import DecodeConfig
from prism_vo.lightfield import Decoder
from prism_vo.lightfield.refocus import LOOK_EVERY, FocusSlope, look_grid


def test_slope_goes_to_the_median_and_stays_while_nothing_would_show() -> None:
    focus = FocusSlope(0.3, radius=10.0)
    assert focus.of(0, lambda: np.full(50, 0.4)) == pytest.approx(0.4)
    assert focus.of(1, lambda: pytest.fail("looked again at once")) == pytest.approx(0.4)
    assert focus.of(LOOK_EVERY, lambda: np.full(50, 0.405)) == pytest.approx(0.4)
    assert focus.of(3 * LOOK_EVERY, lambda: np.full(50, 0.45)) == pytest.approx(0.45)


def test_slope_is_kept_where_nothing_can_be_matched() -> None:
    focus = FocusSlope(0.3, radius=10.0)
    assert focus.of(0, lambda: np.full(50, np.nan)) == pytest.approx(0.3)


def test_looks_all_over_the_image() -> None:
    grid = look_grid(320, 200)
    assert grid.min() >= 0 and grid[:, 0].max() < 320 and grid[:, 1].max() < 200
    assert np.ptp(grid[:, 0]) > 250 and np.ptp(grid[:, 1]) > 150


def test_focusing_on_the_scene_brings_the_image_nearer_to_the_truth() -> None:
    """A plane far from where the lenses focus on average: following it helps."""
    field = mini(3.0, noise=0.3)
    decoder = Decoder(field.camera, DecodeConfig(threads=1), field.white)
    prepared = decoder.prepare(field.raw)
    images = [decoder.focus(field.raw).image, decoder._focused(prepared, decoder.geometry.rest_slope)]
    inner = (slice(12, -12), slice(12, -12))
    following, resting = (float(np.mean((i - field.image)[inner] ** 2)) for i in images)
    assert following < 0.9 * resting
