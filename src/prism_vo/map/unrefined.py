# SPDX-License-Identifier: Apache-2.0
"""Frames between keyframes: tracked with the first depths of a keyframe, located once more when those are optimised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from prism_vo.arrays import Array
from prism_vo.map.between import Locate, PlacedFrame, TrackedFrame, locate_between
from prism_vo.map.span import Span
from prism_vo.tracking.brightness import ZoneAgreement
from prism_vo.types import PosedFrame
from prism_vo.window.keyframe import Keyframe

MOST = 16  # frames kept until the next keyframe; a camera at rest: the oldest keep their tracked pose
MOVED = 0.02  # of the way between two keyframes, by which they must have moved for frames between to be located again


@dataclass
class Unrefined:
    """Frames since the last keyframe."""

    waiting: list[TrackedFrame] = field(default_factory=list)
    refined: list[TrackedFrame] = field(default_factory=list)  # that may have to be located again

    def add(self, placed: PlacedFrame, posed: PosedFrame, covered: ZoneAgreement | None = None) -> None:
        """One more."""
        self.waiting.append(TrackedFrame(placed, posed.image, covered))
        del self.waiting[:-MOST]

    def frames(self) -> list[PlacedFrame]:
        """Those whose pose may still change."""
        return [each.placed for each in (*self.refined, *self.waiting)]

    def clear(self) -> None:
        """They keep their tracked poses."""
        self.waiting, self.refined = [], []

    def again(self) -> None:
        """The points that frames were located against have changed all at once."""
        self.waiting, self.refined = [*self.refined, *self.waiting], []

    def refine(self, keyframes: Sequence[Keyframe], locate: Locate, keep: bool = False) -> None:
        """Locate all of them against the optimised points; those whose keyframe has left keep their pose.

        ``keep``: they may have to be located again. That is done when keyframes moved against each other.
        """
        poses = {k.id: k.pose for k in keyframes}
        for each in self.refined:
            _locate_again(each, poses, locate)
        waiting = [each for each in self.waiting if each.placed.keyframe in poses]
        locate_between(waiting, keyframes, locate)
        for tracked in waiting:
            tracked.placed.span = Span.after(tracked.placed.keyframe, poses)
        self.waiting, self.refined = [], [*self.refined, *waiting][-MOST:] if keep else []


def _locate_again(frame: TrackedFrame, poses: Mapping[int, Array], locate: Locate) -> None:
    """If the keyframes about a frame have moved against each other: depths that were wrong moved both alike, each by
    its share of the way."""
    placed = frame.placed
    change = None if placed.span is None else placed.span.change(placed.keyframe, poses)
    if placed.span is None or change is None or np.linalg.norm(change) < MOVED * placed.span.length():
        return
    start = placed.span.followed(placed.T_frame_ref, change)
    frame.locate(start, poses[placed.keyframe], locate)
    placed.span = Span.after(placed.keyframe, poses)
