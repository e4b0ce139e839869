# SPDX-License-Identifier: Apache-2.0
"""Quantiles as NumPy gives them."""

import numpy as np
import pytest

from prism_vo.linear.quantile import quantile


@pytest.mark.parametrize("count", [1, 2, 7, 100, 1001])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.7, 1.0])
def test_is_that_of_numpy(count: int, share: float) -> None:
    values = np.random.default_rng(count).normal(size=count)
    before = values.copy()
    assert quantile(values, share) == pytest.approx(float(np.quantile(values, share)), abs=1e-12)
    np.testing.assert_array_equal(values, before)
