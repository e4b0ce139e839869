# SPDX-License-Identifier: Apache-2.0
"""One timed workload."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    """A name and a function without arguments; its first call compiles and is not counted."""

    name: str
    run: Callable[[], object]
    repeats: int = 7

    def milliseconds(self) -> float:
        """The least time of several runs: what the machine can do when nothing else wants it."""
        self.run()
        times = []
        for _ in range(self.repeats):
            start = time.perf_counter()
            self.run()
            times.append(time.perf_counter() - start)
        return 1e3 * min(times)
