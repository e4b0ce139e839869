# SPDX-License-Identifier: Apache-2.0
"""Values between four pixels in one go: what the compiler leaves to single numbers.

Patterns of points and samples of micro-images lie anywhere, so that no loop over them vectorises; but what belongs to
one of them lies side by side. Of an image kept as intensity, d/dx, d/dy of pixel after pixel the three numbers of a
pixel, and one more that is not used, are one load of four; of one that has a single number a pixel, two neighbours are
one load of two.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic

from prism_vo.kernel_cache import settings

CHANNELS = 3  # of a pixel
LANES = 4
FLOAT_BYTES = 4
FAST = ("fast",)  # multiply and add in one instruction

if settings.DISABLE_JIT:

    def between_pixels(flat: Any, at: Any, below: Any, x: Any, y: Any) -> Any:
        """See below; where nothing is compiled."""
        return tuple(_slowly(flat, int(at), int(below), CHANNELS, x, y))

    def between_values(flat: Any, at: Any, below: Any, x: Any, y: Any) -> Any:
        """See below; where nothing is compiled."""
        return _slowly(flat, int(at), int(below), 1, x, y)[0]

    def _slowly(flat: Any, at: int, below: int, step: int, x: Any, y: Any) -> Any:
        left, right = (
            flat[a : a + step] + y * (flat[a + below :][:step] - flat[a : a + step]) for a in (at, at + step)
        )
        return left + x * (right - left)

else:

    @intrinsic
    def between_pixels(_: Any, flat: Any, at: Any, below: Any, x: Any, y: Any) -> Any:
        """(value, d/dx, d/dy) at the fractions x, y beyond the pixel ``flat[at]`` of a flat (h · w · 3) float32 image.

        ``below``: numbers from there to the pixel below. The pixel to the right of that must not be the last one.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data, at, below, x, y = _operands(context, builder, signature, arguments)
            right = builder.add(at, cgutils.intp_t(CHANNELS))
            left, other = (_down(builder, data, place, below, y, LANES) for place in (at, right))
            found = _towards(builder, left, other, _spread(builder, x, LANES))
            parts = [builder.extract_element(found, cgutils.int32_t(n)) for n in range(CHANNELS)]
            return context.make_tuple(builder, signature.return_type, parts)

        answer = types.UniTuple(types.float32, CHANNELS)
        return answer(flat, types.uint64, types.uint64, types.float32, types.float32), generate

    @intrinsic
    def between_values(_: Any, flat: Any, at: Any, below: Any, x: Any, y: Any) -> Any:
        """The value at the fractions x, y beyond ``flat[at]`` of a flat (h · w) float32 image."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data, at, below, x, y = _operands(context, builder, signature, arguments)
            both = _down(builder, data, at, below, y, 2)
            left, right = (builder.extract_element(both, cgutils.int32_t(n)) for n in range(2))
            return _towards(builder, left, right, x)

        return types.float32(flat, types.uint64, types.uint64, types.float32, types.float32), generate

    def _operands(context: Any, builder: Any, signature: Any, arguments: Any) -> tuple[Any, ...]:
        """Where the image begins, and the numbers."""
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data, *arguments[1:]

    def _down(builder: Any, data: Any, at: Any, below: Any, y: Any, lanes: int) -> Any:
        """``lanes`` numbers that lie side by side, between two rows."""
        upper, lower = (_load(builder, data, place, lanes) for place in (at, builder.add(at, below)))
        return _towards(builder, upper, lower, _spread(builder, y, lanes))

    def _load(builder: Any, data: Any, place: Any, lanes: int) -> Any:
        vector = cgutils.ir.VectorType(cgutils.ir.FloatType(), lanes)
        address = builder.bitcast(builder.gep(data, [place]), vector.as_pointer())
        return builder.load(address, align=FLOAT_BYTES)

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
