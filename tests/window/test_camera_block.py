# SPDX-License-Identifier: Apache-2.0
"""Numbers of the camera in the state: solver, prior and uncertainty against dense normal equations."""

from dataclasses import replace

import numpy as np
import pytest
from camera_terms import CAMERA, TRUTH, RandomTies, ToyDepth, toy_window
from exact_windows import Exact, exact_window
from filled_windows import dense_of, scaled, schur
from random_systems import as_dense, assert_same, dense_marginal, random_system
from still_frames import still_frame

from prism_vo.linear.schur import Step, solve
from prism_vo.types import PosedFrame
from prism_vo.window.energy import WindowEnergy
from prism_vo.window.marginalisation import absorb_keyframe, absorb_points
from prism_vo.window.solver import minimise
from prism_vo.window.state import CameraBlock
from prism_vo.window.system import System
from prism_vo.window.terms.prior import Prior
from prism_vo.window.terms.term import Term
from prism_vo.window.uncertainty import uncertainty_of

# what interpolation leaves: the photometric minimum is not exactly at the true depths
TOLERANCE = 1e-3


def with_camera(exact: Exact, base: np.ndarray, in_prior: bool = False) -> Exact:
    """The same window with two numbers of the camera at the end of its state."""
    camera = CameraBlock(base.copy(), np.zeros(CAMERA), in_prior)
    prior = Prior.blank(len(exact.state.delta), CAMERA)
    return replace(exact, prior=prior, state=replace(exact.state, camera=camera))


def toy_depth(exact: Exact, sigma: float = 1e-3) -> ToyDepth:
    """What the true camera says about the true depths."""
    return ToyDepth(exact.points.inv_depth * (1.0 + TRUTH[0]) + TRUTH[1], sigma)


@pytest.mark.parametrize("kind", ["depth", "ties"])
def test_toy_terms_are_right(kind: str) -> None:
    """Their Jacobians against differences along steps of the state: what follows relies on them."""
    exact = with_camera(exact_window(count=3, each=5), np.array([0.3, -0.2]))
    term = toy_depth(exact) if kind == "depth" else RandomTies.random(0, 3, 15)
    state, count = exact.state, len(exact.points)
    analytic = term.rows(state).jacobian
    step = 1e-6
    for column in range(state.size + count):
        d = np.zeros(state.size + count)
        d[column] = step
        up = term.rows(state.moved(Step(d[: state.size], d[state.size :], ok=True))).residuals
        down = term.rows(state.moved(Step(-d[: state.size], -d[state.size :], ok=True))).residuals
        numeric = (up - down) / (2 * step)
        np.testing.assert_allclose(analytic[:, column], numeric, atol=1e-6 * np.abs(analytic).max())


def linearized(exact: Exact, *terms: Term) -> System:
    others = (exact.brightness, *terms)
    return WindowEnergy(exact.photometric, others).linearize(exact.state)


@pytest.mark.parametrize("damping", [0.0, 1e-3, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_step_equals_the_dense_solution(seed: int, damping: float) -> None:
    exact = with_camera(exact_window(count=3, each=12), np.array([0.1, -0.05]))
    terms = RandomTies.random(seed, 3, 36), toy_depth(exact)
    step = solve(linearized(exact, *terms), exact.free, damping)
    # photometry and brightness as they were without a camera, the toy terms as one dense Jacobian
    plain = replace(exact.state, camera=CameraBlock())
    h_plain, b_plain = as_dense(WindowEnergy(exact.photometric, (exact.brightness,)).linearize(plain))
    size, count = exact.state.size, len(exact.points)
    old = np.delete(np.arange(size + count), [size - 2, size - 1])
    h, b = np.zeros((size + count, size + count)), np.zeros(size + count)
    h[np.ix_(old, old)], b[old] = h_plain, b_plain
    for term in terms:
        rows = term.rows(exact.state)
        h, b = h + rows.jacobian.T @ rows.jacobian, b + rows.jacobian.T @ rows.residuals
    on = np.concatenate([exact.free, np.ones(count, bool)])
    on[size:] = np.diag(h)[size:] > 0
    dense = np.linalg.solve((h + damping * np.diag(np.diag(h)))[np.ix_(on, on)], -b[on])
    ours = np.concatenate([step.variables, step.points])
    root = np.sqrt(np.diag(h)[on])
    assert step.ok and not ours[~on].any()
    assert np.abs((ours[on] - dense) * root).max() < 1e-8 * np.abs(dense * root).max()
    assert np.abs(ours[size - CAMERA : size]).min() > 0  # the camera does move


@pytest.mark.parametrize("in_prior", [False, True])
def test_minimising_moves_the_camera_to_the_truth(in_prior: bool) -> None:
    """Depth terms hold the scale, so that a factor of the camera's inverse depths is one of the camera."""
    exact = with_camera(exact_window(count=4, each=80), TRUTH + np.array([0.1, -0.08]), in_prior)
    rng = np.random.default_rng(0)
    q = exact.state.inv_depth * np.exp(rng.normal(0, 0.02, len(exact.points)))
    start = replace(exact.state, inv_depth=q)
    energy = exact.energy
    energy = replace(energy, others=(*energy.others, toy_depth(exact)))
    solved = minimise(energy, start, exact.free, 30, scale_is_gauge=False)
    camera = solved.state.camera
    assert solved.healthy and (np.diff(solved.energies) < 0).all()
    np.testing.assert_allclose(camera.value, TRUTH, atol=TOLERANCE)
    if in_prior:
        np.testing.assert_array_equal(camera.base, start.camera.base)
        np.testing.assert_allclose(solved.state.increments[-CAMERA:], camera.delta)
    else:
        assert not camera.delta.any()


def test_a_camera_that_may_not_move_stays() -> None:
    exact = with_camera(exact_window(count=3, each=40), TRUTH + 0.05)
    energy = replace(exact.energy, others=(*exact.energy.others, toy_depth(exact)))
    free = exact.free.copy()
    free[-CAMERA:] = False
    solved = minimise(energy, exact.state, free, 10, scale_is_gauge=False)
    np.testing.assert_array_equal(solved.state.camera.value, exact.state.camera.value)


def test_the_camera_moves_by_its_increment_and_keeps_its_first_estimate_in_the_prior() -> None:
    step = np.array([0.3, -0.1])
    free, held = CameraBlock(TRUTH, np.zeros(2)), CameraBlock(TRUTH, np.zeros(2), in_prior=True)
    np.testing.assert_allclose(free.moved(step).value, TRUTH + step)
    np.testing.assert_allclose(held.moved(step).value, TRUTH + step)
    np.testing.assert_allclose(free.moved(step).base, TRUTH + step)
    np.testing.assert_array_equal(held.moved(step).base, TRUTH)
    np.testing.assert_array_equal(held.moved(step).moved(step).delta, 2 * step)
    assert held.moved(step).in_prior and not free.moved(step).in_prior
    state = replace(exact_window(count=3, each=5).state, camera=held)
    variables = np.concatenate([np.zeros(24), step])
    moved = state.moved(Step(variables, np.zeros(15), ok=True))
    assert moved.size == 26 and moved.camera_rows == slice(24, None)
    np.testing.assert_allclose(moved.increments, variables)
    np.testing.assert_array_equal(
        moved.base_pose, state.moved(Step(0 * variables, np.zeros(15), True)).base_pose
    )


# --- the prior ------------------------------------------------------------------------------------------------


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


# --- uncertainty, and the whole window ---------------------------------------------------------------------------


def test_uncertainty_is_the_dense_covariance_of_the_camera() -> None:
    window = toy_window()
    h, _, k = dense_of(window, np.ones(len(window.points), bool))
    free = window.free_variables()
    reduced, _ = schur(h, np.zeros(len(h)), np.arange(len(h)) >= k)
    found = uncertainty_of(window.keyframes, reduced, free, 4.0)
    assert found is not None and found.camera.shape == (CAMERA, CAMERA)
    on = np.concatenate([free, np.ones(len(h) - k, bool)])
    root = np.sqrt(np.diag(h)[on])
    dense = 4.0 * np.linalg.inv(h[np.ix_(on, on)] / np.outer(root, root)) / np.outer(root, root)
    rows = np.flatnonzero(np.flatnonzero(on) >= k - CAMERA)[:CAMERA]
    np.testing.assert_allclose(found.camera, dense[np.ix_(rows, rows)], rtol=1e-5)
    assert (np.linalg.eigvalsh(found.camera) > 0).all()
    np.testing.assert_allclose(found.poses[1], dense[:6, :6], rtol=1e-5, atol=1e-9 * dense[:6, :6].max())
    assert not found.poses[0].any()
    # a camera that is fixed has no uncertainty
    fixed = free.copy()
    fixed[-CAMERA:] = False
    held = uncertainty_of(window.keyframes, reduced, fixed, 4.0)
    assert held is not None and not held.camera.any()


def test_a_window_estimates_its_camera_as_keyframes_come_in() -> None:
    """Insert, activate, minimise, marginalise: the camera ends at the truth, its rows at the end of the prior."""
    window, exact = toy_window(4, wrong=0.05), exact_window(count=5, each=40)
    frame = still_frame(exact.view, 4, exact.photometric.images[4])
    window.config = replace(window.config, keyframes=4, iterations=20)
    change = window.add(PosedFrame(frame, exact.state.base_pose[4], np.zeros(2)))
    assert change.report.healthy and len(change.report.left) == 1
    assert len(window.keyframes) == 4 and len(window.prior.b) == 34 and window.prior.camera == CAMERA
    assert window.prior.involves_camera and window.camera.in_prior
    np.testing.assert_allclose(window.camera.value, TRUTH, atol=2 * TOLERANCE)  # from fewer points
    assert window.state(window.points).size == 34
