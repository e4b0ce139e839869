# SPDX-License-Identifier: Apache-2.0
"""``AᵀA`` of a long, narrow matrix: registers hold a tile of the product while all rows go by.

Written out in vectors, so that sums have one order: a compiler that vectorises by itself decides by where memory lies
whether it may, and a library's product does the like.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic

from prism_vo.compiled import njit
from prism_vo.kernel_cache import settings

TILE = 8  # columns of a tile, and what the number of columns must be a multiple of
HIGH = 4  # rows of a tile
LANES = 4  # doubles of a register
DOUBLE_BYTES = 8
ROWS_AT_ONCE = 64  # of the matrix: they stay in the fastest cache until all tiles have seen them
FAST = ("contract",)  # multiply and add in one instruction; the order of sums stays

if settings.DISABLE_JIT:

    def _add_tile(a: Any, first: int, last: int, columns: int, row: int, column: int, out: Any) -> None:
        """See below; where nothing is compiled."""
        part = a.reshape(-1, columns)[first:last]
        tile = part[:, row : row + HIGH].T @ part[:, column : column + TILE]
        out.reshape(columns, columns)[row : row + HIGH, column : column + TILE] += tile

else:

    @intrinsic
    def _add_tile(
        _: Any, a: Any, first: Any, last: Any, columns: Any, row: Any, column: Any, out: Any
    ) -> Any:
        """The share of rows [first, last) of a flat (N, columns) matrix in a tile of the product → ``out``."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            ir = cgutils.ir
            given, first, last, columns, row, column, result = arguments
            data = context.make_array(signature.args[0])(context, builder, given).data
            target = context.make_array(signature.args[-1])(context, builder, result).data
            vector, zero = ir.VectorType(ir.DoubleType(), LANES), cgutils.int32_t(0)
            spread = ir.Constant(ir.VectorType(cgutils.int32_t, LANES), [0] * LANES)

            def pointer(base: Any, *indices: Any) -> Any:
                place = indices[0]
                for index in indices[1:]:
                    place = builder.add(place, index)
                return builder.bitcast(builder.gep(base, [place]), vector.as_pointer())

            size = ir.IntType(64)
            places = [
                (builder.mul(builder.add(row, size(r)), columns), builder.add(column, size(LANES * c)))
                for r in range(HIGH)
                for c in range(TILE // LANES)
            ]
            sums = [cgutils.alloca_once(builder, vector) for _ in places]
            for kept, place in zip(sums, places):
                builder.store(builder.load(pointer(target, *place), align=DOUBLE_BYTES), kept)
            with cgutils.for_range_slice(builder, first, last, size(1)) as (n, _):
                start = builder.mul(n, columns)
                across = [
                    builder.load(pointer(data, start, column, size(LANES * c)), align=DOUBLE_BYTES)
                    for c in range(TILE // LANES)
                ]
                for r in range(HIGH):
                    index = builder.add(start, builder.add(row, size(r)))
                    number = builder.load(builder.gep(data, [index]))
                    alone = builder.insert_element(ir.Constant(vector, ir.Undefined), number, zero)
                    wide = builder.shuffle_vector(alone, alone, spread)
                    for c, values in enumerate(across):
                        kept = sums[r * (TILE // LANES) + c]
                        product = builder.fmul(wide, values, flags=FAST)
                        builder.store(builder.fadd(builder.load(kept), product, flags=FAST), kept)
            for kept, place in zip(sums, places):
                builder.store(builder.load(kept), pointer(target, *place), align=DOUBLE_BYTES)
            return context.get_dummy_value()

        whole = (types.int64,) * 5
        return types.none(a, *whole, out), generate


@njit(nogil=True, cache=True)
def add_gram(a, out):  # type: ignore[no-untyped-def]
    """Adds AᵀA of ``a`` (N, C) to ``out`` (C, C), C a multiple of TILE; both are contiguous."""
    count, columns = a.shape
    flat, product = a.ravel(), out.ravel()
    for first in range(0, count, ROWS_AT_ONCE):
        last = min(first + ROWS_AT_ONCE, count)
        for row in range(0, columns, HIGH):
            for column in range(row // TILE * TILE, columns, TILE):
                _add_tile(flat, first, last, columns, row, column, product)
    for row in range(columns):  # the other half
        for column in range(row // TILE * TILE):
            out[row, column] = out[column, row]
