# SPDX-License-Identifier: Apache-2.0
"""Where a pose is refused: another one against the same keyframe, then the older ones of the window, newest first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.optics.view import FocusedView
from prism_vo.tracking.brightness import COVERED, Brightness
from prism_vo.tracking.judge import Judge, Verdict
from prism_vo.tracking.motion import Motion
from prism_vo.tracking.reference import KeyframeDepth, Reference
from prism_vo.tracking.track import Track
from prism_vo.tracking.tracker import CLEARLY, Tracker
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
    """Align with each keyframe from the last pose, from the keyframe's own, and turned by what the image has shifted.

    ``view``: as the map sees it.
    """
    for keyframe in keyframes:
        if np.isfinite(keyframe.variance).sum() < LEAST_PIXELS:
            continue
        reference = tracker.reference(keyframe)
        T_world_keyframe = se3.inverse(keyframe.T_view_world)
        guesses = [motion.T_view_world @ T_world_keyframe, np.eye(4)]
        if motion.way is not None:
            guesses.append(motion.foreseen(motion.lost + motion.copies) @ T_world_keyframe)
        guesses += tracker.turned(frame, reference)
        lights = tracker.lights(frame, reference, Brightness(frame.exposure / keyframe.exposure))
        track = tracker.align(frame.pyramid, reference, guesses, lights, motion.expected)
        if not (track.ok and track.inliers > LEAST_INLIERS and track.brightness.zones > LEAST_ZONES):
            continue
        verdict = judge.recovered(frame, view, reference, track, motion)
        if verdict.believed:
            posed = reference.place(frame, track.T_frame_ref, track.brightness)
            return Recovery(posed, track, verdict, keyframe.exposure)
    return None


def judged(
    tracker: Tracker,
    judge: Judge,
    frame: Frame,
    view: FocusedView,
    reference: Reference,
    track: Track,
    motion: Motion,
) -> tuple[Track, Verdict]:
    """A track and what is thought of it, or of another one in its place.

    A pose that is refused may be a false minimum on the way to the true one: a camera that turns at once. The whole
    image must fit there: what covers a part of it may show the scene from another place.
    """
    verdict = judge(frame, view, reference, track, motion)
    if not verdict.may_be_elsewhere:
        return track, verdict
    other = tracker.search(frame, reference, motion)
    if not (other.is_better_than(track, CLEARLY) and other.brightness.zones >= COVERED):
        return track, verdict
    found = judge(frame, view, reference, other, motion, again=True)
    return (other, found) if found.believed else (track, verdict)
