# SPDX-License-Identifier: Apache-2.0
"""Stacks of motions against the functions for single ones, and the Jacobian against differences."""

from __future__ import annotations

import numpy as np
import pytest

from prism_vo import se3
from prism_vo.places.tangents import adjoints, brackets, exps, inverses, left_jacobians, logs


@pytest.fixture(params=[1e-9, 1e-3, 0.04, 0.06, 0.5, 2.5])
def xi(request: pytest.FixtureRequest) -> np.ndarray:
    rng = np.random.default_rng(4)
    out = rng.normal(size=(20, 6))
    out[:, 3:] *= request.param / np.linalg.norm(out[:, 3:], axis=1, keepdims=True)
    return out


def test_same_as_for_single_motions(xi: np.ndarray) -> None:
    t = exps(xi)
    np.testing.assert_allclose(t, [se3.exp(x) for x in xi], atol=1e-12)
    np.testing.assert_allclose(logs(t), [se3.log(m) for m in t], atol=1e-9)
    np.testing.assert_allclose(inverses(t), [se3.inverse(m) for m in t], atol=1e-12)
    np.testing.assert_allclose(adjoints(t), [se3.adjoint(m) for m in t], atol=1e-12)


def test_bracket_is_the_derivative_of_the_adjoint() -> None:
    x = np.random.default_rng(1).normal(size=(1, 6))
    step = 1e-6
    numeric = (adjoints(exps(step * x)) - adjoints(exps(-step * x))) / (2 * step)
    np.testing.assert_allclose(brackets(x), numeric, atol=1e-8)


def test_left_jacobian_against_differences(xi: np.ndarray) -> None:
    step = 1e-6
    jacobian = left_jacobians(xi)
    base = inverses(exps(xi))
    for k in range(6):
        delta = np.zeros((1, 6))
        delta[0, k] = step
        forward, backward = logs(exps(xi + delta) @ base), logs(exps(xi - delta) @ base)
        np.testing.assert_allclose(jacobian[:, :, k], (forward - backward) / (2 * step), atol=2e-8)
