# SPDX-License-Identifier: Apache-2.0
"""A sequence that only grows: the last items are in memory, older ones wherever a store keeps them.

What a run collects for its end (reports, poses of frames, points) grows with every frame and is rarely read. Without a
store everything stays in memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, Self, TypeVar, overload

import numpy as np

RECENT = 128  # items that stay in memory
T = TypeVar("T")


class Store(Protocol):
    """Keeps items outside memory."""

    def put(self, item: object) -> int | None:
        """Where the item lies from now on; None: it cannot be kept."""
        ...

    def get(self, place: int) -> Any:
        """An item equal to the one that was put there."""
        ...


class Shelf(Sequence[T]):
    """Read like a list; items that were put away are read again one by one."""

    _store: Store | None
    _places: array[int]  # of the items that were put away
    _recent: list[T]

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Empty and whole, also where a damaged pickle makes one without its state."""
        shelf = super().__new__(cls)
        shelf._store, shelf._places, shelf._recent = None, array("q"), []
        return shelf

    def __init__(self, items: Iterable[T] = (), store: Store | None = None) -> None:
        self._store = store
        self._recent = list(items)

    def keep_in(self, store: Store) -> None:
        """From now on older items go there."""
        self._store = store

    def append(self, item: T, changing: Iterable[object] = ()) -> None:
        """One more; ``changing``: items that somebody may still change, which stay in memory with all after them."""
        self._recent.append(item)
        if self._store is None or len(self._recent) <= RECENT:
            return
        held, moved = {id(each) for each in changing}, 0
        for old in self._recent[:-RECENT]:
            place = None if id(old) in held else self._store.put(old)
            if place is None:
                break
            self._places.append(place)
            moved += 1
        del self._recent[:moved]

    def change(self, change: Callable[[T], T | None]) -> None:
        """Every item becomes what a function returns for it; None: it stays as it is."""
        for k, place in enumerate(self._places):
            assert self._store is not None
            changed = change(self._store.get(place))
            if changed is not None:
                again = self._store.put(changed)
                assert again is not None, "what could be kept can be kept again"
                self._places[k] = again
        for k, item in enumerate(self._recent):
            changed = change(item)
            if changed is not None:
                self._recent[k] = changed

    def snapshot(self) -> Shelf[T]:
        """The items there are now, for somebody who reads them later or in another thread."""
        copy = Shelf(self._recent, self._store)
        copy._places = self._places[:]
        return copy

    def __len__(self) -> int:
        return len(self._places) + len(self._recent)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        k = index + len(self) if index < 0 else index
        if not 0 <= k < len(self):
            raise IndexError("no such item")
        if k >= len(self._places):
            return self._recent[k - len(self._places)]
        assert self._store is not None
        item: T = self._store.get(self._places[k])
        return item

    def __iter__(self) -> Iterator[T]:
        return (self[k] for k in range(len(self)))

    def __reversed__(self) -> Iterator[T]:
        return (self[k] for k in range(len(self) - 1, -1, -1))

    def __eq__(self, other: object) -> bool:
        """Equal to a list with the same items."""
        return isinstance(other, Shelf | list) and [*self] == [*other]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_places": np.array(self._places, np.int64)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if set(state) != {"_store", "_places", "_recent"} or not isinstance(state["_recent"], list):
            raise ValueError("not the state of a shelf")
        vars(self).update(state)
        self._places = array("q", np.asarray(state["_places"], np.int64).tolist())
