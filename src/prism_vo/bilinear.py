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
EIGHT = 8  # values that are read at once
FLOAT_BYTES = 4
UINT = types.uint64
FAST = ("fast",)  # multiply and add in one instruction

if settings.DISABLE_JIT:

    def between_values(flat: Any, at: Any, below: Any, x: Any, y: Any) -> Any:
        """See below; where nothing is compiled."""
        upper, lower = (flat[int(at) + row * int(below) :][:2] for row in range(2))
        left, right = upper + y * (lower - upper)
        return left + x * (right - left)

    def between_eight(
        flat: Any, base: Any, below: Any, pixel: Any, work: Any, k: Any, x: Any, y: Any, out: Any
    ) -> None:
        """See below; where nothing is compiled."""
        for n in range(int(k), int(k) + EIGHT):
            at = int(base) + int(pixel[n])
            work[int(out) + n] = between_values(flat, at, below, work[int(x) + n], work[int(y) + n])

    def add_eight(
        sums: Any,
        to: Any,
        flat: Any,
        base: Any,
        below: Any,
        pixel: Any,
        work: Any,
        k: Any,
        x: Any,
        y: Any,
        weight: Any,
    ) -> None:
        """See below; where nothing is compiled."""
        for n in range(EIGHT):
            m = int(k) + n
            at = int(base) + int(pixel[m])
            value = between_values(flat, at, below, work[int(x) + m], work[int(y) + m])
            sums[int(to) + n] += value * work[int(weight) + m]

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
    def between_eight(
        _: Any, flat: Any, base: Any, below: Any, pixel: Any, work: Any, k: Any, x: Any, y: Any, out: Any
    ) -> Any:
        """Eight values at once: ``work[out + k + n]`` is that at the fractions ``work[x + k + n]``, ``work[y + k + n]``
        beyond ``flat[base + pixel[k + n]]``, n < 8.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data, base, below, pixel, work, k, x, y, out = _pointers(context, builder, signature, arguments)
            value = _eight_values(
                builder, data, (base, below), builder.gep(pixel, [k]), _rows(builder, work, k, (x, y))
            )
            _store(builder, value, builder.gep(work, [builder.add(out, k)]))
            return context.get_dummy_value()

        return types.none(flat, UINT, UINT, pixel, work, UINT, UINT, UINT, UINT), generate

    @intrinsic
    def add_eight(
        _: Any,
        sums: Any,
        to: Any,
        flat: Any,
        base: Any,
        below: Any,
        pixel: Any,
        work: Any,
        k: Any,
        x: Any,
        y: Any,
        weight: Any,
    ) -> Any:
        """The values of :func:`between_eight`, times ``work[weight + k + n]``, are added to ``sums[to + n]``, n < 8."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            sums, to, data, base, below, pixel, work, k, x, y, weight = _pointers(
                context, builder, signature, arguments
            )
            x, y, weight = _rows(builder, work, k, (x, y, weight))
            value = _eight_values(builder, data, (base, below), builder.gep(pixel, [k]), (x, y))
            weighted = builder.fmul(value, weight, flags=FAST)
            before = _load(builder, sums, to, EIGHT)
            _store(builder, builder.fadd(before, weighted, flags=FAST), builder.gep(sums, [to]))
            return context.get_dummy_value()

        return types.none(sums, UINT, flat, UINT, UINT, pixel, work, UINT, UINT, UINT, UINT), generate

    def _pointers(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
        """Arrays as pointers to their first number, numbers as they are."""
        return [
            context.make_array(kind)(context, builder, given).data if isinstance(kind, types.Array) else given
            for kind, given in zip(signature.args, arguments)
        ]

    def _rows(builder: Any, work: Any, k: Any, starts: Any) -> list[Any]:
        """Eight numbers each, from the place k of rows that begin at ``starts``."""
        return [_load(builder, work, builder.add(start, k), EIGHT) for start in starts]

    def _eight_values(builder: Any, data: Any, image: Any, pixel: Any, fractions: Any) -> Any:
        """Two loads of two neighbours for each value, turned into the four corners of all eight."""
        ir, (base, below), (x, y) = cgutils.ir, image, fractions
        whole = ir.VectorType(ir.IntType(32), EIGHT)
        at = builder.load(builder.bitcast(pixel, whole.as_pointer()), align=FLOAT_BYTES)
        upper, lower = [], []
        for n in range(EIGHT):
            offset = builder.zext(builder.extract_element(at, cgutils.int32_t(n)), ir.IntType(64))
            place = builder.add(base, offset)
            upper.append(_load(builder, data, place, 2))
            lower.append(_load(builder, data, builder.add(place, below), 2))
        (upper_left, upper_right), (lower_left, lower_right) = (
            _by_twos(builder, row) for row in (upper, lower)
        )
        left, right = (
            _towards(builder, upper_left, lower_left, y),
            _towards(builder, upper_right, lower_right, y),
        )
        return _towards(builder, left, right, x)

    def _by_twos(builder: Any, pairs: list[Any]) -> list[Any]:
        """All first numbers of eight pairs, and all second ones."""
        ir = cgutils.ir
        low, high = (_joined(builder, pairs[half : half + 4]) for half in (0, 4))
        every_second = [[first + 2 * n for n in range(EIGHT)] for first in (0, 1)]
        kind = ir.VectorType(cgutils.int32_t, EIGHT)
        return [builder.shuffle_vector(low, high, ir.Constant(kind, mask)) for mask in every_second]

    def _store(builder: Any, vector: Any, pointer: Any) -> None:
        builder.store(vector, builder.bitcast(pointer, vector.type.as_pointer()), align=FLOAT_BYTES)

    def _joined(builder: Any, vectors: list[Any]) -> Any:
        """Vectors of the same length, one after the other."""
        while len(vectors) > 1:
            lanes = 2 * vectors[0].type.count
            mask = cgutils.ir.Constant(cgutils.ir.VectorType(cgutils.int32_t, lanes), list(range(lanes)))
            vectors = [builder.shuffle_vector(a, b, mask) for a, b in zip(vectors[::2], vectors[1::2])]
        return vectors[0]

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
