# SPDX-License-Identifier: Apache-2.0
"""Systems in mixed units are solved in units of their own diagonal."""

import numpy as np
import pytest
from random_systems import random_system

from prism_vo.linear.scaling import damped_step, inverse, jacobi_scale, scaled


def test_scaled_matrices_have_a_diagonal_of_ones_and_keep_unknown_variables_at_zero() -> None:
    system, _, _ = random_system(0)
    h = system.h.copy()
    h[5], h[:, 5] = 0.0, 0.0
    scale = jacobi_scale(h)
    assert scale[5] == 0.0
    expected = np.ones(24)
    expected[5] = 0.0
    np.testing.assert_allclose(np.diag(scaled(h, scale)), expected, rtol=1e-12)


@pytest.mark.parametrize("damping", [0.0, 1e-3, 10.0])
def test_a_damped_step_solves_the_damped_system(damping: float) -> None:
    system, _, _ = random_system(1)
    step = damped_step(system.h, system.b, damping)
    assert step is not None
    dense = np.linalg.solve(system.h + damping * np.diag(np.diag(system.h)), -system.b)
    root = np.sqrt(np.diag(system.h))
    assert np.abs((step - dense) * root).max() < 1e-8 * np.abs(dense * root).max()


def test_more_damping_gives_a_shorter_step_down_the_gradient() -> None:
    system, _, _ = random_system(2)
    root = np.sqrt(np.diag(system.h))
    steps = [damped_step(system.h, system.b, damping) for damping in (0.0, 0.1, 1.0, 100.0)]
    assert all(step is not None and step @ system.b < 0 for step in steps)
    assert (np.diff([np.linalg.norm(step * root) for step in steps]) < 0).all()


def test_variables_without_information_do_not_move_when_damped() -> None:
    system, _, _ = random_system(3)
    h, b = system.h.copy(), system.b.copy()
    h[5], h[:, 5], b[5] = 0.0, 0.0, 0.0
    step = damped_step(h, b, 1e-4)
    assert step is not None and step[5] == 0.0 and np.delete(step, 5).all()


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_gradient_that_is_not_finite_gives_no_step(wrong: float) -> None:
    system, _, _ = random_system(4)
    b = system.b.copy()
    b[2] = wrong
    assert damped_step(system.h, b, 1e-3) is None


def test_a_matrix_without_numbers_gives_no_step() -> None:
    system, _, _ = random_system(4)
    h = system.h.copy()
    h[3, 4] = h[4, 3] = np.nan
    assert damped_step(h, system.b, 1e-3) is None


def test_inverse_of_mixed_units_and_none_for_singular_matrices() -> None:
    system, _, _ = random_system(5)
    found = inverse(system.h)
    assert found is not None
    root = np.sqrt(np.diag(system.h))
    np.testing.assert_allclose(scaled(found, root) @ scaled(system.h, 1 / root), np.eye(24), atol=1e-8)
    singular = system.h.copy()
    singular[7], singular[:, 7] = 0.0, 0.0
    assert inverse(singular) is None
