# SPDX-License-Identifier: Apache-2.0
"""How a state moves: what the prior speaks of keeps its first estimate, the rest takes it along."""

from dataclasses import replace

import numpy as np
from exact_windows import exact_window

from prism_vo import se3
from prism_vo.linear.schur import Step
from prism_vo.window.state import LARGEST_DEPTH_FACTOR, LEAST_DEPTH_SCALE


def test_keyframes_of_the_prior_keep_their_base_and_free_ones_take_it_along() -> None:
    exact = exact_window(count=3, each=5)
    state = replace(exact.state, in_prior=np.array([False, True, False]))
    rng = np.random.default_rng(4)
    step = Step(rng.normal(size=24) * 1e-2, np.zeros(15), ok=True)
    moved = state.moved(step)
    np.testing.assert_array_equal(moved.base_pose[1], state.base_pose[1])
    np.testing.assert_allclose(moved.delta[1], step.variables[8:16])
    assert not moved.delta[[0, 2]].any()
    for k in range(3):
        np.testing.assert_allclose(
            moved.poses[k], se3.exp(step.variables[8 * k : 8 * k + 6]) @ state.poses[k], atol=1e-12
        )
        np.testing.assert_allclose(moved.affine[k], step.variables[8 * k + 6 : 8 * k + 8])


def test_a_point_jumps_neither_beyond_infinity_nor_to_the_lens() -> None:
    exact = exact_window(count=3, each=5)
    q = exact.state.inv_depth.copy()
    q[:2] = 0.01  # at 100 m: may move as far as one at 20 m
    state = replace(exact.state, inv_depth=q)
    limit = LARGEST_DEPTH_FACTOR * np.maximum(q, LEAST_DEPTH_SCALE)
    for sign in (-1.0, 1.0):
        moved = state.moved(Step(np.zeros(24), np.full(15, sign * 100.0), ok=True))
        np.testing.assert_allclose(moved.inv_depth, q + sign * limit)
    small = np.full(15, 1e-3)
    np.testing.assert_allclose(state.moved(Step(np.zeros(24), small, ok=True)).inv_depth, q + small)
