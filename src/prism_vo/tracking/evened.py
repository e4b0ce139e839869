# SPDX-License-Identifier: Apache-2.0
"""A frame that fits badly is tracked again without the bands of a lamp, if it shows any."""

from __future__ import annotations

from dataclasses import dataclass

from prism_vo.tracking.judge import Judge
from prism_vo.tracking.motion import Motion
from prism_vo.tracking.reference import Reference
from prism_vo.tracking.track import Track
from prism_vo.tracking.tracker import Tracker
from prism_vo.types import Frame

ROUNDS = 2  # bands are found at a rough pose, then at a better one


@dataclass(frozen=True)
class Evened:
    """A frame as it was tracked."""

    frame: Frame
    track: Track
    banded: bool  # it had bands


def track_without_bands(
    tracker: Tracker, judge: Judge, frame: Frame, reference: Reference, motion: Motion, banded: bool
) -> Evened:
    """Track a frame; where there is doubt, or ``banded`` says that frames before it had bands, look for them."""
    track, found = tracker.track(frame, reference, motion), False
    for _ in range(ROUNDS):
        if not (banded or judge.doubts(track, motion)):
            break
        evened = tracker.without_bands(frame, reference, track.T_frame_ref, banded)
        if evened is None:
            break
        frame, found, banded = evened, True, True
        track = tracker.track(frame, reference, motion)
    return Evened(frame, track, found)
