# SPDX-License-Identifier: Apache-2.0
"""The depth term's kernels against the formulas, written for arrays."""

import numpy as np
from smooth_scene import small_view

from prism_vo.window.terms.depth import DepthTerm

VIEW = small_view()


def test_residuals_are_the_formulas() -> None:
    rng = np.random.default_rng(0)
    q = rng.uniform(0.1, 2.0, 200)
    sigma = rng.uniform(1e-3, 1e-2, 200)
    measured = VIEW.inv_virtual_depth(q) + 2.0 * sigma * rng.normal(size=200)
    known = rng.random(200) < 0.8
    information = np.where(known, sigma**-2, 0.0)
    found = DepthTerm(VIEW, np.where(known, measured, np.nan), information, 3.0, 1.5).residuals(q)
    residual = np.where(known, (VIEW.inv_virtual_depth(q) - measured) / sigma, 0.0)
    slope = np.where(known, VIEW.inv_virtual_depth_slope(q) / sigma, 0.0)
    robust = np.minimum(1.0, 1.5 / np.maximum(np.abs(residual), 1e-9))
    assert (robust < 1).any() and (robust == 1).any()
    np.testing.assert_allclose(found.robust, robust)
    np.testing.assert_allclose(found.in_sigmas, np.where(known, residual, np.nan))
    np.testing.assert_allclose(found.h, robust * slope**2)
    np.testing.assert_allclose(found.b, robust * slope * residual)
    np.testing.assert_allclose(found.energy, (robust * residual**2 * (2.0 - robust)).sum())
