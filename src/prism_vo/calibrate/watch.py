# SPDX-License-Identifier: Apache-2.0
"""Looks at a few raw images of a run, beside it, whether the camera file fits them."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from numpy.typing import NDArray

from prism_vo.calibrate.check import MOST_IMAGES, CameraCheck, check_camera
from prism_vo.errors import PrismError
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.types import RawFrame, SourceFrame


class CameraWatch:
    """Takes frames at growing distances, so that both short and long recordings show different things."""

    def __init__(self, camera: PlenopticCamera, white: NDArray[Any] | None, threads: bool) -> None:
        self._camera, self._white = camera, white
        self._frames: list[RawFrame] = []
        self._seen, self._due = 0, 0
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="check") if threads else None
        self._running: Future[CameraCheck | None] | None = None

    def offer(self, frame: SourceFrame) -> None:
        """One more frame; raw ones are looked at when they are due."""
        if isinstance(frame, RawFrame) and self._seen >= self._due and len(self._frames) < MOST_IMAGES:
            self._frames.append(frame)
            self._due = 2 * self._seen + 2
            self._begin_if_complete()
        self._seen += 1

    def _begin_if_complete(self) -> None:
        if len(self._frames) == MOST_IMAGES and self._executor is not None:
            self._running = self._executor.submit(self._check)

    def memory(self) -> object:
        """Which frames were taken; part of a checkpoint."""
        return self._frames, self._seen, self._due

    def remember(self, memory: tuple[list[RawFrame], int, int]) -> None:
        """Go on as if those frames had been offered."""
        self._frames, self._seen, self._due = memory
        self._begin_if_complete()

    def result(self) -> CameraCheck | None:
        """What was found, with the images that came; None: nothing to look at."""
        if self._running is not None:
            return self._running.result()
        return self._check() if self._frames else None

    def _check(self) -> CameraCheck | None:
        try:
            return check_camera(self._camera, [frame.image for frame in self._frames], self._white)
        except PrismError:  # images that cannot be looked at are told of elsewhere
            return None
