# SPDX-License-Identifier: Apache-2.0
"""Where frames come from: all that a run needs of a recording, a growing folder or a camera."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.errors import expect
from prism_vo.optics.camera import LOADING, PlenopticCamera
from prism_vo.optics.photometric import WhiteImageError
from prism_vo.trajectory import Trajectory
from prism_vo.types import DecodedFrame, RawFrame, SourceFrame


class FrameSource(Protocol):
    """Frames of one camera, in order; it need not know how many there will be.

    A frame that cannot be used may be handed out as :class:`UnreadableFrame`: it is lost, the run goes on.
    """

    @property
    def name(self) -> str: ...
    @property
    def camera(self) -> PlenopticCamera: ...
    @property
    def groundtruth(self) -> Trajectory | None: ...
    @property
    def white(self) -> NDArray[Any] | None: ...
    def __iter__(self) -> Iterator[SourceFrame]: ...


@runtime_checkable
class Sequence(Protocol):
    """Frames of one camera, read one at a time; iterating gives frame 0, 1, …"""

    @property
    def name(self) -> str: ...
    @property
    def camera(self) -> PlenopticCamera: ...
    @property
    def times(self) -> Array: ...
    @property
    def exposures(self) -> Array | None: ...
    @property
    def groundtruth(self) -> Trajectory | None: ...
    @property
    def white(self) -> NDArray[Any] | None: ...
    @property
    def is_decoded(self) -> bool:
        """True: frames are ``DecodedFrame`` (ready-made focused images); False: ``RawFrame``."""
        ...

    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> RawFrame | DecodedFrame: ...
    def __iter__(self) -> Iterator[RawFrame | DecodedFrame]: ...


@dataclass(frozen=True)
class Stream:
    """Frames from anywhere: ``run(Stream(frames, camera))`` with any iterable of frames."""

    frames: Iterable[SourceFrame]
    camera: PlenopticCamera
    name: str = "stream"
    groundtruth: Trajectory | None = None
    white: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        expect(self.frames, Iterable, "frames of a Stream", "any iterable of RawFrame")
        expect(self.camera, PlenopticCamera, "camera", LOADING)

    def __iter__(self) -> Iterator[SourceFrame]:
        return iter(self.frames)

    def __repr__(self) -> str:
        return f"Stream({self.name!r}, {self.camera!r})"


def closing_notes_of(source: object) -> tuple[str, ...]:
    """Sentences about a source after its last frame; most have none."""
    return tuple(getattr(source, "closing_notes", ()))


@contextmanager
def naming_white(source: object) -> Iterator[None]:
    """A white image that is refused inside is told by its file, where the source knows it."""
    try:
        yield
    except WhiteImageError as error:
        path = getattr(source, "white_path", None)
        raise WhiteImageError(str(error) if path is None else f"{path}: {error}") from error


def is_live(source: object) -> bool:
    """Whether frames come when they are made, and not as fast as they can be read."""
    return bool(getattr(source, "live", False))


def notes_of(source: object) -> tuple[str, ...]:
    """Sentences a user should read before relying on a recording; sources need not have any."""
    return tuple(getattr(source, "notes", ()))
