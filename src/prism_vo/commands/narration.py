# SPDX-License-Identifier: Apache-2.0
"""A progress line that is never silent: a bar on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import threading
import time
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

PLAIN_EVERY = 3.0  # s


class Narration:
    """``with Narration() as say: say("rendering", 3, 40)``; the last words are repeated while nothing is said."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=None)
        self._start = time.monotonic()
        self._words = "starting"
        self._over = threading.Event()
        self._repeater = threading.Thread(target=self._repeat, name="narration", daemon=True)

    def __enter__(self) -> Self:
        self._bar.start()
        if not self._console.is_terminal:
            self._repeater.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
        self._over.set()
        if self._repeater.is_alive():
            self._repeater.join()

    def __call__(self, words: str, done: int | None = None, total: int | None = None) -> None:
        """What is being done, and how far it is."""
        self._words = words if done is None else f"{words} {done}/{total}"
        self._bar.update(self._task, description=words, completed=done or 0, total=total)

    def _repeat(self) -> None:
        while not self._over.is_set():
            print(
                f"{time.monotonic() - self._start:4.0f} s  {self._words}", file=self._console.file, flush=True
            )
            self._over.wait(PLAIN_EVERY)
