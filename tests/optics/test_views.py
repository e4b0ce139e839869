# SPDX-License-Identifier: Apache-2.0
"""The two focused views against the thin lens written out, their inverses and Jacobians."""

from __future__ import annotations

import numpy as np
import pytest
from camera_model import raw_from_tf
from hypothesis import assume, given
from hypothesis import strategies as st
from optics_cases import camera_points, cameras, make_camera

NAMES = ("central", "focal")


def thin_lens(camera, point):
    """(b_L, x_V mm, y_V mm, v) of a point in metres, by the lens equation 1/f = 1/z + 1/b_L alone."""
    x, y, z = (1000.0 * c for c in point)
    image_distance = 1.0 / (1.0 / camera.f_L - 1.0 / z)
    return (
        image_distance,
        image_distance * x / z,
        image_distance * y / z,
        (image_distance - camera.b_L0) / camera.B,
    )


@given(camera_points())
def test_focal_view_is_the_virtual_image(case):
    camera, point = case
    view = camera.view("focal")
    _, x_v, y_v, v = thin_lens(camera, point)
    s_tf = camera.tf_scale * camera.calibration.sensor.pixel_size_um * 1e-3
    expected = np.array([x_v, y_v]) / s_tf + [view.cx, view.cy]
    np.testing.assert_allclose(view.project(point), expected, rtol=1e-12, atol=1e-9)
    w = view.w_infinity + view.kappa / (point[2] - view.z0)
    assert w == pytest.approx(v, rel=1e-9, abs=1e-9)


@given(camera_points())
def test_central_view_is_the_ray_through_the_main_lens_centre(case):
    camera, point = case
    view = camera.view("central")
    x, y, z = point
    s_tf = camera.tf_scale * camera.calibration.sensor.pixel_size_um * 1e-3
    sensor_plane = camera.b_L0 + camera.B  # mm behind the main lens
    expected = np.array([x, y]) / z * sensor_plane / s_tf + [view.cx, view.cy]
    np.testing.assert_allclose(view.project(point), expected, rtol=1e-12, atol=1e-9)
    v = thin_lens(camera, point)[3]
    assume(abs(v) > 1e-3)
    lam = camera.b_L0 / sensor_plane
    w = view.w_infinity + view.kappa / (z - view.z0)
    assert 1.0 / w == pytest.approx((1.0 - lam) + lam / v, rel=1e-7, abs=1e-9)


@given(camera_points(), st.sampled_from(NAMES))
def test_view_gives_the_true_inverse_virtual_depth(case, name):
    camera, point = case
    v = thin_lens(camera, point)[3]
    assume(v > 1e-2)
    view = camera.view(name)
    q = view.inv_depth_of(point[2])
    assert view.inv_virtual_depth(q) == pytest.approx(1.0 / v, rel=1e-8)
    assert view.inv_depth_from_virtual(1.0 / v) == pytest.approx(q, rel=1e-6, abs=1e-9)
    assert view.depth_of(q) == pytest.approx(point[2], rel=1e-9)


@given(camera_points(), st.sampled_from(NAMES))
def test_unproject_undoes_project(case, name):
    camera, point = case
    view = camera.view(name)
    back = view.unproject(view.project(point), point[2])
    np.testing.assert_allclose(back, point, rtol=1e-9, atol=1e-9 * point[2])


@given(camera_points(), st.sampled_from(NAMES))
def test_slope_of_inverse_virtual_depth_is_the_numeric_one(case, name):
    camera, point = case
    assume(thin_lens(camera, point)[3] > 0.3)
    view = camera.view(name)
    q = float(view.inv_depth_of(point[2]))
    d = 1e-6 * max(q, 1e-2)
    numeric = (view.inv_virtual_depth(q + d) - view.inv_virtual_depth(q - d)) / (2 * d)
    slope = view.inv_virtual_depth_slope(q)
    assert slope == pytest.approx(numeric, rel=1e-4)
    assert slope < 0  # nearer points have smaller inverse virtual depth


@given(cameras())
def test_both_views_share_one_principal_point_and_size(camera):
    central, focal = camera.view("central"), camera.view("focal")
    assert (central.cx, central.cy, central.width, central.height) == (
        focal.cx,
        focal.cy,
        focal.width,
        focal.height,
    )
    k = camera.tf_scale
    # pixel 0 of the focused image covers raw pixels 0 … k−1, so its centre is their mean
    assert raw_from_tf(camera, [0.0, 0.0]) == pytest.approx([(k - 1) / 2] * 2)
    assert raw_from_tf(camera, [central.cx, central.cy]) == pytest.approx(camera.principal_point)


def test_pinhole_matrix_projects_points_about_the_views_centre():
    camera = make_camera()
    view = camera.view("focal")
    point = np.array([0.1, -0.2, 1.5])
    u = view.pinhole @ (point - [0, 0, view.z0])
    np.testing.assert_allclose(u[:2] / u[2], view.project(point), rtol=1e-12)


def test_default_view_is_the_one_the_calibration_names():
    assert make_camera().view().name == "central"
