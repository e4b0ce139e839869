# SPDX-License-Identifier: Apache-2.0
"""Points with the keyframes held: each goes to the minimum of its own energy, and occluded ones are refused."""

from dataclasses import replace

import numpy as np
from exact_windows import exact_window

from prism_vo.window.depths import solve_depths


def test_each_depth_goes_to_the_minimum_of_its_own_energy() -> None:
    exact = exact_window(count=4, each=80, eta=0.0)
    rng = np.random.default_rng(1)
    wrong = exact.state.inv_depth * np.exp(rng.normal(0, 0.03, len(exact.state.inv_depth)))
    exact = exact.with_points(replace(exact.points, inv_depth=wrong))
    solved = solve_depths(exact.photometric, exact.depth, exact.state, 5, 1.0)
    before = np.abs(wrong / exact.state.inv_depth - 1)
    after = np.abs(solved.points.inv_depth / exact.state.inv_depth - 1)
    assert solved.good.mean() > 0.8
    assert np.median(after[solved.good]) < 0.2 * np.median(before)  # what interpolation leaves
    own, start = (
        exact.photometric_alone(replace(exact.state, inv_depth=q)).photometric.energy.sum(1)
        for q in (solved.points.inv_depth, wrong)
    )
    assert (own <= start + 1e-2).mean() > 0.99


def test_occluded_points_are_refused() -> None:
    exact = exact_window(count=4, each=80, eta=0.0)
    color = exact.points.color.copy()
    color[:50] += 90.0
    exact = exact.with_points(replace(exact.points, color=color))
    solved = solve_depths(exact.photometric, exact.depth, exact.state, 3, 1.0)
    assert not solved.good[:50].any()
    assert solved.good[50:].mean() > 0.7
