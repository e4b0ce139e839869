# SPDX-License-Identifier: Apache-2.0
"""Numbers of the camera in the state: solver and uncertainty against dense normal equations, and a whole window."""

from dataclasses import replace

import numpy as np
import pytest
from camera_terms import CAMERA, TRUTH, RandomTies, ToyDepth, toy_window
from exact_windows import Exact, exact_window
from filled_windows import dense_of, schur
from random_systems import as_dense
from still_frames import still_frame

from prism_vo.linear.schur import Step, solve
from prism_vo.types import PosedFrame
from prism_vo.window.energy import WindowEnergy
from prism_vo.window.solver import minimise
from prism_vo.window.state import CameraBlock
from prism_vo.window.system import System
from prism_vo.window.terms.prior import Prior
from prism_vo.window.terms.term import Term
from prism_vo.window.uncertainty import OPTIMISM, uncertainty_of

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


def test_uncertainty_is_the_dense_covariance_of_the_camera() -> None:
    window = toy_window()
    h, _, k = dense_of(window, np.ones(len(window.points), bool))
    free = window.free_variables()
    reduced, _ = schur(h, np.zeros(len(h)), np.arange(len(h)) >= k)
    found = uncertainty_of(window.keyframes, reduced, free, 4.0 / OPTIMISM**2)
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
