# SPDX-License-Identifier: Apache-2.0
"""Items taken on another thread arrive in order, at once, and errors with them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from prism_vo.read_ahead import read_ahead


def test_all_items_come_in_order() -> None:
    assert list(read_ahead(range(50), 2)) == list(range(50))
    assert list(read_ahead([], 2)) == []


def test_an_item_does_not_wait_for_the_next_one() -> None:
    """A camera's last frame must not lie in a queue until another one comes."""
    gate = threading.Event()

    def slow() -> Iterator[int]:
        yield 1
        assert gate.wait(10)
        yield 2

    items = read_ahead(slow(), 2)
    assert next(items) == 1  # the gate is still closed
    gate.set()
    assert list(items) == [2]


def test_an_error_is_raised_where_the_items_are_used() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise OSError("camera unplugged")

    items = read_ahead(broken(), 2)
    assert next(items) == 1
    with pytest.raises(OSError, match="unplugged"):
        next(items)


def test_whoever_stops_early_ends_the_reader() -> None:
    taken: list[int] = []

    def endless() -> Iterator[int]:
        while True:
            taken.append(len(taken))
            yield taken[-1]

    items = read_ahead(endless(), 2)
    assert next(items) == 0
    items.close()  # type: ignore[attr-defined]
    time.sleep(0.5)
    count = len(taken)
    time.sleep(0.3)
    assert len(taken) == count < 8
