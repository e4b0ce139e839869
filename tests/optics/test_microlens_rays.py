# SPDX-License-Identifier: Apache-2.0
"""Micro-lens projection against straight rays traced in space, and the micro-image-centre convention."""

from __future__ import annotations

import numpy as np
import pytest
from camera_model import naive_from_true, raw_from_virtual
from hypothesis import assume, given
from hypothesis import strategies as st
from optics_cases import camera_points, cameras, make_camera

MM = 1e-3


def on_plane(start, end, z):
    """Where the straight line through two points (x, y, z) crosses the plane z."""
    a, b = np.asarray(start, float), np.asarray(end, float)
    return (a + (b - a) * (z - a[2]) / (b[2] - a[2]))[:2]


def inside_camera(camera, raw_pixels):
    """Raw pixels → mm about the optical axis."""
    return (np.asarray(raw_pixels) - camera.principal_point) * camera.pixel_mm


@given(camera_points(), st.floats(20, 280), st.floats(20, 240))
def test_a_lens_images_the_virtual_point_along_a_straight_ray(case, cx, cy):
    """Light heading for the virtual image passes the lens centre undeflected, to the sensor B behind it."""
    camera, point = case
    x_v, v = camera.project_virtual(point)
    assume(v > 0.3)
    centre = np.array([cx, cy])
    lens = [*inside_camera(camera, centre), camera.b_L0]
    virtual = [*inside_camera(camera, x_v), camera.b_L0 + v * camera.B]
    expected = on_plane(lens, virtual, camera.b_L0 + camera.B)
    got = raw_from_virtual(x_v, 1 / v, centre)
    np.testing.assert_allclose(inside_camera(camera, got), expected, rtol=1e-9, atol=1e-9)


@given(cameras(), st.floats(20, 280), st.floats(20, 240))
def test_micro_image_centre_is_the_chief_ray(camera, cx, cy):
    """The ray from the main-lens centre through a micro-lens meets the sensor in its micro-image centre."""
    image_centre = np.array([cx, cy])
    lens_centre = camera.lens_centres(image_centre)
    through = on_plane([0, 0, 0], [*inside_camera(camera, lens_centre), camera.b_L0], camera.b_L0 + camera.B)
    np.testing.assert_allclose(inside_camera(camera, image_centre), through, rtol=1e-9, atol=1e-12)


@given(camera_points(), st.floats(20, 280), st.floats(20, 240), st.floats(15, 60))
def test_stereo_with_the_wrong_centres_measures_the_naive_depth(case, cx, cy, baseline):
    """Rays traced through two lenses; disparity about c_ML gives ρ_v, about c_I gives 1/v_n."""
    camera, point = case
    x_v, v = camera.project_virtual(point)
    assume(v > 0.3)
    virtual = [*inside_camera(camera, x_v), camera.b_L0 + v * camera.B]
    image_centres = np.array([[cx, cy], [cx + baseline, cy + 0.3 * baseline]])
    lenses = inside_camera(camera, camera.lens_centres(image_centres))
    pixels = np.array([on_plane([*c, camera.b_L0], virtual, camera.b_L0 + camera.B) for c in lenses])
    images = inside_camera(camera, image_centres)

    def inverse_depth_about(centres):
        offsets = pixels - centres
        d = centres[0] - centres[1]
        return -((offsets[0] - offsets[1]) @ d) / (d @ d)

    rho = inverse_depth_about(lenses)
    naive = inverse_depth_about(images)
    assert rho == pytest.approx(1 / v, rel=1e-6, abs=1e-9)
    assert naive == pytest.approx(float(naive_from_true(camera, 1 / v)), rel=1e-6, abs=1e-9)
    assert camera.true_from_naive(naive) == pytest.approx(1 / v, rel=1e-5, abs=1e-8)


@given(
    camera_points(), st.floats(20, 280), st.floats(20, 240), st.floats(-0.05, 0.05), st.floats(-0.05, 0.05)
)
def test_a_raw_pixel_traced_into_the_scene_meets_its_point(case, cx, cy, ax, ay):
    """X(z) = −P + z (m + P/f_L), from any part of a micro-lens focused at the point's virtual depth."""
    camera, point = case
    x_v, v = camera.project_virtual(point)
    assume(v > 1.2)
    centre = np.array([cx, cy])
    p = inside_camera(camera, raw_from_virtual(x_v, 1 / v, centre))
    c, a = inside_camera(camera, centre), np.array([ax, ay])
    micro_focal = camera.B * v / (v - 1)
    m = (p - c - a) / camera.B + a / micro_focal
    main = c + a - m * camera.b_L0
    z = point[2] / MM
    met = -main + z * (m + main / camera.f_L)
    scale = max(abs(point[0]), abs(point[1]), point[2]) / MM
    np.testing.assert_allclose(met, np.array(point[:2]) / MM, atol=1e-7 * scale)


@given(camera_points(), st.floats(15, 60))
def test_epipolar_line(case, baseline):
    camera, point = case
    x_v, v = camera.project_virtual(point)
    assume(v > 0.3)
    ci, cj = np.array([140.0, 120.0]), np.array([140.0 + baseline, 120.0 - baseline])
    xi, xj = (raw_from_virtual(x_v, 1 / v, c) for c in (ci, cj))
    np.testing.assert_allclose(xj, xi + (cj - ci) * (1 - 1 / v), rtol=1e-9, atol=1e-9)


@given(camera_points())
def test_array_point_is_the_chief_ray_of_the_virtual_point(case):
    camera, point = case
    x_v, v = camera.project_virtual(point)
    assume(v > 0.3)
    virtual = [*inside_camera(camera, x_v), camera.b_L0 + v * camera.B]
    expected = on_plane([0, 0, 0], virtual, camera.b_L0)
    np.testing.assert_allclose(
        inside_camera(camera, camera.array_point(x_v, v)), expected, rtol=1e-9, atol=1e-12
    )


def test_reading_the_naive_depth_as_the_true_one_biases_metric_depth():
    """The trap is real: at 3 m the thin lens with v_n in place of v is off by far more than the noise."""
    camera = make_camera(f=16.0, b0=15.3, B=0.35)
    rho = float(camera.inv_virtual_depth(1 / 3.0))
    misread = 1 / float(camera.inv_depth(naive_from_true(camera, rho)))
    assert abs(misread - 3.0) > 0.3
