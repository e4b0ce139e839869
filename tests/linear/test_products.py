# SPDX-License-Identifier: Apache-2.0
"""The product of a matrix with itself against NumPy's, and its last digits."""

import numpy as np
import pytest

from prism_vo.linear.products import ROWS_AT_ONCE, TILE, add_gram


@pytest.mark.parametrize("columns", [TILE, 3 * TILE, 8 * TILE])
@pytest.mark.parametrize("rows", [0, 1, ROWS_AT_ONCE, ROWS_AT_ONCE + 3, 700])
def test_equals_the_library(rows: int, columns: int) -> None:
    rng = np.random.default_rng(rows + columns)
    a, before = rng.normal(size=(rows, columns)), rng.normal(size=(columns, columns))
    before += before.T
    out = before.copy()
    add_gram(a, out)
    np.testing.assert_allclose(out, before + a.T @ a, rtol=1e-12, atol=1e-11)
    assert np.array_equal(out, out.T)


def test_the_last_digits_do_not_hang_on_where_memory_lies() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(300, 2 * TILE))
    results = []
    for shift in range(9):  # doubles: all that a cache line can begin with
        room = np.empty(a.size + 16)[shift : shift + a.size].reshape(a.shape)
        room[:] = a
        out = np.empty(4 * TILE * TILE + 16)[shift : shift + 4 * TILE * TILE].reshape(2 * TILE, 2 * TILE)
        out[:] = 0.0
        add_gram(room, out)
        results.append(out.tobytes())
    assert len(set(results)) == 1
