# SPDX-License-Identifier: Apache-2.0
"""Unary inverse-virtual-depth residuals."""

from dataclasses import replace

import numpy as np
import pytest
from decoded_frames import CAMERA
from decoded_frames import VIEW as CENTRAL
from smooth_scene import small_view

from prism_vo.optics.focus import FocusModel
from prism_vo.points.records import Candidates, Points
from prism_vo.window.keyframe import BLOCK
from prism_vo.window.state import CameraBlock, State
from prism_vo.window.system import System
from prism_vo.window.terms.depth import DepthResiduals, DepthTerm, information_at_estimate

VIEW = small_view()


def terms(q: np.ndarray, measured: np.ndarray, sigma: float = 0.002, huber: float = 2.5) -> DepthResiduals:
    return DepthTerm(VIEW, measured, np.full(len(q), sigma**-2), 1.0, huber).residuals(q)


def at_estimate(q: np.ndarray, measured: np.ndarray, information: np.ndarray, power: float) -> np.ndarray:
    blank = Points.from_candidates(Candidates.empty(), np.zeros(0), 1)
    points = replace(
        blank, host=np.zeros(len(q), np.int32), inv_depth=q, measured=measured, information=information
    )
    return information_at_estimate(VIEW, points, power)


def test_jacobian_equals_central_differences_from_the_lens_to_beyond_infinity() -> None:
    q = np.array([-0.02, 0.0, 0.05, 0.5, 1.0, 4.0])
    measured = VIEW.inv_virtual_depth(q) + 0.003
    step = 1e-6
    up, down = terms(q + step, measured), terms(q - step, measured)
    numeric = (up.in_sigmas - down.in_sigmas) / (2 * step)
    here = terms(q, measured)
    np.testing.assert_allclose(here.h, numeric**2, rtol=1e-6)  # within the Huber bound the weight is 1
    np.testing.assert_allclose(here.b, numeric * here.in_sigmas, rtol=1e-6)


@pytest.mark.parametrize("offset", [0.001, 0.0049, 0.0051, 0.02, -0.02])
def test_gradient_is_that_of_the_energy_on_both_sides_of_the_huber_bound(offset: float) -> None:
    q = np.array([0.7])
    measured = VIEW.inv_virtual_depth(q) + offset
    step = 1e-7
    numeric = (terms(q + step, measured).energy - terms(q - step, measured).energy) / (2 * step)
    assert 2.0 * terms(q, measured).b[0] == pytest.approx(numeric, rel=1e-5)


def test_energy_and_slope_are_continuous_at_the_huber_bound() -> None:
    q = np.array([0.7])
    rho = VIEW.inv_virtual_depth(q)
    bound = 2.5 * 0.002
    inside, outside = terms(q, rho - bound * (1 - 1e-9)), terms(q, rho - bound * (1 + 1e-9))
    assert inside.energy == pytest.approx(2.5**2, rel=1e-7)
    assert outside.energy == pytest.approx(inside.energy, rel=1e-7)
    assert outside.b[0] == pytest.approx(inside.b[0], rel=1e-7)
    far = terms(q, rho - 10 * bound)
    assert far.energy == pytest.approx(2 * 2.5 * 25.0 - 2.5**2, rel=1e-9)  # linear, not quadratic


def test_points_without_a_measurement_add_nothing() -> None:
    q = np.array([0.5, 0.6])
    out = DepthTerm(VIEW, np.array([np.nan, 0.3]), np.array([0.0, 1e5]), 1.0, 2.5).residuals(q)
    assert out.h[0] == 0.0 and out.b[0] == 0.0 and np.isnan(out.in_sigmas[0])
    only = DepthTerm(VIEW, np.array([0.3]), np.array([1e5]), 1.0, 2.5).residuals(q[1:])
    assert out.energy == only.energy and out.h[1] == only.h[0]


def test_nearer_points_have_smaller_inverse_virtual_depth() -> None:
    """A measurement above the estimate's ρ_v pulls the point away from the camera (towards smaller q)."""
    q = np.array([0.7])
    out = terms(q, VIEW.inv_virtual_depth(q) + 0.001)
    assert -out.b[0] / out.h[0] < 0


def test_a_far_plane_keeps_its_distance_when_certainty_depends_on_the_error() -> None:
    """Matches of one plane whose σ² is that of the slope they found, h⁴: their mean, weighted as the energy does."""
    rng = np.random.default_rng(8)
    q, slope = np.full(40_000, 0.1), 1.0 / (VIEW.w_infinity + VIEW.kappa * 0.1)
    found = slope * (1.0 + 0.01 * rng.normal(size=len(q)))
    measured, reported = (found - VIEW.alpha) / VIEW.beta, 1e4 * (slope / found) ** 4
    truth = float(VIEW.inv_virtual_depth(0.1))
    sure = at_estimate(q, measured, reported, 4.0)
    naive, fair = (float(np.average(measured, weights=w) - truth) for w in (reported, sure))
    expected = -4 * 0.01**2 * slope / VIEW.beta  # −E[error · d ln σ²/dh]
    assert naive == pytest.approx(expected, rel=0.2)
    assert abs(fair) < 0.2 * abs(expected)


def test_information_at_the_estimate_leaves_points_without_depth_alone() -> None:
    out = at_estimate(np.array([0.5, 0.5]), np.array([np.nan, 0.3]), np.array([0.0, 1e5]), 4.0)
    assert out[0] == 0.0 and out[1] > 0


def test_a_residual_is_a_square_wherever_the_focus_has_moved() -> None:
    """Eliminating the point leaves nothing of the focus: one depth cannot tell it from a distance."""
    focus = FocusModel.of(CENTRAL, CAMERA)
    q = np.array([0.6])
    term = DepthTerm(CENTRAL, CENTRAL.inv_virtual_depth(q), np.array([1e6]), 1.0, 2.5, focus)
    camera = CameraBlock(np.zeros(1), np.array([0.02]), in_prior=True)  # 20 µm from the first estimate
    poses = np.eye(4)[None]
    state = State(poses, np.zeros((1, 2)), np.zeros((1, BLOCK)), np.zeros(1, np.bool_), q, camera)
    system = System.at(state)
    term.linearize(state, system)
    h, _ = system.reduced()
    assert abs(h[-1, -1]) < 1e-12 * system.h[-1, -1]
