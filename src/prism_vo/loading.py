# SPDX-License-Identifier: Apache-2.0
"""Frames of a source, focused and in order, a few ahead of whoever uses them; bad ones do not end the others."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from prism_vo.errors import InputError
from prism_vo.read_ahead import read_ahead
from prism_vo.sensor import Sensor
from prism_vo.types import DecodedFrame, InputFrame, SourceFrame, UnreadableFrame

AHEAD = 2  # frames read and focused in advance


def first_readable(name: str, incoming: Iterator[SourceFrame]) -> tuple[list[UnreadableFrame], InputFrame]:
    """The first frame that can be used, and those before it; without any, nothing can be done."""
    unreadable: list[UnreadableFrame] = []
    for frame in incoming:
        if not isinstance(frame, UnreadableFrame):
            return unreadable, frame
        unreadable.append(frame)
    if not unreadable:
        raise InputError(f"{name}: the sequence has no frames.")
    raise nothing_usable(name, [frame.reason for frame in unreadable])


def nothing_usable(name: str, reasons: list[str]) -> InputError:
    """The sentence for a recording without a single good frame: that of its first."""
    if len(reasons) == 1:
        return InputError(f"{name}: its only frame cannot be used; {reasons[0]}")
    return InputError(f"{name}: none of its {len(reasons)} frames can be used; {reasons[0]}")


class Loaded(NamedTuple):
    """A frame with its totally focused image (None: unreadable), and the seconds reading and focusing took."""

    frame: SourceFrame
    focused: DecodedFrame | None
    seconds: float
    memory: object = None  # of the sensor, after this frame


def focused_frames(
    frames: Iterator[SourceFrame], sensor: Sensor, threads: bool, live: bool = False
) -> Iterator[Loaded]:
    """Frames in order, focused; one that the sensor refuses becomes an unreadable one.

    ``live``: frames come when they come, and waiting for one is not time that reading takes.
    """

    def load() -> Iterator[Loaded]:
        start = time.perf_counter()
        for frame in frames:
            start = time.perf_counter() if live else start
            focused = None
            if not isinstance(frame, UnreadableFrame):
                try:
                    focused = sensor.focus(frame)
                except InputError as error:
                    frame = UnreadableFrame(frame.index, frame.time, str(error))
            yield Loaded(frame, focused, time.perf_counter() - start, sensor.memory())
            start = time.perf_counter()

    return read_ahead(load(), AHEAD) if threads else load()
