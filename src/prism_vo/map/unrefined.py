# SPDX-License-Identifier: Apache-2.0
"""Frames between keyframes: tracked with the first depths of a keyframe, located once more when those are optimised."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.tracking.brightness import ZoneAgreement
from prism_vo.types import PosedFrame
from prism_vo.window.keyframe import Keyframe
from prism_vo.window.locate import Located

MOST = 16  # frames kept until the next keyframe; a camera at rest: the oldest keep their tracked pose
MOVED = 0.02  # of the way between two keyframes, by which they must have moved for frames between to be located again
# a better pose of a frame, of which zones may be covered; None: not found
Locate = Callable[[PosedFrame, ZoneAgreement | None], Located | None]


@dataclass
class PlacedFrame:
    """A frame's pose relative to a keyframe, so that later optimisation moves it."""

    time: float
    keyframe: int  # id
    T_frame_ref: Array
    covariance: Array | None = None  # (6, 6) against that keyframe: left tangent, m and rad; None: not known

    def scale(self, factor: float) -> PlacedFrame:
        """The lengths around it were wrong by a factor."""
        self.T_frame_ref = se3.scaled(self.T_frame_ref, np.zeros(3), factor)
        return self


@dataclass(frozen=True)
class TrackedFrame:
    """A frame as tracking left it, to be located once more."""

    placed: PlacedFrame
    posed: PosedFrame
    covered: ZoneAgreement | None  # zones in which something covers the scene

    def locate(self, start: Array, reference: Array, locate: Locate) -> None:
        """From ``start`` (T_frame_ref), if it is found; ``reference``: its keyframe's T_view_world."""
        located = locate(replace(self.posed, T_view_world=start @ reference), self.covered)
        if located is not None:
            self.placed.T_frame_ref = se3.renormalised(located.T_view_world @ se3.inverse(reference))
            self.placed.covariance = located.covariance


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
        self.waiting.append(TrackedFrame(placed, posed, covered))
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

    def refine(self, keyframes: Iterable[Keyframe], locate: Locate, keep: bool = False) -> None:
        """Locate all of them against the optimised points; those whose keyframe has left keep their pose.

        ``keep``: they may have to be located again. That is done when keyframes moved against each other.
        """
        poses = {k.id: k.pose for k in keyframes}
        done = [_located_again(each, poses, locate) for each in self.refined]
        for tracked in self.waiting:
            keyframe = tracked.placed.keyframe
            if keyframe not in poses:
                continue
            tracked.locate(tracked.placed.T_frame_ref, poses[keyframe], locate)
            newest = next(reversed(poses))
            done.append(RefinedFrame(tracked, newest, poses[newest] @ se3.inverse(poses[keyframe])))
        self.waiting, self.refined = [], done[-MOST:] if keep else []


def _located_again(frame: RefinedFrame, poses: Mapping[int, Array], locate: Locate) -> RefinedFrame:
    start = frame.start(poses)
    if start is None:
        return frame
    reference = poses[frame.tracked.placed.keyframe]
    frame.tracked.locate(start, reference, locate)
    return replace(frame, T_newest_ref=poses[frame.newest] @ se3.inverse(reference))
