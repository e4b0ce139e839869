# SPDX-License-Identifier: Apache-2.0
"""Candidates on their way into the energy: spread over the image, and each at the minimum of its own energy."""

from dataclasses import replace

import numpy as np
from windows import exact_window

from prism_vo.mapping.activate import solve_depths
from prism_vo.mapping.frontier import _spread as spread


def test_points_keep_their_distance() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 120, 2000), rng.uniform(0, 90, 2000)
    occupied = np.zeros((90, 120), np.bool_)
    occupied[40:50, 50:60] = True
    before = occupied.copy()
    chosen = np.zeros(2000, np.bool_)
    spread(occupied, x, y, 5, chosen)
    px, py = x[chosen].astype(int), y[chosen].astype(int)
    assert chosen.sum() > 100
    gap = np.maximum(np.abs(px[:, None] - px[None]), np.abs(py[:, None] - py[None]))
    np.fill_diagonal(gap, 99)
    assert gap.min() > 5
    taken_y, taken_x = np.nonzero(before)
    assert np.maximum(np.abs(px[:, None] - taken_x), np.abs(py[:, None] - taken_y)).min() > 5
    # and no room is left
    free = ~chosen & (x >= 0)
    distance = np.maximum(np.abs(x[free].astype(int)[:, None] - np.nonzero(occupied)[1]),
                          np.abs(y[free].astype(int)[:, None] - np.nonzero(occupied)[0])).min(1)  # fmt: skip
    assert (distance <= 5).all()


def test_each_depth_goes_to_the_minimum_of_its_own_energy() -> None:
    exact = exact_window(count=4, each=80, eta=0.0)
    rng = np.random.default_rng(1)
    wrong = exact.state.inv_depth * np.exp(rng.normal(0, 0.03, len(exact.state.inv_depth)))
    energy = replace(exact.energy, points=replace(exact.energy.points, inv_depth=wrong))
    solved = solve_depths(energy, exact.state, 5, 1.0)
    before = np.abs(wrong / exact.state.inv_depth - 1)
    after = np.abs(solved.points.inv_depth / exact.state.inv_depth - 1)
    assert solved.good.mean() > 0.8
    assert np.median(after[solved.good]) < 0.2 * np.median(before)  # what interpolation leaves
    own = energy.linearize(replace(exact.state, inv_depth=solved.points.inv_depth))
    start = energy.linearize(replace(exact.state, inv_depth=wrong))
    assert (own.energies.sum(1) <= start.energies.sum(1) + 1e-2).mean() > 0.99


def test_occluded_points_are_refused() -> None:
    exact = exact_window(count=4, each=80, eta=0.0)
    color = exact.energy.points.color.copy()
    color[:50] += 90.0
    energy = replace(exact.energy, points=replace(exact.energy.points, color=color))
    solved = solve_depths(energy, exact.state, 3, 1.0)
    assert not solved.good[:50].any()
    assert solved.good[50:].mean() > 0.7
