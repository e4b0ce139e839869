# SPDX-License-Identifier: Apache-2.0
"""Single bright pixels are no light: they get that of the pixels beside them. Rows that did not arrive show nothing."""

from __future__ import annotations

import numpy as np
import pytest

from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.raw import PreparedRaw

SIZE = 24


def ramp() -> np.ndarray:
    """A smooth image inside of micro-images."""
    y, x = np.mgrid[:SIZE, :SIZE]
    return (40.0 + 2.0 * x + 1.0 * y).astype(np.float32)


def prepared(values: np.ndarray, gain: np.ndarray | None = None) -> PreparedRaw:
    gain = np.ones_like(values) if gain is None else gain
    return PreparedRaw(values, gain, 4, Bands(1))


def test_single_bright_pixels_get_the_light_beside_them() -> None:
    clean, hot = ramp(), ramp()
    hot[5:20:6, 5:20:6] = 255.0
    before = hot.copy()
    seen, expected = prepared(hot), prepared(clean)
    assert np.abs(seen.sharpened(0.0) - expected.sharpened(0.0)).max() < 1e-3
    assert np.abs(seen.matching_image - expected.matching_image).max() < 1e-3
    assert seen.saturated() is None
    np.testing.assert_array_equal(hot, before)  # the raw image itself is left as it is


def test_pixels_outside_of_micro_images_give_no_light() -> None:
    values, gain = ramp(), np.ones((SIZE, SIZE), np.float32)
    gain[:, 11] = 0.0
    values[8, 10] = 255.0
    light = prepared(values, gain).sharpened(0.0)[4 + 8, 4 + 10]
    assert abs(light - ramp()[[7, 8, 9], [10, 9, 10]].mean()) < 1e-3


def test_what_is_bright_all_about_stays_saturated() -> None:
    values = ramp()
    values[8:12, 8:12] = 255.0
    saturated = prepared(values).saturated()
    assert saturated is not None and saturated.sum() == 16


@pytest.mark.parametrize("first", range(10))
def test_rows_that_did_not_arrive_show_nothing(first: int) -> None:
    values = np.tile(ramp(), (10, 1))
    values[first::10] = 0.0
    lit = prepared(values).lit()
    assert lit is not None
    inside = lit[4:-4, 4:-4]
    assert (inside[first::10] == 0.0).all() and inside.sum() == inside.size - 24 * SIZE


def test_single_dark_pixels_show_that_it_is_dark_there() -> None:
    values = ramp()
    values[::5, ::3] = 0.0
    lit = prepared(values).lit()
    assert lit is not None and lit[4:-4, 4:-4].all()
