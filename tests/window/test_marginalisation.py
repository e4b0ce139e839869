# SPDX-License-Identifier: Apache-2.0
"""What a window keeps of points and keyframes that leave: held against the dense marginal of the same terms."""

from dataclasses import replace

import numpy as np
import pytest
from windows import exact_window

from prism_vo import se3
from prism_vo.config import Config
from prism_vo.mapping.energy import State
from prism_vo.mapping.keyframe import Keyframe
from prism_vo.mapping.residuals import IN, OUTSIDE
from prism_vo.mapping.window import FIRST_GATE, Window


def filled(count: int = 4, variant: str = "full") -> Window:
    """A real window with exact keyframes and points; the first keyframe is the gauge."""
    exact = exact_window(count=count, each=40)
    window = Window(exact.view, replace(Config(), variant=variant))
    rng = np.random.default_rng(0)
    for k in range(count):
        pose = exact.state.base_pose[k]
        if k:
            pose = se3.exp(rng.normal(0, 2e-4, 6)) @ pose  # not the exact minimum: gradients must not vanish
        keyframe = Keyframe(
            k, k, float(k), 1.0, k, pose, rng.normal(0, [1e-3, 0.1]), np.zeros(2), k == 0, FIRST_GATE
        )
        window.insert(keyframe, exact.energy.images[k])
    points = exact.energy.points
    q = points.inv_depth * np.exp(rng.normal(0, 2e-3, len(points)))
    linear = replace(exact.energy, points=replace(points, inv_depth=q)).linearize(
        State.of(window.keyframes, replace(points, inv_depth=q))
    )
    window.points = replace(
        points, inv_depth=q, state=linear.state, good=np.full(len(points), 5, np.int32),
        curvature=linear.system.h_points,
    ).take((linear.state != OUTSIDE).all(1))  # fmt: skip
    return window


def dense_of(window: Window, which: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Full system (frames, then points) of the terms of some points: photometric inliers and depth."""
    points = window.points.take(which)
    only = replace(points, state=np.where(points.state == IN, points.state, -1).astype(np.int8))
    nothing = replace(window.prior, h=0 * window.prior.h, b=0 * window.prior.b)
    energy = replace(window._energy(only), affine_information=np.zeros(2), prior=nothing)
    system = energy.linearize(State.of(window.keyframes, only)).system
    k = len(system.b_frames)
    h = np.zeros((k + len(only),) * 2)
    h[:k, :k], h[k:, :k], h[:k, k:] = system.h_frames, system.h_cross, system.h_cross.T
    h[np.arange(k, len(h)), np.arange(k, len(h))] = system.h_points
    return h, np.concatenate([system.b_frames, system.b_points]), k


def schur(h: np.ndarray, b: np.ndarray, drop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    keep = ~drop
    solve = np.linalg.solve(h[np.ix_(drop, drop)], np.column_stack([h[np.ix_(drop, keep)], b[drop]]))
    return h[np.ix_(keep, keep)] - h[np.ix_(keep, drop)] @ solve[:, :-1], b[keep] - h[
        np.ix_(keep, drop)
    ] @ solve[:, -1]


def scaled(a: np.ndarray, h: np.ndarray) -> np.ndarray:
    root = np.sqrt(np.maximum(np.diag(h), 1e-12))
    return a / np.outer(root, root) if a.ndim == 2 else a / root


@pytest.mark.parametrize("variant", ["full", "plenoptic"])
def test_prior_of_a_keyframe_that_leaves_is_the_dense_marginal(variant: str) -> None:
    """Its points, depth terms included, then the keyframe itself with its brightness term."""
    window = filled(variant=variant)
    leaving = 1
    hosted = window.points.host == leaving
    worthy = hosted & ((window.points.state == IN).sum(1) >= 1)
    worthy &= window.points.curvature > window._least_curvature()
    h, b, k = dense_of(window, worthy)
    assert worthy.sum() > 20
    information = window._energy(window.points).affine_information
    rows = 8 * leaving + np.array([6, 7])
    h[rows, rows] += information
    b[rows] += information * (window.keyframes[leaving].affine - window.keyframes[leaving].tracked_affine)
    drop = np.arange(len(b)) >= k
    drop[8 * leaving : 8 * leaving + 8] = True
    expected_h, expected_b = schur(h, b, drop)

    assert window._points_leave([leaving]) == worthy.sum()
    window._keyframe_leaves(leaving)
    assert np.abs(scaled(window.prior.h - expected_h, h[:k, :k][~drop[:k]][:, ~drop[:k]])).max() < 1e-8
    assert np.abs(scaled(window.prior.b - expected_b, h[:k, :k][~drop[:k]][:, ~drop[:k]])).max() < 1e-8 * max(
        np.abs(scaled(expected_b, h[:k, :k][~drop[:k]][:, ~drop[:k]])).max(), 1.0
    )
    assert [k.id for k in window.keyframes] == [0, 2, 3]
    assert [k.tied for k in window.keyframes] == [False, True, True]  # the gauge is fixed, not tied
    assert window.points.state.shape[1] == 3


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
        window._points_leave([1])
        window._keyframe_leaves(1)
        stiffness[variant] = scale_stiffness(window)
    assert stiffness["full"] > 100 * abs(stiffness["plenoptic"])


def test_prior_is_taken_about_the_first_estimates_of_tied_keyframes() -> None:
    """A second batch of points, added when a tied keyframe has moved by x, is b − H x about its base."""
    window = filled()
    window._points_leave([1])
    window._keyframe_leaves(1)
    before = window.prior
    x = np.random.default_rng(1).normal(0, 1e-4, 8)
    window.keyframes[1].x = x
    some = window.points.host == 1
    only = window.points.take(some)
    window._into_prior(only)
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
    window.points = replace(window.points, good=np.zeros(len(window.points), np.int32))
    assert window._points_leave([1]) == 0
    assert not window.prior.h.any()
    assert not (window.points.host == 1).any()
