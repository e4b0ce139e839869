# SPDX-License-Identifier: Apache-2.0
"""Cameras and streams that OpenCV opens: V4L2 devices, RTSP and the like, and video files at their own pace."""

from __future__ import annotations

import threading
import time
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.datasets.video import GREY_FORMATS, LARGEST_FRAME_RATE
from prism_vo.errors import InputError
from prism_vo.live.grabber import WAIT, Grabbed

RAW_CODES = ("GREY", "Y800", "Y8  ", "Y16 ", "BA81", "GBRG", "GRBG", "RGGB")  # of V4L2: one number a pixel
DEFAULT_RATE = 10.0  # frames a second of a video that does not say


class CaptureGrabber:
    """A device number, or an address, as ``cv2.VideoCapture`` takes them."""

    waits = False

    def __init__(self, device: int | str) -> None:
        self.name = f"camera {device}" if isinstance(device, int) else str(device)
        backend = cv2.CAP_V4L2 if isinstance(device, int) and hasattr(cv2, "CAP_V4L2") else cv2.CAP_ANY
        self._capture = cv2.VideoCapture(device, backend)
        if not self._capture.isOpened():
            raise InputError(
                f"{self.name}: cannot be opened; is it connected, and not used by another program?"
            )
        code = int(self._capture.get(cv2.CAP_PROP_FOURCC)).to_bytes(4, "little", signed=True)
        if code.decode("ascii", "replace") in RAW_CODES or code in GREY_FORMATS:
            self._capture.set(cv2.CAP_PROP_CONVERT_RGB, 0)  # a mosaic must come as it is
        self._capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)  # what waits there only grows old

    def grab(self) -> Grabbed | None:
        """The next image, with the time it arrived."""
        read, image = self._capture.read()
        if not read:
            raise EOFError
        return Grabbed(time.time(), as_raw(image))

    def begin(self) -> None:
        """It runs already."""

    def close(self) -> None:
        """Let go of the device."""
        self._capture.release()


class PacedVideo:
    """A video file as if it were a camera: frames come when they were taken, whether somebody is ready or not."""

    waits = False

    def __init__(self, path: Any) -> None:
        self.name = str(path)
        self._capture = cv2.VideoCapture(str(path))
        if not self._capture.isOpened():
            raise InputError(f"{path}: is not a video that can be read.")
        rate = self._capture.get(cv2.CAP_PROP_FPS)
        self._step = 1.0 / (rate if 0 < rate < LARGEST_FRAME_RATE else DEFAULT_RATE)
        self._count, self._start = 0, 0.0
        self._begun, self._playing = threading.Event(), False

    def begin(self) -> None:
        """Back to the first frame: it was only shown."""
        self._begun.set()

    def grab(self) -> Grabbed | None:
        """The next image when it is due; until it begins, the first and no other."""
        if not self._playing and (self._count == 0 or self._begun.wait(WAIT)):
            self._playing = self._begun.is_set()
            self._capture.set(cv2.CAP_PROP_POS_FRAMES, 0)
            self._count, self._start = 0, time.monotonic()
        elif not self._playing:
            return None
        now = time.monotonic()
        due = self._start + self._count * self._step
        if due > now + WAIT:
            time.sleep(WAIT)
            return None
        time.sleep(max(0.0, due - now))
        read, image = self._capture.read()
        if not read:
            raise EOFError
        self._count += 1
        return Grabbed((self._count - 1) * self._step, as_raw(image))

    def close(self) -> None:
        """Close the file."""
        self._capture.release()


def as_raw(image: NDArray[Any]) -> NDArray[Any]:
    """(H, W), or (H, W, 3) RGB, of what OpenCV hands out."""
    if image.ndim == 2:
        return np.ascontiguousarray(image)
    if image.shape[2] == 1:
        return np.ascontiguousarray(image[..., 0])
    return np.ascontiguousarray(image[..., 2::-1])
