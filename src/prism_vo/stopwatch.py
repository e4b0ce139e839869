# SPDX-License-Identifier: Apache-2.0
"""Wall time of the stages of one frame."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """``with watch("track"): …`` adds to that stage's time until :meth:`restart`."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def restart(self) -> None:
        """Forget all stages."""
        self._seconds = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[stage] = self._seconds.get(stage, 0.0) + time.perf_counter() - start

    def seconds(self) -> dict[str, float]:
        """Stage → seconds since the restart."""
        return dict(self._seconds)
