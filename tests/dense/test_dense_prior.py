# SPDX-License-Identifier: Apache-2.0
"""Plenoptic depth on the grid: weighted means where it is thinned, gaps filled from around them with a larger σ."""

from __future__ import annotations

import numpy as np

from prism_vo.dense.prior import FILLED_SIGMA, prior_of
from prism_vo.dense.records import Grid
from prism_vo.optics.view import FocusedView

VIEW = FocusedView("central", 33, 21, 60.0, 16.0, 10.0, 0.0, 2.0, 0.5, 0.02, 0.98)


def test_measured_depths_stay_and_gaps_are_filled() -> None:
    q = np.tile(np.linspace(1.0, 2.0, 33, dtype=np.float32), (21, 1))
    sigma = np.full(q.shape, 0.1, np.float32)
    q[8:14, 10:18], sigma[8:14, 10:18] = np.nan, np.inf
    prior = prior_of(q, sigma, Grid(VIEW, 1))
    known = np.isfinite(q)
    assert np.allclose(prior.inv_depth[known], q[known], atol=1e-6)
    assert np.allclose(prior.sigma[known], 0.1, rtol=1e-5)
    assert np.allclose(prior.sigma[~known], 0.1 * FILLED_SIGMA, rtol=1e-3)
    assert np.abs(prior.inv_depth - np.linspace(1, 2, 33)).max() < 0.03  # the gap follows the slope around it


def test_thinned_depths_are_means_weighted_by_information() -> None:
    q, sigma = np.full((21, 33), 2.0, np.float32), np.full((21, 33), 0.1, np.float32)
    q[1::2], sigma[1::2] = 1.0, 1e3  # every other row says nothing
    prior = prior_of(q, sigma, Grid(VIEW, 2))
    assert prior.inv_depth.shape == (11, 17)
    assert np.allclose(prior.inv_depth, 2.0, atol=1e-3)


def test_an_image_without_any_depth_does_not_break_it() -> None:
    nothing = np.full((21, 33), np.nan, np.float32)
    prior = prior_of(nothing, np.full((21, 33), np.inf, np.float32), Grid(VIEW, 1))
    assert np.isfinite(prior.inv_depth).all()
    assert (prior.sigma > 0).all()
