# SPDX-License-Identifier: Apache-2.0
"""Main-lens distortion: the formula term by term, and its inverse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optics_cases import make_camera
from pydantic import ValidationError

from prism_vo.optics.distortion import distort, shift_mm, undistort
from prism_vo.optics.mla import MicroLensArray


def distorted_camera(a0=0.0, a1=0.0, b0=0.0, b1=0.0):
    return make_camera(distortion={"radial": (a0, a1), "tangential": (b0, b1)}).calibration


@pytest.mark.parametrize(
    "coefficients, expected",
    [
        # at x = 2, y = 1 mm: r² = 5
        ({"a0": 1e-3}, (2 * 5e-3, 1 * 5e-3)),
        ({"a1": 1e-4}, (2 * 25e-4, 1 * 25e-4)),
        ({"b0": 1e-3}, ((5 + 8) * 1e-3, 2 * 2 * 1e-3)),
        ({"b1": 1e-3}, (2 * 2 * 1e-3, (5 + 2) * 1e-3)),
    ],
)
def test_each_term(coefficients, expected):
    shift = shift_mm(distorted_camera(**coefficients), np.array([2.0, 1.0]))
    assert shift == pytest.approx(expected, rel=1e-12)


def test_distorted_is_undistorted_plus_shift_about_the_principal_point():
    camera = make_camera(distortion={"radial": (2e-3, 0.0)})
    pixel = camera.principal_point + np.array([100.0, 0.0])
    r_mm = 100.0 * camera.pixel_mm
    expected = 100.0 * (1 + 2e-3 * r_mm**2)
    assert distort(camera.calibration, pixel)[0] - camera.principal_point[0] == pytest.approx(
        expected, rel=1e-12
    )
    np.testing.assert_allclose(distort(camera.calibration, camera.principal_point), camera.principal_point)


@given(
    st.floats(-5e-3, 5e-3),
    st.floats(-5e-4, 5e-4),
    st.floats(-1e-3, 1e-3),
    st.floats(-1e-3, 1e-3),
    st.floats(0, 299),
    st.floats(0, 259),
)
def test_undistort_undoes_distort(a0, a1, b0, b1, x, y):
    calibration = distorted_camera(a0, a1, b0, b1)
    pixel = np.array([x, y])
    np.testing.assert_allclose(undistort(calibration, distort(calibration, pixel)), pixel, atol=1e-7)


def test_without_coefficients_nothing_moves():
    pixels = np.random.default_rng(0).uniform(0, 200, (20, 2))
    np.testing.assert_array_equal(distort(make_camera().calibration, pixels), pixels)
    np.testing.assert_array_equal(undistort(make_camera().calibration, pixels), pixels)


def test_coefficients_that_fold_the_image_are_refused():
    with pytest.raises(ValidationError, match="cannot be inverted"):
        distorted_camera(a0=1.0)


def test_lens_centres_come_from_undistorted_micro_image_centres():
    """c_I as measured is distorted; c_ML is formed from its undistorted position."""
    camera = make_camera(distortion={"radial": (3e-3, 0.0), "tangential": (5e-4, 0.0)})
    array = MicroLensArray.of(camera)
    straight = camera.principal_point + (array.lens_centres - camera.principal_point) / camera.lam
    np.testing.assert_allclose(distort(camera.calibration, straight), array.image_centres, atol=1e-7)
    assert np.abs(straight - array.image_centres).max() > 0.1


def test_a_distortion_centre_of_its_own():
    """The same field of shifts, moved with its centre; without the key it is the principal point, bit by bit."""
    numbers = {"radial": (2e-3, 1e-5), "tangential": (1e-4, -2e-4)}
    plain = make_camera(distortion=numbers)
    x, y = plain.principal_point
    same = make_camera(distortion={**numbers, "centre_px": (x, y)}).calibration
    moved = make_camera(distortion={**numbers, "centre_px": (x + 7.0, y - 11.0)}).calibration
    pixels = np.random.default_rng(1).uniform(0, 200, (50, 2))
    assert np.array_equal(distort(same, pixels), distort(plain.calibration, pixels))
    away = np.array([7.0, -11.0])
    expected = distort(plain.calibration, pixels - away) + away
    assert distort(moved, pixels) == pytest.approx(expected, abs=1e-9)
    assert undistort(moved, distort(moved, pixels)) == pytest.approx(pixels, abs=1e-6)


def test_the_simulator_distorts_about_the_same_centre():
    from prism_vo.simulate.optics import undistort_mm

    camera = make_camera(distortion={"radial": (2e-3, 0.0), "centre_px": (90.0, 120.0)})
    pixels = np.random.default_rng(2).uniform(0, 200, (50, 2))
    mm = undistort_mm(camera.calibration, (pixels - camera.principal_point) * camera.pixel_mm)
    expected = undistort(camera.calibration, pixels)
    assert mm / camera.pixel_mm + camera.principal_point == pytest.approx(expected, abs=1e-6)
