# SPDX-License-Identifier: Apache-2.0
"""When the decoder learns how light falls off: from the first frame that shows it, whichever thread asks first.

Frames are asked in their order, each once, and a frame is seen in the light that was known when it came: what is learnt
from a later one changes nothing about it. So depths do not depend on how far another thread is ahead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from prism_vo.lightfield.fall_off import ROUNDS, fall_off
from prism_vo.lightfield.geometry import StereoGeometry
from prism_vo.lightfield.light import KnownLight, RawLight
from prism_vo.lightfield.same_points import SamePoints
from prism_vo.types import RawFrame

RARELY = 16  # the next frame is asked after so small a part of the time that was waited already
BRIGHTER = 2.0  # times: a frame that tells nothing for sure still tells more than one so much darker


class Asked(NamedTuple):
    """Frames of one kind that were asked."""

    first: int
    newest: int
    is_known: bool  # nothing more is to be learnt

    def is_due(self, raw: RawFrame) -> bool:
        """Whether a frame should be asked, too."""
        waited = (self.newest - self.first) // RARELY
        return not self.is_known and raw.index > self.newest and raw.index >= self.newest + waited


class LightMemory(NamedTuple):
    """What was learnt."""

    known: dict[int, tuple[KnownLight, ...]]
    asked: dict[int, Asked]
    white_is_off: float


class LightLearning:
    """``same_points`` of a frame in the light that is known, ``geometry`` of its kind; ``forget``: the light of a frame
    is another one now."""

    def __init__(
        self,
        light: RawLight,
        same_points: Callable[[RawFrame], SamePoints],
        geometry: Callable[[RawFrame], StereoGeometry],
        forget: Callable[[RawFrame], None],
    ) -> None:
        self._light, self._same_points, self._geometry, self._forget = light, same_points, geometry, forget
        self.asked: dict[int, Asked] = {}  # by the number of dimensions, as what is known
        self._lock = threading.RLock()
        self.white_is_off = 0.0  # see FallOff.spread; 0: the white image fits, or there is none

    @property
    def memory(self) -> LightMemory:
        """For a checkpoint."""
        return LightMemory(dict(self._light.known), dict(self.asked), self.white_is_off)

    @memory.setter
    def memory(self, memory: LightMemory) -> None:
        self._light.known, self.asked = dict(memory.known), dict(memory.asked)
        self.white_is_off = memory.white_is_off

    @property
    def frames(self) -> list[int]:
        """Numbers of those that something was learnt from."""
        return sorted({light.since for lights in self._light.known.values() for light in lights})

    def see(self, raw: RawFrame) -> None:
        """Learn from a frame if it is newer than all before it, and there is something to learn."""
        with self._lock:
            kind = raw.image.ndim
            asked = self.asked.get(kind)
            if asked is None:
                asked = Asked(raw.index, raw.index, False)
            elif not asked.is_due(raw):
                return
            before = self._light.known.get(kind, ())
            begun = self._light.begin_with(raw)  # raises for an image of another size, which teaches nothing
            # points are looked up with what is known by now, and ask for the light again
            self.asked[kind] = Asked(asked.first, raw.index, False)
            if self._learns(raw):
                self.asked[kind] = self.asked[kind]._replace(is_known=True)
                return
            tells_more = not before or begun.level > BRIGHTER * before[-1].level
            kept = tells_more and not (before and self._light.is_measured)
            self._light.known[kind] = (*before, begun) if kept else before
            self._forget(raw)

    def _learns(self, raw: RawFrame) -> bool:
        """Whether the frame shows how light falls off: a white image fits, or is corrected, or there was none."""
        for n in range(ROUNDS):
            found = fall_off(self._same_points(raw), self._geometry(raw))
            if found is None:
                return False
            if n == 0 and self._light.is_measured:
                if not found.is_other_light:
                    return True
                off = found.spread
            self._light.correct(raw, found)
            self._forget(raw)
        if self._light.is_measured:
            self.white_is_off = off
        return True
