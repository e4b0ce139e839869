# SPDX-License-Identifier: Apache-2.0
"""The median that compiles fast is NumPy's."""

import numpy as np
import pytest

from prism_vo.tracking.brightness_kernels import _median


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 100, 1001])
@pytest.mark.parametrize("values", [2, 1000])
def test_it_is_the_median(count: int, values: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(20):
        numbers = rng.integers(0, values, count) / 3.0
        assert _median(numbers.copy()) == np.median(numbers)


def test_of_nothing_it_is_nothing() -> None:
    assert np.isnan(_median(np.empty(0)))
