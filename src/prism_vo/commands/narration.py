# SPDX-License-Identifier: Apache-2.0
"""A progress line that is never silent: a bar on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from prism_vo.commands.quiet import is_quiet

if TYPE_CHECKING:
    from prism_vo.odometry import FrameReport, Odometry
    from prism_vo.pipeline import RunResult
    from prism_vo.types import DecodedFrame

PLAIN_EVERY = 3.0  # s
SPEED_OVER = 5.0  # s that the speed shown is a mean of


class Narration:
    """``with Narration() as say: say("rendering", 3, 40)``; the last words are repeated while nothing is said."""

    def __init__(self, quiet: bool = False) -> None:
        quiet = quiet or is_quiet()
        self._console = Console(stderr=True)
        self._plain = not quiet and not self._console.is_terminal
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[detail]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            disable=quiet or self._plain,
        )
        self._task = self._bar.add_task("starting", total=None, detail="")
        self._start = time.monotonic()
        self._words = "starting"
        self._over = threading.Event()
        self._repeater = threading.Thread(target=self._repeat, name="narration", daemon=True)

    def __enter__(self) -> Self:
        if self._bar.disable:  # not even an empty line, as some versions of Rich print
            if self._plain:
                self._repeater.start()
            return self
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._bar.disable:
            self._bar.stop()
        self._over.set()
        if self._repeater.is_alive():
            self._repeater.join()

    def __call__(
        self, words: str, done: int | None = None, total: int | None = None, detail: str = ""
    ) -> None:
        """What is being done, how far it is, and whatever else is worth a word."""
        count = "" if done is None else f" {done}/{total}" if total is not None else f" {done}"
        self._words = f"{words}{count}" + (f", {detail}" if detail else "")
        self._bar.update(self._task, description=words, completed=done or 0, total=total, detail=detail)

    def _repeat(self) -> None:
        while not self._over.is_set():
            print(
                f"{time.monotonic() - self._start:4.0f} s  {self._words}", file=self._console.file, flush=True
            )
            self._over.wait(PLAIN_EVERY)


class TrackingProgress:
    """Tells a narration how far a run is, with the speed of the last seconds: the ``progress`` of ``pipeline.run``."""

    def __init__(self, say: Narration) -> None:
        self._say = say
        self._seen: deque[tuple[float, int]] = deque()

    def __call__(self, done: int, total: int | None, report: FrameReport, more: str = "") -> None:
        """One more frame."""
        now = time.monotonic()
        self._seen.append((now, done))
        while now - self._seen[0][0] > SPEED_OVER:
            self._seen.popleft()
        span, frames = now - self._seen[0][0], done - self._seen[0][1]
        speed = f"{frames / span:.1f} frames/s, " if frames and span > 0 else ""
        self._say("tracking", done, total, f"{speed}{report.status}" + (f", {more}" if more else ""))


class ReportAnnouncement:
    """A sink before that of the report: says that it is being drawn, which takes some seconds."""

    def __init__(self, say: Narration) -> None:
        self._say = say

    def on_frame(self, report: FrameReport, frame: DecodedFrame, odometry: Odometry) -> None:
        """Progress is told elsewhere."""

    def on_end(self, result: RunResult) -> None:
        """The report comes next."""
        self._say("drawing the report")
