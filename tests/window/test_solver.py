# SPDX-License-Identifier: Apache-2.0
"""Minimisation of a window: accepted energies fall, unhealthy systems and the image border do no harm."""

from dataclasses import replace

import numpy as np
import pytest
from exact_windows import exact_window

from prism_vo import se3
from prism_vo.points.pattern import OUTSIDE


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
