# SPDX-License-Identifier: Apache-2.0
"""Numbers of the camera in the prior: rows that stay in place, dense marginals, and first estimates that stay."""

from dataclasses import replace

import numpy as np
import pytest
from camera_terms import CAMERA, toy_window
from filled_windows import dense_of, scaled, schur
from random_systems import assert_same, dense_marginal, random_system

from prism_vo.window.marginalisation import absorb_keyframe, absorb_points
from prism_vo.window.terms.prior import Prior


def test_keyframes_come_and_go_before_the_camera_rows() -> None:
    system, _, _ = random_system(5, camera=CAMERA)
    prior = Prior(system.h, system.b, CAMERA)
    wider = prior.with_new_keyframe()
    old = np.r_[0:24, 32:34]
    assert wider.h.shape == (34, 34) and wider.camera == CAMERA
    np.testing.assert_array_equal(wider.h[np.ix_(old, old)], prior.h)
    np.testing.assert_array_equal(wider.b[old], prior.b)
    assert not wider.h[24:32].any() and not wider.h[:, 24:32].any() and not wider.b[24:32].any()
    assert [wider.involves(k) for k in range(4)] == [True, True, True, False] and wider.involves_camera
    back = wider.without(3, fixed=False)
    np.testing.assert_allclose(back.h, prior.h, rtol=1e-12)
    np.testing.assert_allclose(back.b, prior.b, rtol=1e-12)


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_keyframe_that_leaves_leaves_the_dense_marginal_on_the_camera(position: int) -> None:
    system, h, b = random_system(6, camera=CAMERA)
    prior = Prior(*system.reduced(), CAMERA).without(position, fixed=False)
    drop = np.arange(len(b)) >= 26
    drop[8 * position : 8 * position + 8] = True
    assert prior.camera == CAMERA and len(prior.b) == 18
    assert_same((prior.h, prior.b), dense_marginal(h, b, drop), np.diag(h)[~drop])
    conditioned = Prior(system.h, system.b, CAMERA).without(position, fixed=True)
    keep = ~drop[:26]
    np.testing.assert_array_equal(conditioned.h, system.h[np.ix_(keep, keep)])
    assert conditioned.camera == CAMERA


def test_a_blank_prior_knows_nothing_about_the_camera() -> None:
    blank = Prior.blank(2, CAMERA)
    assert len(blank.b) == 18 and not blank.involves_camera
    assert not Prior.blank(2).involves_camera
    system, _, _ = random_system(7)
    only_frames = np.zeros((26, 26))
    only_frames[:24, :24] = system.h
    assert not Prior(only_frames, np.zeros(26), CAMERA).involves_camera


def test_points_that_leave_leave_the_dense_marginal_on_the_camera() -> None:
    window = toy_window()
    hosted = window.points.host == 1
    assert hosted.sum() > 20 and not window.camera.in_prior
    h, b, k = dense_of(window, hosted)
    assert k == 34
    expected = schur(h, b, np.arange(len(b)) >= k)
    assert np.abs(expected[0][-CAMERA:]).max() > 0
    absorb_points(window, window.points.take(hosted))
    units = h[:k, :k]
    assert np.abs(scaled(window.prior.h - expected[0], units)).max() < 1e-8
    allowed = 1e-8 * max(np.abs(scaled(expected[1], units)).max(), 1.0)
    assert np.abs(scaled(window.prior.b - expected[1], units)).max() < allowed
    assert window.prior.camera == CAMERA
    assert window.camera.in_prior  # from now on its first estimate stays
    assert [f.in_prior for f in window.keyframes] == [False, True, True, True]


def test_points_and_their_keyframe_leave_the_dense_marginal_on_the_camera() -> None:
    window = toy_window()
    hosted = window.points.host == 1
    h, b, k = dense_of(window, hosted)
    rows = np.array([14, 15])
    information = window.brightness().information
    h[rows, rows] += information
    b[rows] += information * window.keyframes[1].affine  # tracked as (0, 0)
    drop = np.arange(len(b)) >= k
    drop[8:16] = True
    expected = schur(h, b, drop)
    absorb_points(window, window.points.take(hosted))
    window.points = window.points.take(~hosted)
    absorb_keyframe(window, 1)
    units = h[np.ix_(~drop, ~drop)]
    assert window.prior.camera == CAMERA and len(window.prior.b) == 26
    assert np.abs(scaled(window.prior.h - expected[0], units)).max() < 1e-8
    allowed = 1e-8 * max(np.abs(scaled(expected[1], units)).max(), 1.0)
    assert np.abs(scaled(window.prior.b - expected[1], units)).max() < allowed


def test_the_prior_is_taken_about_the_first_estimate_of_the_camera() -> None:
    """A second batch of points, added when the camera has moved by x, is b − H x about its base."""
    window = toy_window()
    absorb_points(window, window.points.take(window.points.host == 1))
    first, before = window.camera.base.copy(), window.prior
    x = np.array([2e-3, -1e-3])
    window.camera = window.camera.moved(x)
    some = window.points.host == 2
    dense_h, dense_b, k = dense_of(window, some)
    absorb_points(window, window.points.take(some))
    h, b = window.prior.h - before.h, window.prior.b - before.b
    increments = np.zeros(k)
    increments[-CAMERA:] = x
    _, gradient = schur(dense_h, dense_b, np.arange(len(dense_b)) >= k)
    allowed = 1e-8 * max(np.abs(scaled(gradient, dense_h[:k, :k])).max(), 1.0)
    assert np.abs(scaled(b + h @ increments - gradient, dense_h[:k, :k])).max() < allowed
    np.testing.assert_array_equal(window.camera.base, first)
    np.testing.assert_allclose(window.camera.value, first + x)
    # with the derivatives of the present place, not of the first estimate, it would be another matrix
    own = replace(window.camera, base=window.camera.value, delta=np.zeros(2))
    window.camera = own
    assert np.abs(scaled(dense_of(window, some)[0] - dense_h, dense_h)).max() > 1e-4


def test_the_prior_stands_for_the_points_that_left() -> None:
    """With first estimates at the linearisation point, the minimum over prior and rest is that over all points."""
    window = toy_window()
    every = np.ones(len(window.points), bool)
    h, b, k = dense_of(window, every)
    gone = window.points.host == 1
    absorb_points(window, window.points.take(gone))
    rest_h, rest_b, _ = dense_of(window, ~gone)
    rest = schur(rest_h, rest_b, np.arange(len(rest_b)) >= k)
    whole = schur(h, b, np.arange(len(b)) >= k)
    assert np.abs(scaled(window.prior.h + rest[0] - whole[0], h[:k, :k])).max() < 1e-8
    free = window.free_variables()
    assert free.tolist() == [False] * 8 + [True] * 26
    units = np.sqrt(np.diag(h)[:k][free])
    steps = [
        np.linalg.solve(scaled(m[np.ix_(free, free)], h[:k, :k][np.ix_(free, free)]), -g[free] / units)
        for m, g in ((window.prior.h + rest[0], window.prior.b + rest[1]), whole)
    ]
    np.testing.assert_allclose(steps[0], steps[1], rtol=1e-5, atol=1e-8 * np.abs(steps[1]).max())
