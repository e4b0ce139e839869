# SPDX-License-Identifier: Apache-2.0
"""Raw images made ready for sampling, kept for the last frames: several calls, of two threads, ask for the same."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext

from prism_vo.arrays import Floats
from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.light import RawLight
from prism_vo.lightfield.raw import PreparedRaw
from prism_vo.types import RawFrame

LARGE = 2e8  # bytes of an image for matching: of such, one is kept (an R32 has 500 MB)
MATCHED_KEPT = 2  # images for matching: of the current frame, and of one that another thread may be reading
FRAMES_KEPT = 4  # prepared raw images: besides those two, frames that are focused ahead


class KeptImages:
    """What was prepared of the last frames."""

    def __init__(self, light: RawLight, border: int, bands: Bands) -> None:
        self._light, self._border, self._bands = light, border, bands
        self._prepared: list[tuple[RawFrame, PreparedRaw]] = []
        self._matched: list[PreparedRaw] = []  # that have an image for matching, the last one last
        self._room: list[Floats] = []  # see PreparedRaw
        self._lock = threading.Lock()
        self._large_one = threading.RLock()  # see room_for

    def prepare(self, raw: RawFrame) -> PreparedRaw:
        """Luminance without vignetting, made once a frame."""
        with self._lock:
            kept = self._kept(raw)
            if kept is not None:
                return kept
            if is_large(raw):  # they go before the next is made
                self._prepared, self._matched = [], []
            image = self._light.prepare(raw, self._border, self._bands)
            if not is_large(raw):
                image.room = self._room
            self._prepared = [*self._prepared[1 - FRAMES_KEPT :], (raw, image)]
            return image

    def to_focus(self, raw: RawFrame) -> PreparedRaw:
        """As :meth:`prepare`; large ones are kept where depth is measured only: frames are focused well ahead of that,
        and those of them that become keyframes are few."""
        if not is_large(raw):
            return self.prepare(raw)
        with self._lock:
            kept = self._kept(raw)
            return self._light.prepare(raw, self._border, self._bands) if kept is None else kept

    def to_match(self, raw: RawFrame) -> Floats:
        """What the matcher reads of a frame."""
        prepared = self.prepare(raw)
        with self._lock:
            matched = [*(other for other in self._matched if other is not prepared), prepared]
            kept = 1 if is_large(raw) else MATCHED_KEPT
            for other in matched[:-kept]:
                other.forget_matching()
            self._matched = matched[-kept:]
        return prepared.matching_image

    def room_for(self, raw: RawFrame) -> AbstractContextManager[object]:
        """Large images are focused and measured in one at a time: both need several times the memory of the image."""
        return self._large_one if is_large(raw) else nullcontext()

    def forget(self, raw: RawFrame) -> None:
        """One frame."""
        with self._lock:
            gone = self._kept(raw)
            self._prepared = [(frame, image) for frame, image in self._prepared if image is not gone]
            self._matched = [image for image in self._matched if image is not gone]

    def rest(self) -> None:
        """Also the room that they are made in."""
        with self._lock:
            self._prepared, self._matched, self._room = [], [], []

    def _kept(self, raw: RawFrame) -> PreparedRaw | None:
        return next((image for frame, image in self._prepared if frame is raw), None)


def is_large(raw: RawFrame) -> bool:
    """Whether its image for matching is: four floats to a pixel."""
    return 16 * raw.image.shape[0] * raw.image.shape[1] > LARGE
