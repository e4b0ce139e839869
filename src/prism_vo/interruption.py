# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, SIGTERM and SIGHUP end a command in the same way: at a moment when everything fits together."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # not every system has all


class Terminated(KeyboardInterrupt):
    """A signal other than Ctrl-C asked the program to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """128 + the number of the signal, as shells say it: 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP."""
    return 128 + (interrupt.number if isinstance(interrupt, Terminated) else int(signal.SIGINT))


def _signals() -> list[signal.Signals]:
    return [getattr(signal, name) for name in NAMES if hasattr(signal, name)]


def _raise(number: int, frame: FrameType | None) -> None:
    raise Terminated(number)


@contextmanager
def ending_like_ctrl_c() -> Iterator[None]:
    """SIGTERM and SIGHUP raise :class:`Terminated` in the main thread; ignored ones (nohup) stay ignored."""
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in _signals():
            if number != signal.SIGINT and signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.signal(number, _raise)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A signal waits until the end of the block; a second one does not."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    before: dict[int, Callable[[int, FrameType | None], Any]] = {}
    for number in _signals():
        if callable(handler := signal.getsignal(number)):
            before[number] = handler

    def wait(which: int, frame: FrameType | None) -> None:
        if caught:
            before[which](which, frame)
        caught.append(which)

    for which in before:
        signal.signal(which, wait)
    try:
        yield
    finally:
        for which, restored in before.items():
            signal.signal(which, restored)
    if caught:
        before[caught[0]](caught[0], None)
