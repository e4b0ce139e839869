# SPDX-License-Identifier: Apache-2.0
"""Elimination of the points against the dense solution, and refusal of unhealthy systems."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from windows import exact_window, random_system

from prism_vo import se3
from prism_vo.mapping.energy import minimise
from prism_vo.mapping.residuals import OUTSIDE
from prism_vo.mapping.schur import NormalEquations, solve


@given(st.integers(0, 200), st.sampled_from([0.0, 1e-4, 0.1]))
def test_schur_solution_equals_the_dense_solution(seed: int, damping: float) -> None:
    system, h, b = random_system(seed)
    k = len(system.b_frames)
    free = np.ones(k, bool)
    free[:8] = False
    on = np.concatenate([free, np.ones(len(system.b_points), bool)])
    dense = np.linalg.solve((h + damping * np.diag(np.diag(h)))[np.ix_(on, on)], -b[on])
    step = solve(system, free, damping)
    assert step.ok
    ours = np.concatenate([step.frames[free], step.points])
    # in units of each variable's own standard deviation
    root = np.sqrt(np.diag(h)[on])
    assert np.abs((ours - dense) * root).max() < 1e-8 * np.abs(dense * root).max()
    assert not step.frames[:8].any()


def test_reduced_system_is_the_schur_complement() -> None:
    system, h, b = random_system(3)
    k = len(system.b_frames)
    inverse = np.linalg.inv(h[k:, k:])
    reduced, gradient = system.reduced()
    np.testing.assert_allclose(
        reduced, h[:k, :k] - h[:k, k:] @ inverse @ h[k:, :k], rtol=0, atol=1e-8 * h.max()
    )
    np.testing.assert_allclose(gradient, b[:k] - h[:k, k:] @ inverse @ b[k:], atol=1e-8 * np.abs(b).max())


def test_points_without_curvature_stay_and_take_no_part() -> None:
    system, _, _ = random_system(4)
    h_points, cross, b_points = system.h_points.copy(), system.h_cross.copy(), system.b_points.copy()
    h_points[:5], cross[:5], b_points[:5] = 0.0, 0.0, 0.0
    step = solve(
        replace(system, h_points=h_points, h_cross=cross, b_points=b_points), np.ones(24, bool), 1e-3
    )
    assert step.ok and not step.points[:5].any() and step.points[5:].all()


def broken(kind: str) -> NormalEquations:
    system, _, _ = random_system(5)
    h, b, points = system.h_frames.copy(), system.b_frames.copy(), system.b_points.copy()
    if kind == "nan in H":
        h[9, 10] = h[10, 9] = np.nan
    elif kind == "nan in b":
        b[12] = np.nan
    elif kind == "nan in a point":
        points[3] = np.nan
    elif kind == "infinite":
        h[9, 9] = np.inf
    else:
        h[9, 9] = -h[9, 9]
    return replace(system, h_frames=h, b_frames=b, b_points=points)


@pytest.mark.parametrize(
    "kind", ["nan in H", "nan in b", "nan in a point", "infinite", "not positive definite"]
)
def test_unhealthy_systems_are_refused(kind: str) -> None:
    assert not solve(broken(kind), np.ones(24, bool), 1e-4).ok


def test_an_unhealthy_window_keeps_its_state() -> None:
    exact = exact_window(count=3, each=20)
    count = 24
    prior = replace(exact.energy.prior, h=-1e12 * np.eye(count))  # no quadratic with a minimum
    solved = minimise(replace(exact.energy, prior=prior), exact.state, exact.free, 6)
    assert not solved.healthy
    np.testing.assert_array_equal(solved.state.poses, exact.state.poses)
    np.testing.assert_array_equal(solved.state.inv_depth, exact.state.inv_depth)
    prior = replace(prior, h=np.full((count, count), np.nan))
    solved = minimise(replace(exact.energy, prior=prior), exact.state, exact.free, 6)
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
    solved = minimise(exact.energy, start, exact.free, 20)
    assert len(solved.accepted) >= 4
    assert (
        solved.healthy or eta == 0.0
    )  # without depth the scale is free: refused steps are damped and tried again
    assert (np.diff(solved.accepted) < 0).all()
    before, after = exact.energy.linearize(start), exact.energy.linearize(solved.state)
    assert solved.accepted[-1] < 0.1 * solved.accepted[0]
    assert after.system.energy < 0.5 * before.system.energy  # what lies out of view costs the gate in both


def test_points_crossing_the_border_do_not_stop_the_solve() -> None:
    """From both sides of a wrong scale the same minimum is reached, although points enter and leave the view."""
    exact = exact_window(count=4, each=80)
    ends = []
    for factor in (1.1, 1 / 1.1):
        poses = exact.state.base_pose.copy()
        poses[:, :3, 3] *= factor
        start = replace(exact.state, base_pose=poses, inv_depth=exact.state.inv_depth / factor)
        solved = minimise(exact.energy, start, exact.free, 30)
        ends.append(np.array([se3.inverse(p)[:3, 3] for p in solved.state.poses]))
        assert (solved.last.state == OUTSIDE).any()
    assert np.abs(ends[0] - ends[1]).max() < 1e-4
