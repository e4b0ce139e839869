# SPDX-License-Identifier: Apache-2.0
"""Elimination of the points against the dense solution, and refusal of unhealthy systems."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_systems import random_system

from prism_vo.linear.schur import NormalEquations, solve


@given(st.integers(0, 200), st.sampled_from([0.0, 1e-4, 0.1]))
def test_schur_solution_equals_the_dense_solution(seed: int, damping: float) -> None:
    system, h, b = random_system(seed)
    k = len(system.b)
    free = np.ones(k, bool)
    free[:8] = False
    on = np.concatenate([free, np.ones(len(system.b_points), bool)])
    dense = np.linalg.solve((h + damping * np.diag(np.diag(h)))[np.ix_(on, on)], -b[on])
    step = solve(system, free, damping)
    assert step.ok
    ours = np.concatenate([step.variables[free], step.points])
    # in units of each variable's own standard deviation
    root = np.sqrt(np.diag(h)[on])
    assert np.abs((ours - dense) * root).max() < 1e-8 * np.abs(dense * root).max()
    assert not step.variables[:8].any()


def test_reduced_system_is_the_schur_complement() -> None:
    system, h, b = random_system(3)
    k = len(system.b)
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
    h, b, points = system.h.copy(), system.b.copy(), system.b_points.copy()
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
    return replace(system, h=h, b=b, b_points=points)


@pytest.mark.parametrize(
    "kind", ["nan in H", "nan in b", "nan in a point", "infinite", "not positive definite"]
)
def test_unhealthy_systems_are_refused(kind: str) -> None:
    assert not solve(broken(kind), np.ones(24, bool), 1e-4).ok
