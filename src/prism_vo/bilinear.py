# SPDX-License-Identifier: Apache-2.0
"""Values between pixels, and how they change there, in one go: what the compiler leaves to single numbers.

Patterns of points and samples of micro-images lie anywhere, so that no loop over them vectorises; but what belongs to
one of them lies side by side: two neighbours are one load of two, the four pixels of a row that a value and its
gradient need are one load of four. Gradients are taken where they are read: images that carried them would be three
times as large, and what is read of them comes from memory that is far away.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic

from prism_vo.kernel_cache import settings

LANES = 4  # pixels of a row that a gradient between two of them needs
ROWS = 4
FLOAT_BYTES = 4
FAST = ("fast",)  # multiply and add in one instruction

if settings.DISABLE_JIT:

    def between_values(flat: Any, at: Any, below: Any, x: Any, y: Any) -> Any:
        """See below; where nothing is compiled."""
        upper, lower = (flat[int(at) + row * int(below) :][:2] for row in range(2))
        left, right = upper + y * (lower - upper)
        return left + x * (right - left)

    def with_gradient(flat: Any, at: Any, below: Any, x: Any, y: Any) -> Any:
        """See below; where nothing is compiled."""
        above, upper, lower, under = (flat[int(at) + row * int(below) :][:LANES] for row in range(ROWS))
        line = upper + y * (lower - upper)
        fall = (lower - above) + y * ((under - upper) - (lower - above))
        value, down = (each[1] + x * (each[2] - each[1]) for each in (line, fall))
        along = (line[2] - line[0]) + x * ((line[3] - line[1]) - (line[2] - line[0]))
        return value, flat.dtype.type(0.5) * along, flat.dtype.type(0.5) * down

else:

    @intrinsic
    def between_values(_: Any, flat: Any, at: Any, below: Any, x: Any, y: Any) -> Any:
        """The value at the fractions x, y beyond ``flat[at]`` of a flat (h · w) float32 image.

        ``below``: numbers from there to the pixel below.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data, at, below, x, y = _operands(context, builder, signature, arguments)
            upper, lower = (_load(builder, data, place, 2) for place in (at, builder.add(at, below)))
            both = _towards(builder, upper, lower, _spread(builder, y, 2))
            left, right = (builder.extract_element(both, cgutils.int32_t(n)) for n in range(2))
            return _towards(builder, left, right, x)

        return types.float32(flat, types.uint64, types.uint64, types.float32, types.float32), generate

    @intrinsic
    def with_gradient(_: Any, flat: Any, at: Any, below: Any, x: Any, y: Any) -> Any:
        """(value, d/dx, d/dy) of a flat (h · w) float32 image at the fractions x, y beyond a pixel; ``flat[at]`` is
        the one before that, in the row above it.

        As if the image and its central differences were both interpolated. ``below``: numbers from row to row.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data, at, below, x, y = _operands(context, builder, signature, arguments)
            places = [at]
            for _ in range(1, ROWS):
                places.append(builder.add(places[-1], below))
            above, upper, lower, under = (_load(builder, data, place, LANES) for place in places)
            share = _spread(builder, y, LANES)
            line = _towards(builder, upper, lower, share)
            twice = (builder.fsub(lower, above, flags=FAST), builder.fsub(under, upper, flags=FAST))
            fall = _towards(builder, *twice, share)
            before, here, there, beyond = _numbers(builder, line)
            _, fall_here, fall_there, _ = _numbers(builder, fall)
            along = (builder.fsub(there, before, flags=FAST), builder.fsub(beyond, here, flags=FAST))
            half = cgutils.ir.Constant(cgutils.ir.FloatType(), 0.5)
            parts = [
                _towards(builder, here, there, x),
                builder.fmul(half, _towards(builder, *along, x), flags=FAST),
                builder.fmul(half, _towards(builder, fall_here, fall_there, x), flags=FAST),
            ]
            return context.make_tuple(builder, signature.return_type, parts)

        answer = types.UniTuple(types.float32, 3)
        return answer(flat, types.uint64, types.uint64, types.float32, types.float32), generate

    def _operands(context: Any, builder: Any, signature: Any, arguments: Any) -> tuple[Any, ...]:
        """Where the image begins, and the numbers."""
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data, *arguments[1:]

    def _load(builder: Any, data: Any, place: Any, lanes: int) -> Any:
        """``lanes`` numbers that lie side by side."""
        vector = cgutils.ir.VectorType(cgutils.ir.FloatType(), lanes)
        address = builder.bitcast(builder.gep(data, [place]), vector.as_pointer())
        return builder.load(address, align=FLOAT_BYTES)

    def _numbers(builder: Any, vector: Any) -> list[Any]:
        return [builder.extract_element(vector, cgutils.int32_t(n)) for n in range(LANES)]

    def _spread(builder: Any, number: Any, lanes: int) -> Any:
        """The same number ``lanes`` times."""
        ir = cgutils.ir
        nothing = ir.Constant(ir.VectorType(ir.FloatType(), lanes), ir.Undefined)
        alone = builder.insert_element(nothing, number, cgutils.int32_t(0))
        zeros = ir.Constant(ir.VectorType(cgutils.int32_t, lanes), [0] * lanes)
        return builder.shuffle_vector(alone, nothing, zeros)

    def _towards(builder: Any, one: Any, other: Any, share: Any) -> Any:
        """``one + share · (other − one)``."""
        difference = builder.fsub(other, one, flags=FAST)
        return builder.fadd(one, builder.fmul(share, difference, flags=FAST), flags=FAST)
