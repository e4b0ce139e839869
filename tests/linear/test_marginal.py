# SPDX-License-Identifier: Apache-2.0
"""Marginalisation of some variables against the dense Schur complement."""

import numpy as np
import pytest
from random_systems import assert_same, dense_marginal, random_system

from prism_vo.linear.marginal import marginalise


@pytest.mark.parametrize("seed", range(5))
def test_some_variables_equal_the_dense_marginal(seed: int) -> None:
    _, h, b = random_system(seed, points=10)
    drop = np.random.default_rng(seed).random(len(b)) < 0.4
    assert 0 < drop.sum() < len(b)
    ours = marginalise(h, b, drop)
    assert_same(ours, dense_marginal(h, b, drop), np.diag(h)[~drop])
    np.testing.assert_allclose(ours[0], ours[0].T, rtol=1e-12)


def test_variables_without_information_do_no_harm() -> None:
    """A keyframe's b that nothing has measured must not turn the prior into infinities."""
    system, _, _ = random_system(2)
    h, b = system.h.copy(), system.b.copy()
    h[15], h[:, 15], b[15] = 0.0, 0.0, 0.0
    drop = np.zeros(24, bool)
    drop[8:16] = True
    reduced, gradient = marginalise(h, b, drop)
    known = np.delete(np.arange(24), 15)
    expected = dense_marginal(h[np.ix_(known, known)], b[known], drop[known])
    assert_same((reduced, gradient), expected, np.diag(h)[~drop])


def test_variables_that_stay_without_information_stay_unknown() -> None:
    system, _, _ = random_system(3)
    h, b = system.h.copy(), system.b.copy()
    h[2], h[:, 2], b[2] = 0.0, 0.0, 0.0
    drop = np.arange(24) >= 16
    reduced, gradient = marginalise(h, b, drop)
    assert not reduced[2].any() and not reduced[:, 2].any() and gradient[2] == 0.0
    assert np.isfinite(reduced).all() and np.isfinite(gradient).all()
