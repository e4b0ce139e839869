# SPDX-License-Identifier: Apache-2.0
"""Frames of any source, one after the other; one that cannot be read does not end the others."""

from __future__ import annotations

from collections.abc import Iterator
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


def frames_of(source: FrameSource) -> Iterator[SourceFrame]:
    """The frames in order, an :class:`UnreadableFrame` for each that raises :class:`InputError`.

    A source without positions (a stream) hands out unreadable frames itself, or ends with its error.
    """
    if not isinstance(source, Indexed):
        yield from source
        return
    for position in range(len(source)):
        yield _read(source, position)


def _read(source: Indexed, position: int) -> SourceFrame:
    try:
        return source[position]
    except InputError as error:
        index = source.indices[position] if isinstance(source, SequencePart) else position
        return UnreadableFrame(index, float(source.times[position]), str(error))
