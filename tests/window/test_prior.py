# SPDX-License-Identifier: Apache-2.0
"""The marginalisation prior against dense marginals."""

import numpy as np
import pytest
from random_systems import assert_same, dense_marginal, random_system

from prism_vo.window.terms.prior import Prior


@pytest.mark.parametrize("seed", range(5))
def test_points_and_then_a_keyframe_equal_the_dense_marginal_of_both(seed: int) -> None:
    system, h, b = random_system(seed)
    k = len(system.b)
    points = np.arange(len(b)) >= k
    h1, b1 = system.reduced()
    assert_same((h1, b1), dense_marginal(h, b, points), np.diag(h)[:k])
    prior = Prior(h1, b1).without(1, fixed=False)
    both = points.copy()
    both[8:16] = True
    assert_same((prior.h, prior.b), dense_marginal(h, b, both), np.diag(h)[~both])


def test_marginal_keeps_the_minimum() -> None:
    """Minimising what is left gives the remaining part of the full minimum."""
    system, h, b = random_system(9)
    k = len(system.b)
    prior = Prior(*system.reduced()).without(2, fixed=False)
    full = np.linalg.solve(h, -b)
    root = np.sqrt(np.diag(h)[:16])
    assert (
        np.abs((np.linalg.solve(prior.h, -prior.b) - full[:16]) * root).max()
        < 1e-8 * np.abs(full[:k] * np.sqrt(np.diag(h)[:k])).max()
    )


def test_a_fixed_keyframe_is_conditioned_on() -> None:
    system, _, _ = random_system(6)
    prior = Prior(system.h, system.b)
    out = prior.without(0, fixed=True)
    np.testing.assert_array_equal(out.h, prior.h[8:, 8:])
    x = np.random.default_rng(0).normal(size=16) * 1e-3
    assert out.energy(x) == pytest.approx(prior.energy(np.concatenate([np.zeros(8), x])), rel=1e-12)
    free = prior.without(0, fixed=False)
    assert np.trace(free.h) < np.trace(out.h)  # conditioning knows more than marginalising


def test_energy_and_gradient_agree() -> None:
    system, _, _ = random_system(7)
    prior = Prior(system.h, system.b)
    rng = np.random.default_rng(1)
    x = rng.normal(size=24) * 1e-3
    for c in range(24):
        d = np.zeros(24)
        d[c] = 1e-4
        numeric = (prior.energy(x + d) - prior.energy(x - d)) / 2e-4
        assert 2.0 * prior.gradient(x)[c] == pytest.approx(numeric, rel=1e-5)


def test_a_new_keyframe_changes_nothing_and_takes_no_part() -> None:
    system, _, _ = random_system(8)
    prior = Prior(system.h, system.b).with_new_keyframe()
    x = np.random.default_rng(2).normal(size=32)
    assert prior.energy(x) == pytest.approx(Prior(system.h, system.b).energy(x[:24]), rel=1e-12)
    assert [prior.involves(k) for k in range(4)] == [True, True, True, False]
