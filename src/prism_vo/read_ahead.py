# SPDX-License-Identifier: Apache-2.0
"""Takes the items of an iterator on a thread of its own, a few ahead of whoever uses them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from queue import Full, Queue
from typing import TypeVar

T = TypeVar("T")
LOOK_UP = 0.1  # s between looks whether the items are still wanted


@dataclass(frozen=True)
class _End:
    """No more items, because of an error or because that was all."""

    error: BaseException | None


def read_ahead(items: Iterable[T], most: int) -> Iterator[T]:
    """The same items in the same order; an item is handed on as soon as it is there, whatever follows it."""
    queue: Queue[T | _End] = Queue(most)
    unwanted = threading.Event()

    def put(item: T | _End) -> None:
        while not unwanted.is_set():
            try:
                return queue.put(item, timeout=LOOK_UP)
            except Full:
                continue

    def take_all() -> None:
        error = None
        try:
            for item in items:
                put(item)
                if unwanted.is_set():
                    return
        except BaseException as caught:  # raised again where the items are used
            error = caught
        put(_End(error))

    reader = threading.Thread(target=take_all, name="read-ahead", daemon=True)
    reader.start()
    try:
        while True:
            item = queue.get()
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
    finally:
        unwanted.set()
