# SPDX-License-Identifier: Apache-2.0
"""A frame that fits badly is tracked again without the bands of a lamp, if it shows any."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from prism_vo.tracking.judge import Judge
from prism_vo.tracking.motion import Motion
from prism_vo.tracking.reference import Reference
from prism_vo.tracking.track import Track
from prism_vo.tracking.tracker import Tracker
from prism_vo.types import DecodedFrame, Frame

ROUNDS = 2  # against a reference, bands are found at a rough pose, then at a better one
REMEMBERED = 5  # frames without bands after which they are looked for only where there is doubt


class SeesBands(Protocol):
    """What a sensor can say about a single image."""

    def without_bands(self, frame: Any, focused: DecodedFrame) -> tuple[Any, DecodedFrame] | None:
        """Both without bands, as they are where there are none; None: it cannot tell."""
        ...


@dataclass(frozen=True)
class Lamp:
    """What is known of the bands of a lamp in a recording. Immutable: every frame makes a new one."""

    frames: int = 0  # that had bands
    since: int = REMEMBERED  # frames without any since then
    is_even: bool = False  # a raw image of this map was looked at, and its rows are lit evenly

    @property
    def is_expected(self) -> bool:
        """Whether bands are looked for in a frame that fits well, too."""
        return self.since < REMEMBERED

    def after(self, banded: bool) -> Lamp:
        """One more frame was looked at, or needed no look."""
        if banded:
            return Lamp(self.frames + 1, 0)
        return replace(self, since=min(self.since + 1, REMEMBERED))

    def in_another_map(self) -> Lamp:
        """The light may have changed since."""
        return replace(self, is_even=False)


@dataclass(frozen=True)
class Evened:
    """A frame as it was tracked."""

    frame: Frame
    track: Track
    lamp: Lamp


def first_without_bands(tracker: Tracker, sensor: SeesBands, frame: Frame, lamp: Lamp) -> tuple[Frame, Lamp]:
    """There is nothing to compare the first frame of a map with, and its depths are what that begins with."""
    evened = _even(tracker, frame, sensor)
    if evened is None or evened is frame:
        return frame, replace(lamp.after(False), is_even=evened is frame)
    return evened, lamp.after(True)


def track_without_bands(
    tracker: Tracker,
    judge: Judge,
    sensor: SeesBands,
    frame: Frame,
    reference: Reference,
    motion: Motion,
    lamp: Lamp,
) -> Evened:
    """Track a frame; where there is doubt, or bands are expected, look for them.

    The sensor sees them in the raw image alone, which frees depth from them, too. Where it cannot tell, a frame is
    compared with the reference.
    """
    seen = None
    if not lamp.is_expected:
        seen = Evened(frame, tracker.track(frame, reference, motion), lamp.after(False))
        # that no frames are known to compare it with is no reason: bands would have been in the first one, too
        if not judge.doubts(seen.track, motion, but_inexperience=lamp.is_even):
            return seen
    evened = _even(tracker, frame, sensor)
    if evened is not None and evened is not frame:
        return Evened(evened, tracker.track(evened, reference, motion), lamp.after(True))
    seen = seen or Evened(frame, tracker.track(frame, reference, motion), lamp.after(False))
    return seen if evened is frame else _against_reference(tracker, judge, seen, reference, motion, lamp)


def _even(tracker: Tracker, frame: Frame, sensor: SeesBands) -> Frame | None:
    """With evenly lit rows, the frame itself if they are; None: its raw image cannot tell."""
    found = sensor.without_bands(frame.source, frame.focused)
    if found is None or found[0] is frame.source:
        return None if found is None else frame
    return Frame.of(*found, tracker.pyramid(found[1].image))


def _against_reference(
    tracker: Tracker, judge: Judge, seen: Evened, reference: Reference, motion: Motion, lamp: Lamp
) -> Evened:
    """The focused image alone is evened, to what the reference shows."""
    frame, track, found, expected = seen.frame, seen.track, False, lamp.is_expected
    for _ in range(ROUNDS):
        if not (expected or judge.doubts(track, motion)):
            break
        evened = tracker.without_bands(frame, reference, track.T_frame_ref, expected)
        if evened is None:
            break
        frame, found, expected = evened, True, True
        track = tracker.track(frame, reference, motion)
    return Evened(frame, track, lamp.after(found))
