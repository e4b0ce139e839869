# SPDX-License-Identifier: Apache-2.0
"""Intensity and gradients between four pixels in one go: what the compiler leaves to single numbers.

An image is kept as intensity, d/dx, d/dy of pixel after pixel, so that the three numbers of a pixel, and one more that
is not used, are one load of four. Patterns of points lie anywhere, so that no loop over them vectorises.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic

from prism_vo.kernel_cache import settings

CHANNELS = 3  # of a pixel
LANES = 4
FLOAT_BYTES = 4

if settings.DISABLE_JIT:

    def between_pixels(flat: Any, at: Any, below: Any, x: Any, y: Any) -> Any:
        """See below; where nothing is compiled."""
        w11 = x * y
        w10, w01, w00 = y - w11, x - w11, 1 - x - y + w11
        a, d = int(at), int(at + below)
        upper = w00 * flat[a : a + 3] + w01 * flat[a + 3 : a + 6]
        return tuple(upper + (w10 * flat[d : d + 3] + w11 * flat[d + 3 : d + 6]))

else:

    @intrinsic
    def between_pixels(_: Any, flat: Any, at: Any, below: Any, x: Any, y: Any) -> Any:
        """(value, d/dx, d/dy) at the fractions x, y beyond the pixel ``flat[at]`` of a flat (h · w · 3) float32 image.

        ``below``: numbers from there to the pixel below. The pixel to the right of that must not be the last one.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            ir, number = cgutils.ir, cgutils.intp_t
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            at, below, x, y = arguments[1:]
            four = ir.VectorType(ir.FloatType(), LANES)

            def pixel(place: Any) -> Any:
                address = builder.bitcast(builder.gep(data, [place]), four.as_pointer())
                return builder.load(address, align=FLOAT_BYTES)

            def spread(weight: Any) -> Any:
                alone = builder.insert_element(ir.Constant(four, ir.Undefined), weight, cgutils.int32_t(0))
                zeros = ir.Constant(ir.VectorType(cgutils.int32_t, LANES), [0] * LANES)
                return builder.shuffle_vector(alone, ir.Constant(four, ir.Undefined), zeros)

            def fast(operation: Any, *operands: Any) -> Any:
                return operation(*operands, flags=["fast"])

            right, lower = builder.add(at, number(CHANNELS)), builder.add(at, below)
            lower_right = builder.add(lower, number(CHANNELS))
            along, down = spread(x), spread(y)
            rows = []
            for left, other in ((at, right), (lower, lower_right)):
                first = pixel(left)
                difference = fast(builder.fsub, pixel(other), first)
                rows.append(fast(builder.fadd, first, fast(builder.fmul, along, difference)))
            difference = fast(builder.fsub, rows[1], rows[0])
            found = fast(builder.fadd, rows[0], fast(builder.fmul, down, difference))
            parts = [builder.extract_element(found, cgutils.int32_t(n)) for n in range(CHANNELS)]
            return context.make_tuple(builder, signature.return_type, parts)

        answer = types.UniTuple(types.float32, CHANNELS)
        return answer(flat, types.uint64, types.uint64, types.float32, types.float32), generate
