# SPDX-License-Identifier: Apache-2.0
"""Row bands in ordinary threads: kernels release the interpreter lock, results do not depend on the number."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise


class Bands:
    """Runs ``work(first, last)`` over [0, count) in ``threads`` pieces and waits for all."""

    def __init__(self, threads: int) -> None:
        self.threads = max(1, threads)
        self._pool = ThreadPoolExecutor(self.threads - 1, "decode") if self.threads > 1 else None

    def run(self, count: int, work: Callable[[int, int], None], align: int = 1) -> None:
        """Split evenly, on multiples of ``align``."""
        if self._pool is None or count < 2 * align:
            work(0, count)
            return
        edges = [count * i // self.threads // align * align for i in range(self.threads)] + [count]
        own, *others = [(a, b) for a, b in pairwise(edges) if b > a]
        jobs = [self._pool.submit(work, *band) for band in others]
        work(*own)  # whoever asks does its part: a thread less to wake
        for job in jobs:
            job.result()
