# SPDX-License-Identifier: Apache-2.0
"""Ask for memory before it is needed: patterns of points lie anywhere in images that no fast cache holds."""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic

from prism_vo.kernel_cache import settings

TO_READ, KEEP, DATA = 0, 3, 1  # arguments of LLVM's prefetch
LINE = 16  # numbers of float32 that memory hands over at once

if settings.DISABLE_JIT:

    def prefetch(array: Any, index: Any) -> None:
        """Nothing to do where nothing is compiled."""

else:

    @intrinsic
    def prefetch(_: Any, array: Any, index: Any) -> Any:
        """``array[index]`` of a flat array will be read soon; an index beyond it does no harm."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            ir, byte, number = cgutils.ir, cgutils.voidptr_t, cgutils.int32_t
            kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            instruction = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
            place = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
            builder.call(instruction, [place, *(ir.Constant(number, n) for n in (TO_READ, KEEP, DATA))])
            return context.get_dummy_value()

        return types.void(array, types.uint64), generate
