# SPDX-License-Identifier: Apache-2.0
"""Metric depth ↔ virtual depth, its slopes, uncertainty, and the virtual image of points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from optics_cases import camera_points, make_camera


def reference_virtual_depth(camera, z_metres):
    image_distance = 1.0 / (1.0 / camera.f_L - 1.0 / (1000.0 * z_metres))
    return (image_distance - camera.b_L0) / camera.B


@given(camera_points())
def test_depth_to_virtual_depth_and_back(case):
    camera, (_, _, z) = case
    v = reference_virtual_depth(camera, z)
    if v <= 0:
        assert np.isnan(camera.virtual_depth(z))  # its image lies in front of the array: never measured
        return
    assert camera.virtual_depth(z) == pytest.approx(v, rel=1e-9, abs=1e-9)
    assume(v > 1e-2)
    rho = 1.0 / v
    assert camera.inv_virtual_depth(1.0 / z) == pytest.approx(rho, rel=1e-7)
    assert camera.inv_depth(rho) == pytest.approx(1.0 / z, rel=1e-6, abs=1e-9)
    if z < 50:
        assert camera.depth(v) == pytest.approx(z, rel=1e-5)


@given(camera_points())
def test_slope_and_sigma_are_the_numeric_derivative(case):
    camera, (_, _, z) = case
    assume(reference_virtual_depth(camera, z) > 0.3)
    r = 1.0 / z
    d = 1e-6 * max(r, 1e-2)
    numeric = (
        1 / reference_virtual_depth(camera, 1 / (r + d)) - 1 / reference_virtual_depth(camera, 1 / r)
    ) / d
    slope = camera.inv_virtual_depth_slope(r)
    assert slope == pytest.approx(numeric, rel=1e-3)
    assert camera.depth_sigma(z, 0.002) == pytest.approx(0.002 * z**2 / abs(numeric), rel=1e-3)


def test_sigma_is_what_noise_does():
    camera = make_camera()
    rng = np.random.default_rng(1)
    rho = camera.inv_virtual_depth(1 / 2.0) + rng.normal(0, 1e-4, 20000)
    assert np.std(1 / camera.inv_depth(rho)) == pytest.approx(camera.depth_sigma(2.0, 1e-4), rel=0.03)


def test_documented_rule_of_thumb():
    """f_L 16, b_L0 15.3, B 0.35, σ(ρ_v) 0.002: 2 % at 1 m, 6 % at 5 m, 12 % at 10 m."""
    camera = make_camera(f=16.0, b0=15.3, B=0.35)
    relative = [float(camera.depth_sigma(z, 0.002)) / z for z in (1.0, 5.0, 10.0)]
    assert relative == pytest.approx([0.02, 0.06, 0.12], rel=0.15)


def test_worked_example_in_round_numbers():
    """f 10, z 110 mm: b_L = 10·110/100 = 11; with b_L0 10 and B 0.5, v = 2; x 22 mm → x_V = 2.2 mm."""
    camera = make_camera(f=10.0, b0=10.0, B=0.5, pixel_um=10.0, principal=(150.0, 130.0))
    assert camera.virtual_depth(0.110) == pytest.approx(2.0)
    x_v, v = camera.project_virtual([0.022, -0.011, 0.110])
    assert x_v == pytest.approx([150 + 220, 130 - 110]) and v == pytest.approx(2.0)


@pytest.mark.parametrize("z", [0.5, 2.0, 20.0])
def test_near_points_have_larger_virtual_depth(z):
    camera = make_camera()
    assert camera.virtual_depth(z) > camera.virtual_depth(1.1 * z)
    assert camera.inv_virtual_depth(1 / z) < camera.inv_virtual_depth(0.0)


def test_infinity():
    camera = make_camera(f=16.0, b0=15.3, B=0.35)
    assert camera.virtual_depth(np.inf) == pytest.approx(2.0)
    assert camera.inv_virtual_depth(0.0) == pytest.approx(0.5)
    assert camera.depth(1.0 / camera.inv_virtual_depth(0.0)) > 1e6
    assert camera.inv_depth(0.5 + 0.001) < 0  # noisy measurements beyond infinity stay on the smooth branch
    assert (
        np.isnan(camera.depth(1.9))
        and np.isnan(camera.depth(-1.0))
        and np.isnan(camera.virtual_depth(0.0159))
    )


def test_close_focus_puts_infinity_in_front_of_the_array():
    camera = make_camera(f=50.011, b0=52.140, B=0.3267)
    assert camera.inv_virtual_depth(0.0) < 0
    assert np.isnan(camera.virtual_depth(10.0)) and camera.virtual_depth(0.9) > 1
    assert camera.depth(camera.virtual_depth(0.9)) == pytest.approx(0.9)
