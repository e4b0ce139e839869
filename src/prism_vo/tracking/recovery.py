# SPDX-License-Identifier: Apache-2.0
"""After a loss: the older keyframes of the window, one after the other, newest first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.tracking.brightness import Brightness
from prism_vo.tracking.motion import Motion
from prism_vo.tracking.reference import KeyframeDepth
from prism_vo.tracking.track import Track
from prism_vo.tracking.tracker import Tracker
from prism_vo.types import Frame, PosedFrame

LEAST_PIXELS = 100  # with known depth, for a keyframe to be tried
LEAST_INLIERS = 0.7  # more than a track needs that continues a motion: here there is none to confirm it


@dataclass(frozen=True)
class Recovery:
    """A frame that was found again."""

    posed: PosedFrame
    track: Track


def relocate(
    tracker: Tracker, frame: Frame, keyframes: Iterable[KeyframeDepth], motion: Motion
) -> Recovery | None:
    """Align with each keyframe from the last pose and from the keyframe's own."""
    for keyframe in keyframes:
        if np.isfinite(keyframe.variance).sum() < LEAST_PIXELS:
            continue
        reference = tracker.reference(keyframe)
        guesses = [motion.T_view_world @ se3.inverse(keyframe.T_view_world), np.eye(4)]
        start = Brightness(frame.exposure / keyframe.exposure)
        track = tracker.align(frame.pyramid, reference, guesses, start, motion.expected)
        if track.ok and track.inliers > LEAST_INLIERS:
            return Recovery(reference.place(frame, track.T_frame_ref, track.brightness), track)
    return None
