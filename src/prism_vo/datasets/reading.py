# SPDX-License-Identifier: Apache-2.0
"""Frames of any source, one after the other; one that cannot be read does not end the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Protocol, runtime_checkable

from prism_vo.arrays import Array
from prism_vo.datasets.selection import SequencePart
from prism_vo.datasets.source import FrameSource
from prism_vo.errors import InputError
from prism_vo.types import InputFrame, SourceFrame, UnreadableFrame


@runtime_checkable
class Indexed(Protocol):
    """A recording whose frames can be asked for by position: after a bad one, the next can still be read."""

    times: Array

    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> InputFrame: ...


@runtime_checkable
class Findable(Protocol):
    """A source whose frames can be read again."""

    def __getitem__(self, index: int) -> InputFrame: ...


def frames_of(source: FrameSource, first: int = 0) -> Iterator[SourceFrame]:
    """The frames in order, an :class:`UnreadableFrame` for each that raises :class:`InputError`.

    A source without positions (a stream) hands out unreadable frames itself, or ends with its error.
    ``first``: so many are left out, which a recording need not read.
    """
    if not isinstance(source, Indexed):
        yield from islice(source, first, None)
        return
    for position in range(first, len(source)):
        yield _read(source, position)


def _read(source: Indexed, position: int) -> SourceFrame:
    try:
        return source[position]
    except InputError as error:
        index = source.indices[position] if isinstance(source, SequencePart) else position
        return UnreadableFrame(index, float(source.times[position]), str(error))


def frame_finder(source: FrameSource) -> Callable[[int], InputFrame] | None:
    """How to get a frame again by its number in the recording; None: the source hands out each once."""
    whole = source.whole if isinstance(source, SequencePart) else source
    return whole.__getitem__ if isinstance(whole, Findable) else None
