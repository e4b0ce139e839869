# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of NumPy and SciPy on one thread.

Matrices have tens of rows here. Threads of BLAS wait for the next product in a loop that takes a core from the kernels
beside it (a third of the processor time of a run at 2048², and a quarter of its speed), and their number decides in
which order sums are made: with one, results do not depend on the machine's cores.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

import scipy.linalg  # noqa: F401  (its BLAS can only be limited once it is loaded)
from threadpoolctl import ThreadpoolController

Given = ParamSpec("Given")
Result = TypeVar("Result")


@cache
def _libraries() -> ThreadpoolController:
    """Found once: looking for them takes 10 ms, limiting them 0.03."""
    return ThreadpoolController().select(user_api="blas")


def one_thread(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """While the function runs, BLAS has one thread; afterwards what it had before."""

    @wraps(function)
    def limited(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        with _libraries().limit(limits=1):
            return function(*args, **kwargs)

    return limited
