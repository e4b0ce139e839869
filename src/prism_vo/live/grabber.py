# SPDX-License-Identifier: Apache-2.0
"""What a camera has to do for a live run, whoever made its driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

WAIT = 0.5  # s that a call of ``grab`` may last, so that a run can be ended while no image comes


@dataclass(frozen=True)
class Grabbed:
    """One image as it arrived, or the news that one was damaged on its way."""

    time: float  # s, of the exposure as well as it is known
    image: NDArray[Any] | None  # (H, W) or (H, W, 3) RGB; None: damaged
    missed: int = 0  # images before this one that the camera made and that never came
    exposure: float | None = None  # s
    problem: str = ""  # of a damaged one, in a sentence


class Grabber(Protocol):
    """A camera that delivers. Only one thread calls it, from opening to closing."""

    name: str
    waits: bool  # True: images that are not fetched stay where they are (files); False: they are lost

    def grab(self) -> Grabbed | None:
        """The next image; None: none came for a moment. Raises EOFError when there will be no more."""
        ...

    def begin(self) -> None:
        """Called once from another thread: frames count from now on. A device need not do anything."""
        ...

    def close(self) -> None:
        """Let go of the device."""
        ...
