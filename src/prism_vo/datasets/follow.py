# SPDX-License-Identifier: Apache-2.0
"""A recording that is still being written: frames are handed out as they arrive."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray

from prism_vo.datasets.registry import open_sequence
from prism_vo.datasets.selection import check_part
from prism_vo.errors import ConfigError, InputError
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.trajectory import Trajectory
from prism_vo.types import InputFrame, SourceFrame, UnreadableFrame

T = TypeVar("T")
POLL = 0.2  # s between looks at the folder
LONGEST_PATIENCE = 7 * 24 * 3600.0  # s without a new frame


class FollowedSequence:
    """Satisfies ``FrameSource``; ends when nothing new came for ``patience`` seconds.

    A file that cannot be read yet, because it is still being written, is tried again until the patience ends; then
    it is an unreadable frame. ``start``, ``stride``: the first frame, and the distance from one to the next.
    """

    live = True

    def __init__(self, path: Path | str, patience: float = 10.0, start: int = 0, stride: int = 1) -> None:
        check_part(start, None, stride)
        if not 0.0 < patience <= LONGEST_PATIENCE:
            raise ConfigError(
                f"follow is {patience:g}; it takes seconds, more than 0 and at most {LONGEST_PATIENCE:g}."
            )
        self.path, self.patience = Path(path), patience
        self.start, self.stride = start, stride
        self._now = self._persist(lambda: open_sequence(self.path))

    @property
    def name(self) -> str:
        """Of the recording."""
        return self._now.name

    @property
    def camera(self) -> PlenopticCamera:
        """Of the recording."""
        return self._now.camera

    @property
    def groundtruth(self) -> Trajectory | None:
        """What of it exists by now."""
        return self._now.groundtruth

    @property
    def white(self) -> NDArray[Any] | None:
        """The white image, if there is one."""
        return self._now.white

    @property
    def white_path(self) -> Path | None:
        """The file of the white image."""
        return getattr(self._now, "white_path", None)

    def __iter__(self) -> Iterator[SourceFrame]:
        """Frames, each as soon as its file is there."""
        index = self.start
        while True:
            deadline = time.monotonic() + self.patience
            while index >= len(self._now):
                if time.monotonic() > deadline:
                    return
                time.sleep(POLL)
                self._refresh()
            yield self._frame(index)
            index += self.stride

    def __getitem__(self, index: int) -> InputFrame:
        """A frame that came before."""
        return self._now[index]

    def _frame(self, index: int) -> SourceFrame:
        try:
            return self._persist(lambda: self._now[index])
        except InputError as error:
            return UnreadableFrame(index, float(self._now.times[index]), str(error))

    def _refresh(self) -> None:
        try:
            self._now = open_sequence(self.path)
        except InputError:  # times.txt and the images rarely grow in the same instant
            return

    def _persist(self, read: Callable[[], T]) -> T:
        deadline = time.monotonic() + self.patience
        while True:
            try:
                return read()
            except InputError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(POLL)
