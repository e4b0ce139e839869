# SPDX-License-Identifier: Apache-2.0
"""A camera as a source of frames: a thread takes its images, a bounded queue keeps the newest."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.datasets.bit_depth import BitDepth
from prism_vo.errors import InputError
from prism_vo.live.counts import LiveCounts
from prism_vo.live.grabber import Grabbed, Grabber
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.types import RawFrame, SourceFrame, UnreadableFrame

QUEUE = 2  # frames that wait at the most
CLOSING = 3.0  # s that a camera may take to stop
PATIENCE = 10.0  # s without an image that end a run


class LiveSource:
    """Satisfies ``FrameSource``. Frames are numbered as the camera made them: numbers of lost ones are missing."""

    groundtruth = None
    live = True

    def __init__(
        self,
        grabber: Grabber,
        camera: PlenopticCamera,
        white: NDArray[Any] | None = None,
        queue: int = QUEUE,
        patience: float = PATIENCE,
        white_path: Path | None = None,
    ) -> None:
        self.name, self.camera, self.white = grabber.name, camera, white
        self.white_path = white_path
        self.counts = LiveCounts()
        self._grabber, self._most, self._patience = grabber, queue, patience
        self._waiting: deque[tuple[int, Grabbed, float]] = deque()
        self._changed = threading.Condition()
        self._begun, self._stopped, self._over = False, False, False
        self._error: BaseException | None = None
        self._next = 0  # number of the next frame
        self._arrivals: dict[int, float] = {}
        self._thread = threading.Thread(target=self._take_all, name="live-source", daemon=True)
        self._bit_depth = BitDepth(camera.calibration.sensor.bits, self._sample)
        self._ended_early = ""

    # --- for the run -----------------------------------------------------------------------------------------

    def first_image(self) -> NDArray[Any]:
        """Start the camera and wait for an image to warm up with; it is not taken from those that follow."""
        self._thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._readable() is not None or self._over)
            if self._error is not None:
                raise self._error
            image = self._readable()
        if image is None:
            raise InputError(self._ended_early or f"{self.name}: the camera delivered no image.")
        return self._pixels(image)

    def _readable(self) -> NDArray[Any] | None:
        """The image that waits longest."""
        return next((g.image for _, g, _ in self._waiting if g.image is not None), None)

    def begin(self) -> None:
        """From now on frames count; those that waited meanwhile are forgotten (files are not)."""
        with self._changed:
            self._begun = True
            if not self._grabber.waits:
                self._waiting.clear()
                self.counts, self._next = LiveCounts(), 0
        self._grabber.begin()

    def __iter__(self) -> Iterator[SourceFrame]:
        if not self._begun:
            self.begin()
            self._thread.start()
        while (taken := self._take()) is not None:
            number, grabbed, arrival = taken
            if grabbed.image is None:
                yield UnreadableFrame(number, grabbed.time, grabbed.problem)
                continue
            self._arrivals[number] = arrival
            yield RawFrame(number, grabbed.time, self._pixels(grabbed.image), grabbed.exposure)

    def done(self, number: int) -> None:
        """A frame has its pose: how long that took since it arrived."""
        arrival = self._arrivals.pop(number, None)
        if arrival is not None:
            self.counts.tracked(time.monotonic() - arrival)

    def stop(self) -> None:
        """No more frames: those that wait are still handed out."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def close(self) -> None:
        """Stop, and let go of the camera."""
        self.stop()
        if self._thread.is_alive():
            self._thread.join(CLOSING)

    @property
    def closing_notes(self) -> tuple[str, ...]:
        """What to know about the camera after a run."""
        return (*self.counts.sentences(), *([self._ended_early] if self._ended_early else []))

    # --- the thread ------------------------------------------------------------------------------------------

    def _take_all(self) -> None:
        last = time.monotonic()
        try:
            while not self._stopped:
                grabbed = self._grabber.grab()
                now = time.monotonic()
                if grabbed is not None:
                    last = now
                    self._put(grabbed, now)
                elif self._waiting and not self._begun:
                    last = now  # nobody asks for more yet
                elif now - last > self._patience:
                    self._ended_early = f"{self.name}: no image came for {self._patience:g} s."
                    break
        except EOFError:
            pass
        except BaseException as error:  # raised again where the frames are used
            self._error = error
        finally:
            self._grabber.close()
            with self._changed:
                self._over = True
                self._changed.notify_all()

    def _put(self, grabbed: Grabbed, arrival: float) -> None:
        with self._changed:
            if self._grabber.waits:
                self._changed.wait_for(lambda: len(self._waiting) < self._most or self._stopped)
            self._next += grabbed.missed
            self.counts.arrived += 1
            self.counts.missed += grabbed.missed
            self.counts.damaged += grabbed.image is None
            self._waiting.append((self._next, grabbed, arrival))
            self._next += 1
            if len(self._waiting) > self._most:
                self._waiting.popleft()
                self.counts.dropped += 1
            self._changed.notify_all()

    # --- the other side --------------------------------------------------------------------------------------

    def _take(self) -> tuple[int, Grabbed, float] | None:
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting) or self._over or self._stopped)
            if self._error is not None:
                raise self._error
            if not self._waiting:
                return None
            self._changed.notify_all()
            return self._waiting.popleft()

    def _pixels(self, image: NDArray[Any]) -> NDArray[Any]:
        """As the decoder takes them: of the sensor's size, a mosaic in one channel, the full range of bits."""
        sensor = self.camera.calibration.sensor
        height, width = image.shape[:2]
        if (width, height) != (sensor.width, sensor.height):
            raise InputError(
                f"{self.name}: delivers images of {width}x{height} pixels, the camera file says "
                f"{sensor.width}x{sensor.height}; set the camera to its full size or name the right --camera."
            )
        if image.ndim == 3 and (image == image[..., :1]).all():
            image = image[..., 0]  # grey, or a mosaic, in three equal channels
        return self._bit_depth.scaled(self.name, np.ascontiguousarray(image))

    def _sample(self) -> Iterator[NDArray[Any]]:
        with self._changed:
            waiting = [grabbed.image for _, grabbed, _ in self._waiting if grabbed.image is not None]
        yield from waiting
