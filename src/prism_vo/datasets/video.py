# SPDX-License-Identifier: Apache-2.0
"""Raw images from a video file, any codec OpenCV reads; frames by index, read forward wherever possible."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.datasets.images import Size
from prism_vo.errors import InputError

VIDEO_SUFFIXES = (".mp4", ".avi", ".mkv", ".mov", ".m4v", ".webm")
MOST_FRAMES = 10_000_000
LARGEST_FRAME_RATE = 10_000.0  # beyond it a container states its clock, not its frames
GREY_FORMATS = (
    b"Y800",
    b"GREY",
    b"Y1\x00\x10",
)  # 8 and 16 bits: read as they are, without a detour over colour
NOT_DECODED = "cannot be decoded; copy the video again or convert it (ffmpeg -i IN -c:v ffv1 OUT.mkv)."

os.environ.setdefault(
    "OPENCV_FFMPEG_LOGLEVEL", "-8"
)  # our own sentence replaces what the decoder would print


def is_video(path: Path) -> bool:
    """By its name."""
    return path.suffix.lower() in VIDEO_SUFFIXES


class Video:
    """Frames of a video file. They are counted without being decoded, since containers only estimate the number."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._capture: Any = None
        self._at = -1  # the frame the decoder is at
        self._image: NDArray[Any] | None = None  # that frame, once it was asked for
        packets = self._open()
        self.stated = int(packets.get(cv2.CAP_PROP_FRAME_COUNT))  # what the container says
        sides = (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT)
        self.width, self.height = (int(packets.get(side)) for side in sides)
        self.frame_rate = _sensible_rate(packets.get(cv2.CAP_PROP_FPS))
        grey = int(packets.get(cv2.CAP_PROP_CODEC_PIXEL_FORMAT)).to_bytes(4, "little", signed=True)
        self._options = [cv2.CAP_PROP_CONVERT_RGB, 0] if grey in GREY_FORMATS else []
        packets.set(cv2.CAP_PROP_FORMAT, -1)  # compressed packets as they come
        stamps = []
        while packets.grab():
            stamps.append(1e-3 * packets.get(cv2.CAP_PROP_POS_MSEC))
            if len(stamps) > MOST_FRAMES:
                raise InputError(f"{path}: the video has more than {MOST_FRAMES} frames; cut it into parts.")
        packets.release()
        if not stamps:
            raise InputError(f"{path}: the video has no frames.")
        self._count = len(stamps)
        self._stamps = np.sort(np.array(stamps))  # packets come in the order of decoding
        self._timed = bool((np.diff(self._stamps) > 0).all())

    def __len__(self) -> int:
        return self._count

    def times(self, frame_rate: float) -> Array:
        """Of all frames (N,): the video's own, else those of its frame rate, else of ``frame_rate``."""
        if self._timed:
            return self._stamps - self._stamps[0]
        return np.arange(self._count) / (self.frame_rate or frame_rate)

    def note(self) -> str | None:
        """One sentence if the file ends before it should; a last frame more or less is an estimate's error."""
        if self.stated <= self._count + 1:
            return None
        return f"{self.path.name} ends after {self._count} of {self.stated} frames: the file is cut off."

    def read(self, index: int, size: Size | None = None) -> NDArray[np.uint8] | NDArray[np.uint16]:
        """Frame ``index``: (H, W) if it is grey, else (H, W, 3) RGB; of no other size than ``size``."""
        if size is not None:
            size.check(self.path, self.width, self.height)
        with self._lock:
            if self._capture is None or index < self._at:
                self._capture, self._at = self._open(self._options), -1
            while self._at < index and self._capture.grab():
                self._at, self._image = self._place(), None
            if self._at == index and self._image is None:
                done, image = self._capture.retrieve()
                self._image = _plain(image) if done else None
            if self._at != index or self._image is None:
                raise InputError(f"{self.path}: frame {index} {NOT_DECODED}")
            return self._image

    def _open(self, options: list[int] | None = None) -> Any:
        if not self.path.is_file():
            raise InputError(f"{self.path}: no such file.")
        capture = cv2.VideoCapture(str(self.path), cv2.CAP_FFMPEG, options or [])
        if not capture.isOpened():
            raise InputError(f"{self.path}: not a readable video (damaged, cut off, or an unknown codec).")
        capture.set(
            cv2.CAP_PROP_ORIENTATION_AUTO, 0
        )  # a turn noted by a phone must not turn the micro-lens grid
        return capture

    def _place(self) -> int:
        """Which frame the decoder is at: by its time, because a decoder leaves out what it cannot decode."""
        if not self._timed:
            return self._at + 1
        now = 1e-3 * self._capture.get(cv2.CAP_PROP_POS_MSEC)
        return max(int(np.argmin(np.abs(self._stamps - now))), self._at + 1)


def _sensible_rate(stated: float) -> float | None:
    return float(stated) if 0 < stated < LARGEST_FRAME_RATE else None


def _plain(image: NDArray[Any]) -> NDArray[Any]:
    """BGR as OpenCV gives it → RGB; grey where all channels are equal."""
    if image.ndim == 2:
        return np.ascontiguousarray(image)
    green = image[..., 1]
    if np.array_equal(image[..., 0], green) and np.array_equal(image[..., 2], green):
        return np.ascontiguousarray(green)
    return np.ascontiguousarray(image[..., 2::-1])
