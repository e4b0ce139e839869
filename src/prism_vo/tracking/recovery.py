# SPDX-License-Identifier: Apache-2.0
"""After a loss: the older keyframes of the window, one after the other, newest first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.optics.view import FocusedView
from prism_vo.tracking.brightness import Brightness
from prism_vo.tracking.judge import Judge, Verdict
from prism_vo.tracking.motion import Motion
from prism_vo.tracking.reference import KeyframeDepth
from prism_vo.tracking.track import Track
from prism_vo.tracking.tracker import Tracker
from prism_vo.types import Frame, PosedFrame

LEAST_PIXELS = 100  # with known depth, for a keyframe to be tried
LEAST_ZONES = 0.5  # and so is that of the image's zones that show the same
LEAST_INLIERS = 0.7  # more than a track needs that continues a motion: here there is none to confirm it


@dataclass(frozen=True)
class Recovery:
    """A frame that was found again."""

    posed: PosedFrame
    track: Track
    verdict: Verdict
    exposure: float  # of the keyframe that it was aligned with


def relocate(
    tracker: Tracker,
    judge: Judge,
    frame: Frame,
    view: FocusedView,
    keyframes: Iterable[KeyframeDepth],
    motion: Motion,
) -> Recovery | None:
    """Align with each keyframe from the last pose and from the keyframe's own; ``view``: as the map sees it."""
    for keyframe in keyframes:
        if np.isfinite(keyframe.variance).sum() < LEAST_PIXELS:
            continue
        reference = tracker.reference(keyframe)
        guesses = [motion.T_view_world @ se3.inverse(keyframe.T_view_world), np.eye(4)]
        lights = tracker.lights(frame, reference, Brightness(frame.exposure / keyframe.exposure))
        track = tracker.align(frame.pyramid, reference, guesses, lights, motion.expected)
        if not (track.ok and track.inliers > LEAST_INLIERS and track.brightness.zones > LEAST_ZONES):
            continue
        verdict = judge.recovered(frame, view, reference, track, motion)
        if verdict.believed:
            posed = reference.place(frame, track.T_frame_ref, track.brightness)
            return Recovery(posed, track, verdict, keyframe.exposure)
    return None
