# SPDX-License-Identifier: Apache-2.0
"""Frames between keyframes: tracked with the first depths of a keyframe, located once more when those are optimised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.map.between import Locate, PlacedFrame, TrackedFrame, locate_between
from prism_vo.tracking.brightness import ZoneAgreement
from prism_vo.types import PosedFrame
from prism_vo.window.keyframe import Keyframe

MOST = 16  # frames kept until the next keyframe; a camera at rest: the oldest keep their tracked pose
MOVED = 0.02  # of the way between two keyframes, by which they must have moved for frames between to be located again


@dataclass(frozen=True)
class RefinedFrame:
    """A frame that was located, and how its keyframe and the newest one lay then."""

    tracked: TrackedFrame
    newest: int  # id
    T_newest_ref: Array

    def start(self, poses: Mapping[int, Array]) -> Array | None:
        """T_frame_ref from where to locate it once more; None: the two keyframes are as they were, or have left.

        Depths that were wrong moved the frame and the newest keyframe alike, each by its share of the way.
        """
        placed = self.tracked.placed
        if placed.keyframe not in poses or self.newest not in poses:
            return None
        before, T = self.T_newest_ref, placed.T_frame_ref
        now = poses[self.newest] @ se3.inverse(poses[placed.keyframe])
        change = se3.log(se3.renormalised(now @ se3.inverse(before)))
        if np.linalg.norm(change) < MOVED * np.linalg.norm(se3.log(se3.renormalised(before))):
            return None
        way, own = se3.inverse(before)[:3, 3], se3.inverse(T)[:3, 3]
        share = float(np.clip(own @ way / max(float(way @ way), 1e-12), 0.0, 1.0))
        carried = se3.adjoint(T @ se3.inverse(before)) @ change
        return se3.renormalised(se3.exp(share * carried) @ T)


@dataclass
class Unrefined:
    """Frames since the last keyframe."""

    waiting: list[TrackedFrame] = field(default_factory=list)
    refined: list[RefinedFrame] = field(default_factory=list)  # that may have to be located again

    def add(self, placed: PlacedFrame, posed: PosedFrame, covered: ZoneAgreement | None = None) -> None:
        """One more."""
        self.waiting.append(TrackedFrame(placed, posed.image, covered))
        del self.waiting[:-MOST]

    def frames(self) -> list[PlacedFrame]:
        """Those whose pose may still change."""
        return [each.placed for each in (*(r.tracked for r in self.refined), *self.waiting)]

    def clear(self) -> None:
        """They keep their tracked poses."""
        self.waiting, self.refined = [], []

    def again(self) -> None:
        """The points that frames were located against have changed all at once."""
        self.waiting, self.refined = [*(each.tracked for each in self.refined), *self.waiting], []

    def refine(self, keyframes: Sequence[Keyframe], locate: Locate, keep: bool = False) -> None:
        """Locate all of them against the optimised points; those whose keyframe has left keep their pose.

        ``keep``: they may have to be located again. That is done when keyframes moved against each other.
        """
        poses = {k.id: k.pose for k in keyframes}
        done = [_located_again(each, poses, locate) for each in self.refined]
        waiting = [each for each in self.waiting if each.placed.keyframe in poses]
        locate_between(waiting, keyframes, locate)
        newest = next(reversed(poses), -1)
        for tracked in waiting:
            apart = poses[newest] @ se3.inverse(poses[tracked.placed.keyframe])
            done.append(RefinedFrame(tracked, newest, apart))
        self.waiting, self.refined = [], done[-MOST:] if keep else []


def _located_again(frame: RefinedFrame, poses: Mapping[int, Array], locate: Locate) -> RefinedFrame:
    start = frame.start(poses)
    if start is None:
        return frame
    reference = poses[frame.tracked.placed.keyframe]
    frame.tracked.locate(start, reference, locate)
    return replace(frame, T_newest_ref=poses[frame.newest] @ se3.inverse(reference))
