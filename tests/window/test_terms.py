# SPDX-License-Identifier: Apache-2.0
"""Every term's normal equations are half the derivatives of its own energy along steps of the state.

The photometric term has tests of its own (test_photometric_residuals.py): its Jacobian is a documented approximation.
"""

from dataclasses import replace

import numpy as np
import pytest
from exact_windows import Exact, exact_window
from random_systems import random_system

from prism_vo.linear.schur import Step
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.focus import FocusModel
from prism_vo.simulate import preset_camera
from prism_vo.window.energy import WindowEnergy
from prism_vo.window.state import CameraBlock, State
from prism_vo.window.system import System
from prism_vo.window.terms.brightness import BrightnessTerm
from prism_vo.window.terms.depth import DepthTerm
from prism_vo.window.terms.focus import FocusPrior
from prism_vo.window.terms.prior import Prior
from prism_vo.window.terms.term import Term

CAMERA = 2


def somewhere(in_prior: list[bool], camera_in_prior: bool = False) -> tuple[Exact, State]:
    """A state away from the minimum of everything, with camera numbers; keyframes of the prior have moved."""
    exact = exact_window(count=3, each=5)
    rng = np.random.default_rng(3)
    moved = np.array(in_prior)
    camera = CameraBlock(rng.normal(size=CAMERA), camera_in_prior * rng.normal(size=CAMERA), camera_in_prior)
    state = replace(
        exact.state,
        base_affine=rng.normal(0, [0.1, 2.0], (3, 2)),
        delta=moved[:, None] * rng.normal(size=(3, 8)) * 1e-2,
        in_prior=moved,
        inv_depth=exact.state.inv_depth * np.exp(rng.normal(0, 0.05, 15)),
        camera=camera,
    )
    return exact, state


def linearized(term: Term, state: State) -> System:
    """The term alone."""
    system = System.at(state)
    system.energy = term.linearize(state, system)
    return system


def numeric_gradient(term: Term, state: State, step: float) -> tuple[np.ndarray, np.ndarray]:
    """dE along each variable that is no point, and along each point, by central differences."""
    out = []
    count = len(state.inv_depth)
    for column in range(state.size + count):
        both = []
        for sign in (1.0, -1.0):
            d = np.zeros(state.size + count)
            d[column] = sign * step
            moved = state.moved(Step(d[: state.size], d[state.size :], ok=True))
            both.append(linearized(term, moved).energy)
        out.append((both[0] - both[1]) / (2 * step))
    return np.array(out[: state.size]), np.array(out[state.size :])


def assert_gradient(term: Term, state: State, step: float, rel: float = 1e-5) -> System:
    here = linearized(term, state)
    variables, points = numeric_gradient(term, state, step)
    scale = max(np.abs(variables).max(), np.abs(points).max())
    assert scale > 1e-3, "a term without a gradient proves nothing"
    np.testing.assert_allclose(2.0 * here.b, variables, rtol=rel, atol=1e-7 * scale)
    np.testing.assert_allclose(2.0 * here.b_points, points, rtol=rel, atol=1e-7 * scale)
    return here


BLOCKS = [[False] * 3, [False, True, True]]


@pytest.mark.parametrize("in_prior", BLOCKS)
def test_brightness(in_prior: list[bool]) -> None:
    _, state = somewhere(in_prior)
    term = BrightnessTerm(np.random.default_rng(4).normal(0, [0.1, 2.0], (3, 2)), np.array([6400.0, 1.8]))
    here = assert_gradient(term, state, 1e-4)
    expected = np.zeros(state.size)
    for k in range(3):
        expected[8 * k + 6 : 8 * k + 8] = [6400.0, 1.8]
    np.testing.assert_array_equal(here.h, np.diag(expected))
    assert not here.h_cross.any() and not here.h_points.any()
    centred = replace(term, centre=state.affine)
    assert linearized(centred, state).energy == 0.0 and not linearized(centred, state).b.any()


@pytest.mark.parametrize("in_prior", BLOCKS)
def test_depth(in_prior: list[bool]) -> None:
    exact, state = somewhere(in_prior)
    information = np.full(15, 1e6)
    information[::4] = 0.0
    measured = np.where(information > 0, exact.points.measured, np.nan)
    term = DepthTerm(exact.view, measured, information, 16.0, 2.5)
    sizes = np.abs(term.residuals(state.inv_depth).in_sigmas[information > 0])
    assert (sizes > 2.5).any() and (sizes < 2.5).any()  # both sides of the Huber bound
    here = assert_gradient(term, state, 1e-8)
    assert not here.h.any() and not here.b.any() and not here.h_cross.any()
    assert not here.h_points[::4].any() and not here.b_points[::4].any()
    doubled = linearized(replace(term, weight=32.0), state)
    assert doubled.energy == pytest.approx(2 * here.energy)
    np.testing.assert_allclose(doubled.h_points, 2 * here.h_points)


@pytest.mark.parametrize("camera_in_prior", [False, True])
def test_depth_and_the_focus(camera_in_prior: bool) -> None:
    """Gradient in points and focus; the focus's own rows are those of its first estimate."""
    exact, state = somewhere([False] * 3, camera_in_prior=camera_in_prior)
    focus = FocusModel(exact.view, PlenopticCamera.from_calibration(preset_camera("mini")))
    value = np.array([2e-3])
    state = replace(state, camera=CameraBlock(value, np.zeros(1), camera_in_prior))
    term = DepthTerm(exact.view, exact.points.measured, np.full(15, 1e6), 16.0, 2.5, focus)
    here = assert_gradient(term, state, 1e-8)
    row = state.camera_rows.start
    assert here.h[row, row] > 0 and here.h_cross[:, row].all()
    prior = FocusPrior(3.0e5)
    assert_gradient(prior, state, 1e-8)
    assert linearized(prior, state).energy == pytest.approx(3.0e5 * 2e-3**2)


def test_prior_in_the_variables_it_speaks_of() -> None:
    """All keyframes and the camera take part, so that each of their steps is one of the quadratic's variables."""
    _, state = somewhere([True] * 3, camera_in_prior=True)
    system, _, _ = random_system(11, camera=CAMERA)
    term = Prior(system.h, system.b, CAMERA)
    here = assert_gradient(term, state, 1e-3)
    np.testing.assert_array_equal(here.h, system.h)
    x = state.increments
    assert here.energy == pytest.approx(x @ system.h @ x + 2 * system.b @ x)
    camera = replace(state.camera, delta=np.zeros(CAMERA))
    assert linearized(term, replace(state, delta=0 * state.delta, camera=camera)).energy == 0.0


def test_prior_does_not_feel_steps_of_what_it_does_not_speak_of() -> None:
    _, state = somewhere([False, True, True])
    system, _, _ = random_system(12, frames=2)
    h, b = np.zeros((state.size, state.size)), np.zeros(state.size)
    h[8:24, 8:24], b[8:24] = system.h, system.b
    here = assert_gradient(Prior(h, b, CAMERA), state, 1e-3)
    assert not here.b[:8].any() and not here.b[24:].any()


def test_terms_add_up() -> None:
    """The window's energy and its equations are the sums of those of its terms, whatever their order."""
    exact, state = somewhere([False, True, True])
    system, _, _ = random_system(13, camera=CAMERA)
    depth, prior = exact.depth, Prior(system.h, system.b, CAMERA)
    assert depth is not None
    others = (depth, exact.brightness, prior)
    whole = WindowEnergy(exact.photometric, others).linearize(state)
    parts = [linearized(term, state) for term in (exact.photometric, *others)]
    assert whole.energy == pytest.approx(sum(part.energy for part in parts))
    for name in ("h", "b", "h_cross", "h_points", "b_points"):
        np.testing.assert_allclose(getattr(whole, name), sum(getattr(part, name) for part in parts))
    turned = WindowEnergy(exact.photometric, others[::-1]).linearize(state)
    assert turned.energy == pytest.approx(whole.energy)
    np.testing.assert_array_equal(whole.photometric.status, parts[0].photometric.status)


def test_window_energy_holds_the_prior_and_the_brightness_terms() -> None:
    """Without points, E is prior + brightness: its numeric gradient must be twice b for every frame variable."""
    exact = exact_window(count=3, each=1)
    system, _, _ = random_system(11)
    rng = np.random.default_rng(3)
    none = exact.with_points(exact.points.take(np.zeros(3, bool)))
    energy = replace(
        none,
        prior=Prior(system.h, system.b),
        brightness=replace(exact.brightness, centre=rng.normal(0, 0.1, (3, 2))),
    ).energy
    x = rng.normal(size=(3, 8)) * 1e-2
    state = replace(exact.state, delta=x, in_prior=np.ones(3, bool), inv_depth=np.zeros(0))
    here = energy.linearize(state)
    for c in range(24):
        d = np.zeros(24)
        d[c] = 1e-3
        up = energy.linearize(replace(state, delta=x + d.reshape(3, 8))).energy
        down = energy.linearize(replace(state, delta=x - d.reshape(3, 8))).energy
        assert 2.0 * here.b[c] == pytest.approx((up - down) / 2e-3, rel=1e-5)
