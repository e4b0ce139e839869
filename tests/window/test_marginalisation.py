# SPDX-License-Identifier: Apache-2.0
"""What a window keeps of points and keyframes that leave: held against the dense marginal of the same terms."""

from dataclasses import replace

import numpy as np
import pytest
from exact_windows import exact_window
from filled_windows import dense_of, fill, scaled, schur

from prism_vo.config import WindowConfig
from prism_vo.points.pattern import IN
from prism_vo.window.contents import WindowModel
from prism_vo.window.marginalisation import absorb_keyframe, absorb_points
from prism_vo.window.window import Window

MODELS = {"full": WindowModel(), "plenoptic": WindowModel(depth_terms=False, scale_is_gauge=True)}


def filled(count: int = 4, variant: str = "full") -> Window:
    window = Window(exact_window(count=count, each=40).view, WindowConfig(), MODELS[variant])
    fill(window, count)
    return window


def leave(window: Window, position: int) -> int:
    """A keyframe and its points go; returns how many points were worth keeping."""
    finished = window._marginalise_points([position])
    absorb_keyframe(window, position)
    return 0 if finished is None else len(finished.u)


@pytest.mark.parametrize("variant", ["full", "plenoptic"])
def test_prior_of_a_keyframe_that_leaves_is_the_dense_marginal(variant: str) -> None:
    """Its points, depth terms included, then the keyframe itself with its brightness term."""
    window = filled(variant=variant)
    leaving = 1
    hosted = window.points.host == leaving
    worthy = hosted & ((window.points.residual_status == IN).sum(1) >= 1)
    worthy &= window.points.curvature > window.least_curvature()
    h, b, k = dense_of(window, worthy)
    assert worthy.sum() > 20
    information = window.brightness().information
    rows = 8 * leaving + np.array([6, 7])
    h[rows, rows] += information
    b[rows] += information * (window.keyframes[leaving].affine - window.keyframes[leaving].tracked_affine)
    drop = np.arange(len(b)) >= k
    drop[8 * leaving : 8 * leaving + 8] = True
    expected_h, expected_b = schur(h, b, drop)

    assert leave(window, leaving) == worthy.sum()
    units = h[:k, :k][~drop[:k]][:, ~drop[:k]]
    assert np.abs(scaled(window.prior.h - expected_h, units)).max() < 1e-8
    allowed = 1e-8 * max(np.abs(scaled(expected_b, units)).max(), 1.0)
    assert np.abs(scaled(window.prior.b - expected_b, units)).max() < allowed
    assert [k.id for k in window.keyframes] == [0, 2, 3]
    assert [k.in_prior for k in window.keyframes] == [False, True, True]  # the gauge is fixed
    assert window.points.residual_status.shape[1] == 3


def scale_stiffness(window: Window) -> float:
    """Second derivative of the prior along a change of scale about the fixed keyframe, per unit of log scale."""
    size = len(window.prior.b)
    direction = np.zeros(size)
    for k, keyframe in enumerate(window.keyframes):
        direction[8 * k : 8 * k + 3] = keyframe.pose[:3, 3]
    return float(direction @ window.prior.h @ direction)


def test_marginalised_depth_terms_hold_the_scale_and_photometry_alone_does_not() -> None:
    stiffness = {}
    for variant in ("full", "plenoptic"):
        window = filled(variant=variant)
        leave(window, 1)
        stiffness[variant] = scale_stiffness(window)
    assert stiffness["full"] > 100 * abs(stiffness["plenoptic"])


def test_prior_is_taken_about_the_first_estimates_of_its_keyframes() -> None:
    """A second batch of points, added when a keyframe of the prior has moved by x, is b − H x about its base."""
    window = filled()
    leave(window, 1)
    before = window.prior
    x = np.random.default_rng(1).normal(0, 1e-4, 8)
    window.keyframes[1] = replace(window.keyframes[1], delta=x)
    some = window.points.host == 1
    only = window.points.take(some)
    absorb_points(window, only)
    h, b = window.prior.h - before.h, window.prior.b - before.b
    # its gradient at the present state must be the gradient of the marginalised terms there
    state = np.zeros(24)
    state[8:16] = x
    probe = filled()
    probe.keyframes, probe.points, probe.prior = window.keyframes, window.points, before
    dense_h, dense_b, k = dense_of(probe, some)
    _, gradient = schur(dense_h, dense_b, np.arange(len(dense_b)) >= k)
    assert np.abs(scaled(b + h @ state - gradient, dense_h[:k, :k])).max() < 1e-8 * max(
        np.abs(scaled(gradient, dense_h[:k, :k])).max(), 1.0
    )


def test_points_too_poor_to_keep_are_dropped_without_a_trace() -> None:
    window = filled()
    window.points = replace(window.points, inlier_count=np.zeros(len(window.points), np.int32))
    assert window._marginalise_points([1]) is None
    assert not window.prior.h.any()
    assert not (window.points.host == 1).any()
