# SPDX-License-Identifier: Apache-2.0
"""Minimisation of a window: accepted energies fall, unhealthy systems and the image border do no harm."""

from dataclasses import replace

import numpy as np
import pytest
from exact_windows import Exact, exact_window

from prism_vo import se3
from prism_vo.linear.schur import Step
from prism_vo.points.pattern import OUTSIDE
from prism_vo.window.solver import minimise, without_scale
from prism_vo.window.terms.prior import Prior


def test_an_unhealthy_window_keeps_its_state() -> None:
    exact = exact_window(count=3, each=20)
    count = 24
    prior = replace(exact.prior, h=-1e12 * np.eye(count))  # no quadratic with a minimum
    solved = replace(exact, prior=prior).minimised(exact.state, 6)
    assert not solved.healthy
    np.testing.assert_array_equal(solved.state.poses, exact.state.poses)
    np.testing.assert_array_equal(solved.state.inv_depth, exact.state.inv_depth)
    prior = replace(prior, h=np.full((count, count), np.nan))
    solved = replace(exact, prior=prior).minimised(exact.state, 6)
    assert not solved.healthy
    np.testing.assert_array_equal(solved.state.base_pose, exact.state.base_pose)


@pytest.mark.parametrize("eta", [0.0, 16.0])
@pytest.mark.parametrize("seed", range(3))
def test_energies_of_accepted_states_fall(seed: int, eta: float) -> None:
    exact = exact_window(count=4, each=40, seed=seed, eta=eta)
    rng = np.random.default_rng(seed)
    poses = exact.state.base_pose.copy()
    for k in range(1, 4):
        poses[k] = se3.exp(rng.normal(0, 5e-3, 6)) @ poses[k]
    q = exact.state.inv_depth * np.exp(rng.normal(0, 0.1, len(exact.state.inv_depth)))
    start = replace(exact.state, base_pose=poses, inv_depth=q)
    solved = exact.minimised(start, 20)
    assert len(solved.energies) >= 4
    assert (
        solved.healthy or eta == 0.0
    )  # without depth the scale is free: refused steps are damped and tried again
    assert (np.diff(solved.energies) < 0).all()
    before, after = exact.energy.linearize(start), exact.energy.linearize(solved.state)
    assert solved.energies[-1] < 0.1 * solved.energies[0]
    assert after.energy < 0.5 * before.energy  # what lies out of view costs the same in both


def test_points_crossing_the_border_do_not_stop_the_solve() -> None:
    """From both sides of a wrong scale the same minimum is reached, although points enter and leave the view."""
    exact = exact_window(count=4, each=80)
    ends = []
    for factor in (1.1, 1 / 1.1):
        poses = exact.state.base_pose.copy()
        poses[:, :3, 3] *= factor
        start = replace(exact.state, base_pose=poses, inv_depth=exact.state.inv_depth / factor)
        solved = exact.minimised(start, 30)
        ends.append(np.array([se3.inverse(p)[:3, 3] for p in solved.state.poses]))
        assert (solved.system.photometric.status == OUTSIDE).any()
    assert np.abs(ends[0] - ends[1]).max() < 1e-4


def scale_step(exact: Exact, amount: float) -> Step:
    """A small change of scale about the first keyframe: distances times (1 + amount)."""
    variables = np.zeros(exact.state.size)
    for k, pose in enumerate(exact.state.poses):
        variables[8 * k : 8 * k + 3] = amount * pose[:3, 3]  # the first keyframe is the origin
    return Step(variables, -amount * exact.state.inv_depth, ok=True)


def test_a_change_of_scale_is_taken_out_of_a_step_as_the_points_see_it() -> None:
    exact = exact_window(count=4, each=40, eta=0.0)
    system = exact.energy.linearize(exact.state)
    np.testing.assert_allclose(exact.state.poses[0], np.eye(4))
    alone = without_scale(scale_step(exact, 0.01), exact.state, system, exact.free)
    np.testing.assert_allclose(alone.variables, 0.0, atol=1e-15)
    np.testing.assert_allclose(alone.points, 0.0, atol=1e-15)
    # any other step keeps the rest: what is left has no scale, and what was taken is nothing but scale
    rng = np.random.default_rng(0)
    step = Step(1e-3 * rng.normal(size=exact.state.size) * exact.free, 1e-3 * rng.normal(size=160), ok=True)
    left = without_scale(step, exact.state, system, exact.free)
    along = system.h_points * exact.state.inv_depth
    assert abs(along @ left.points) < 1e-9 * abs(along @ step.points)
    amount = (along @ step.points) / (along @ exact.state.inv_depth)
    taken = scale_step(exact, -amount)
    np.testing.assert_allclose(step.variables - left.variables, taken.variables, atol=1e-15)
    np.testing.assert_allclose(step.points - left.points, taken.points, atol=1e-15)


def test_a_step_without_points_has_no_scale_to_take_out() -> None:
    exact = exact_window(count=4, each=40, eta=0.0)
    system = exact.energy.linearize(exact.state)
    system.h_points[:] = 0.0
    step = scale_step(exact, 0.01)
    assert without_scale(step, exact.state, system, exact.free) is step


def test_a_gauge_of_scale_holds_the_median_depth_where_a_free_one_drifts() -> None:
    """A prior that pulls the path towards another scale: with the gauge, the points do not follow it."""
    exact = exact_window(count=4, each=80, eta=0.0)
    pull = scale_step(exact, 1.0).variables
    stiff = np.diag(np.where(pull != 0, 1e9, 0.0))
    prior = Prior(stiff, -stiff @ (0.05 * pull))
    held = replace(exact.state, in_prior=np.array([False, True, True, True]))
    energy = replace(exact, prior=prior).energy
    change = {}
    for gauge in (False, True):
        solved = minimise(energy, held, exact.free, 20, scale_is_gauge=gauge)
        change[gauge] = abs(np.median(solved.state.inv_depth / exact.state.inv_depth) - 1.0)
    assert change[True] < 0.2 * change[False] and change[False] > 0.02


def test_a_solve_reaches_the_scale_although_little_energy_hangs_on_it() -> None:
    """Depth terms that weigh little beside the images: damping must not hold back what all poses and depths share."""
    exact, factor = exact_window(count=4, each=80, eta=0.01), 1.003
    right = exact.minimised(exact.state, 60).state.poses[3]
    poses = exact.state.base_pose.copy()
    poses[:, :3, 3] *= factor
    start = replace(exact.state, base_pose=poses, inv_depth=exact.state.inv_depth / factor)
    found = exact.minimised(start, 6).state.poses[3]
    left = np.linalg.norm(found[:3, 3]) / np.linalg.norm(right[:3, 3]) - 1
    assert abs(left) < 0.05 * (factor - 1)  # half of it while every step was damped by 1e-4
