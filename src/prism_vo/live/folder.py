# SPDX-License-Identifier: Apache-2.0
"""A folder that another program fills, as a camera: nothing is lost there, it only gets late."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from prism_vo.datasets.follow import FollowedSequence
from prism_vo.live.grabber import Grabbed
from prism_vo.types import RawFrame, SourceFrame, UnreadableFrame


class FolderGrabber:
    """Frames of a :class:`FollowedSequence`; ends when its patience does."""

    waits = True

    def __init__(self, path: Path, patience: float) -> None:
        self.sequence = FollowedSequence(path, patience)
        self.name = self.sequence.name
        self._frames: Iterator[SourceFrame] = iter(self.sequence)

    def grab(self) -> Grabbed | None:
        """The next image as soon as its file is whole."""
        frame = next(self._frames, None)
        if isinstance(frame, UnreadableFrame):
            return Grabbed(frame.time, None, problem=frame.reason)
        if not isinstance(frame, RawFrame):
            raise EOFError
        return Grabbed(frame.time, frame.image, exposure=frame.exposure)

    def begin(self) -> None:
        """Files wait."""

    def close(self) -> None:
        """Files need no closing."""
