# SPDX-License-Identifier: Apache-2.0
"""Candidates on their way into the energy: spread over the image."""

import numpy as np

from prism_vo.points.activation import _spread as spread


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
    filled_y, filled_x = np.nonzero(occupied)
    across = np.abs(x[free].astype(int)[:, None] - filled_x)
    down = np.abs(y[free].astype(int)[:, None] - filled_y)
    assert (np.maximum(across, down).min(1) <= 5).all()
