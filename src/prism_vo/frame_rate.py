# SPDX-License-Identifier: Apache-2.0
"""Frames a second of a run, over the frames during which no kernel was compiled or loaded.

Kernels are compiled when they are first needed, which takes longer than hundreds of frames and happens once on a
machine. A mean over all frames would tell how short a recording is, not how fast the program.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from numba.core import event

LEAST_FRAMES = 5  # fewer tell no rate
COMPILING = "numba:compiler_lock"  # held while a kernel is compiled, or loaded from the cache


class FrameRate(NamedTuple):
    """Frames without compiling, and the wall time they took."""

    frames: int
    seconds: float

    @property
    def per_second(self) -> float | None:
        """None: too few frames to tell."""
        return self.frames / self.seconds if self.frames >= LEAST_FRAMES and self.seconds > 0 else None

    def __str__(self) -> str:
        if self.per_second is None:
            return "too few frames to tell"
        return f"{self.per_second:.1f} frames/s, compiling not counted"


class FrameClock(event.Listener):
    """Call :meth:`tick` after each frame, inside :meth:`listening`; events of all threads count."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._compiling = 0  # threads at it right now
        self._disturbed = False  # since the last tick
        self._frames, self._seconds = 0, 0.0
        self._last = time.perf_counter()

    def on_start(self, event: Any) -> None:
        """A kernel begins to be compiled."""
        with self._lock:
            self._compiling += 1
            self._disturbed = True

    def on_end(self, event: Any) -> None:
        """It is ready."""
        with self._lock:
            self._compiling = max(self._compiling - 1, 0)

    @contextmanager
    def listening(self) -> Iterator[FrameClock]:
        """From here on; the first frame begins now."""
        with event.install_listener(COMPILING, self):
            self._last = time.perf_counter()
            yield self

    def tick(self) -> None:
        """A frame is finished."""
        now = time.perf_counter()
        with self._lock:
            if not self._disturbed:
                self._frames += 1
                self._seconds += now - self._last
            self._disturbed = self._compiling > 0
        self._last = now

    def rate(self) -> FrameRate:
        """So far."""
        return FrameRate(self._frames, self._seconds)
