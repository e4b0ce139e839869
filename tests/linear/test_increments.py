# SPDX-License-Identifier: Apache-2.0
"""Compiled increments against the exponential map that is written out."""

import numpy as np
import pytest

from prism_vo import se3
from prism_vo.linear.increments import incremented


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-4, 0.0999, 0.1001, 1.0, 3.0])
def test_increments_are_those_of_the_exponential_map(size: float) -> None:
    rng = np.random.default_rng(3)
    steps = rng.normal(size=(20, 6))
    steps[:, 3:] *= size / np.linalg.norm(steps[:, 3:], axis=1, keepdims=True)
    poses = np.array([se3.exp(rng.normal(size=6)) for _ in steps])
    expected = np.array([se3.exp(step) @ pose for step, pose in zip(steps, poses)])
    np.testing.assert_allclose(
        incremented(poses, steps), expected, rtol=0, atol=1e-14 * (1 + np.abs(expected).max())
    )
