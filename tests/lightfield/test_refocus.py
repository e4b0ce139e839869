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


def test_few_matches_are_not_the_scene_and_the_next_frame_is_looked_at() -> None:
    focus = FocusSlope(0.3, radius=10.0)
    scene, cloth = np.full(90, 0.4), np.full(26, 0.22)
    assert focus.of(0, lambda: scene) == pytest.approx(0.4)
    for k in range(30):  # three seconds in a pocket
        assert focus.of(LOOK_EVERY + k, lambda: cloth) == pytest.approx(0.4)
    assert focus.of(LOOK_EVERY + 30, lambda: np.full(80, 0.45)) == pytest.approx(0.45)


def test_a_scene_with_less_to_match_is_followed_after_a_while() -> None:
    focus = FocusSlope(0.3, radius=10.0)
    assert focus.of(0, lambda: np.full(90, 0.4)) == pytest.approx(0.4)
    assert focus.of(60, lambda: np.full(30, 0.5)) == pytest.approx(0.4)
    slopes = [focus.of(61 + k, lambda: np.full(30, 0.5)) for k in range(80)]
    assert slopes[0] == pytest.approx(0.4) and slopes[-1] == pytest.approx(0.5)


def test_a_slope_goes_on_where_it_was() -> None:
    first, second = FocusSlope(0.3, radius=10.0), FocusSlope(0.3, radius=10.0)
    first.of(0, lambda: np.full(90, 0.4))
    first.of(LOOK_EVERY, lambda: np.full(20, 0.2))
    second.state = first.state
    for focus in (first, second):
        assert focus.of(LOOK_EVERY + 1, lambda: np.full(40, 0.2)) == pytest.approx(0.4)


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
