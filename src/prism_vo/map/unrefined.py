# SPDX-License-Identifier: Apache-2.0
"""Frames between keyframes: tracked with the first depths of a keyframe, located once more when those are optimised."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.types import PosedFrame
from prism_vo.window.keyframe import Keyframe
from prism_vo.window.locate import Located

MOST = 16  # frames kept until the next keyframe; a camera at rest: the oldest keep their tracked pose
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


@dataclass
class Unrefined:
    """Frames since the last keyframe."""

    waiting: list[tuple[PlacedFrame, PosedFrame]] = field(default_factory=list)
    refined: list[tuple[PlacedFrame, PosedFrame]] = field(
        default_factory=list
    )  # that may have to be located again

    def add(self, placed: PlacedFrame, posed: PosedFrame) -> None:
        """One more."""
        self.waiting.append((placed, posed))
        del self.waiting[:-MOST]

    def frames(self) -> list[PlacedFrame]:
        """Those whose pose may still change."""
        return [placed for placed, _ in (*self.refined, *self.waiting)]

    def clear(self) -> None:
        """They keep their tracked poses."""
        self.waiting, self.refined = [], []

    def again(self) -> None:
        """The points that frames were located against have changed all at once."""
        self.waiting, self.refined = [*self.refined, *self.waiting], []

    def refine(self, keyframes: Iterable[Keyframe], locate: Locate, keep: bool = False) -> None:
        """Locate all of them against the optimised points; those whose keyframe has left keep their pose.

        ``keep``: they may have to be located again.
        """
        poses = {k.id: k.pose for k in keyframes}
        for placed, posed in self.waiting:
            if placed.keyframe not in poses:
                continue
            reference = poses[placed.keyframe]
            located = locate(replace(posed, T_view_world=placed.T_frame_ref @ reference))
            if located is not None:
                placed.T_frame_ref = se3.renormalised(located.T_view_world @ se3.inverse(reference))
                placed.covariance = located.covariance
        refined = [*self.refined, *self.waiting][-MOST:] if keep else []
        self.waiting, self.refined = [], refined
