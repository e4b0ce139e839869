# SPDX-License-Identifier: Apache-2.0
"""Frames between keyframes: tracked with the first depths of a keyframe, located once more when those are optimised."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.types import PosedFrame
from prism_vo.window.keyframe import Keyframe
from prism_vo.window.locate import Located

MOST = 16  # frames kept until the next keyframe; a camera at rest: the oldest keep their tracked pose
MOVED = 0.02  # of the way between two keyframes, by which they must have moved for frames between to be located again
Locate = Callable[[PosedFrame], Located | None]  # a better pose; None: not found


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
class Refined:
    """A frame that was located, and how its keyframe and the newest one lay then."""

    placed: PlacedFrame
    posed: PosedFrame
    newest: int  # id
    T_newest_ref: Array

    def start(self, poses: Mapping[int, Array]) -> Array | None:
        """T_frame_ref from where to locate it once more; None: the two keyframes are as they were, or have left.

        Depths that were wrong moved the frame and the newest keyframe alike, each by its share of the way.
        """
        if self.placed.keyframe not in poses or self.newest not in poses:
            return None
        before, T = self.T_newest_ref, self.placed.T_frame_ref
        now = poses[self.newest] @ se3.inverse(poses[self.placed.keyframe])
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

    waiting: list[tuple[PlacedFrame, PosedFrame]] = field(default_factory=list)
    refined: list[Refined] = field(default_factory=list)  # that may have to be located again

    def add(self, placed: PlacedFrame, posed: PosedFrame) -> None:
        """One more."""
        self.waiting.append((placed, posed))
        del self.waiting[:-MOST]

    def frames(self) -> list[PlacedFrame]:
        """Those whose pose may still change."""
        return [*(each.placed for each in self.refined), *(placed for placed, _ in self.waiting)]

    def clear(self) -> None:
        """They keep their tracked poses."""
        self.waiting, self.refined = [], []

    def again(self) -> None:
        """The points that frames were located against have changed all at once."""
        self.waiting = [*((each.placed, each.posed) for each in self.refined), *self.waiting]
        self.refined = []

    def refine(self, keyframes: Iterable[Keyframe], locate: Locate, keep: bool = False) -> None:
        """Locate all of them against the optimised points; those whose keyframe has left keep their pose.

        ``keep``: they may have to be located again. That is done when keyframes moved against each other.
        """
        poses = {k.id: k.pose for k in keyframes}
        newest = next(reversed(poses), 0)
        done = []
        for each in self.refined:
            start = each.start(poses)
            if start is not None:
                _locate(each.placed, each.posed, start, poses[each.placed.keyframe], locate)
                each = replace(each, T_newest_ref=_between(poses, each.placed.keyframe, each.newest))
            done.append(each)
        for placed, posed in self.waiting:
            if placed.keyframe not in poses:
                continue
            _locate(placed, posed, placed.T_frame_ref, poses[placed.keyframe], locate)
            done.append(Refined(placed, posed, newest, _between(poses, placed.keyframe, newest)))
        self.waiting, self.refined = [], done[-MOST:] if keep else []


def _locate(placed: PlacedFrame, posed: PosedFrame, start: Array, reference: Array, locate: Locate) -> None:
    located = locate(replace(posed, T_view_world=start @ reference))
    if located is not None:
        placed.T_frame_ref = se3.renormalised(located.T_view_world @ se3.inverse(reference))
        placed.covariance = located.covariance


def _between(poses: Mapping[int, Array], a: int, b: int) -> Array:
    return np.asarray(poses[b] @ se3.inverse(poses[a]))
