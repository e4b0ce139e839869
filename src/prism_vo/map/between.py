# SPDX-License-Identifier: Apache-2.0
"""A frame between keyframes, located against the points of the window; where that goes astray, from its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.map.span import Span
from prism_vo.tracking.brightness import ZoneAgreement
from prism_vo.types import PosedImage
from prism_vo.window.keyframe import Keyframe
from prism_vo.window.locate import Located

ASTRAY = 0.5  # of the way between the frames before and after, beside which a frame is not expected, and …
DEVIATIONS = 3.0  # … its own σ, and …
LEAST_BESIDE = 1e-4  # … m
# a better pose of a frame, of which zones may be covered; None: not found
Locate = Callable[[PosedImage, ZoneAgreement | None], Located | None]


@dataclass
class PlacedFrame:
    """A frame's pose relative to a keyframe, so that later optimisation moves it."""

    time: float
    keyframe: int  # id
    T_frame_ref: Array
    covariance: Array | None = None  # (6, 6) against that keyframe: left tangent, m and rad; None: not known
    span: Span | None = None  # to the keyframe after it; None: there is none
    copies: tuple[float, ...] = ()  # times at which the same image came again
    shown: bool = True  # whether its pose is that of its own time; not, if its image was of an earlier one

    def scale(self, factor: float) -> PlacedFrame:
        """The lengths around it were wrong by a factor."""
        self.T_frame_ref = se3.scaled(self.T_frame_ref, np.zeros(3), factor)
        self.span = None if self.span is None else self.span.scaled(factor)
        return self

    @property
    def times(self) -> tuple[float, ...]:
        """At which its pose holds."""
        return (self.time, *self.copies) if self.shown else self.copies

    def T_view_world(self, keyframes: Mapping[int, Array]) -> Array:
        """Its pose between its keyframes as they are now."""
        change = None if self.span is None else self.span.change(self.keyframe, keyframes)
        T = self.T_frame_ref
        if self.span is not None and change is not None:
            T = self.span.followed(T, change)
        return T @ keyframes[self.keyframe]


@dataclass(frozen=True)
class TrackedFrame:
    """A frame as tracking left it, to be located once more."""

    placed: PlacedFrame
    posed: PosedImage
    covered: ZoneAgreement | None  # zones in which something covers the scene

    def found(self, start: Array, locate: Locate) -> Located | None:
        """Located from ``start`` (T_view_world)."""
        return locate(replace(self.posed, T_view_world=start), self.covered)

    def put(self, located: Located, reference: Array) -> None:
        """At the pose that was found; ``reference``: its keyframe's T_view_world."""
        self.placed.T_frame_ref = se3.renormalised(located.T_view_world @ se3.inverse(reference))
        self.placed.covariance = located.covariance

    def locate(self, start: Array, reference: Array, locate: Locate) -> Located | None:
        """From ``start`` (T_frame_ref), and put there, if it is found and needs nothing to confirm it."""
        located = self.found(start @ reference, locate)
        if located is None or not located.is_sure:
            return None
        self.put(located, reference)
        return located


class Known(NamedTuple):
    """Where the camera was at a time."""

    time: float
    T_view_world: Array


@dataclass(frozen=True)
class Way:
    """Of the camera, past a frame whose neighbours are known."""

    T_view_world: Array  # half-way, where the frame is expected
    length: float  # m, between the neighbours

    @classmethod
    def past(cls, time: float, known: Sequence[Known]) -> Way | None:
        """From the last one before a time to the first one after it; None: one of them is missing."""
        before = max((k for k in known if k.time < time), key=lambda k: k.time, default=None)
        after = min((k for k in known if k.time > time), key=lambda k: k.time, default=None)
        if before is None or after is None:
            return None
        step = se3.log(se3.renormalised(after.T_view_world @ se3.inverse(before.T_view_world)))
        share = (time - before.time) / (after.time - before.time)
        pose = se3.renormalised(se3.exp(share * step) @ before.T_view_world)
        return cls(pose, float(np.linalg.norm(_centre(after.T_view_world) - _centre(before.T_view_world))))

    def is_beside(self, located: Located) -> bool:
        """Whether a frame was found far from where it is expected."""
        beside = float(np.linalg.norm(_centre(located.T_view_world) - _centre(self.T_view_world)))
        known = located.covariance is not None
        sigma = float(np.sqrt(np.trace(located.covariance[:3, :3]))) if known else 0.0  # type: ignore[index]
        return beside > max(ASTRAY * self.length, DEVIATIONS * sigma, LEAST_BESIDE)


def locate_between(frames: Sequence[TrackedFrame], keyframes: Sequence[Keyframe], locate: Locate) -> None:
    """Locate frames against the optimised points; those that are not found, or far beside the way between their
    neighbours, once more from there.

    A track against a single image can be off by more than locating bridges, above all with something before the lens.
    Nothing is made up: a frame that is not found from there either keeps its tracked pose.
    """
    poses = {k.id: k.pose for k in keyframes}
    found = [f.locate(f.placed.T_frame_ref, poses[f.placed.keyframe], locate) for f in frames]
    for n, frame in enumerate(frames):
        others = [Known(k.time, k.pose) for k in keyframes]
        others += [
            Known(f.placed.time, o.T_view_world)
            for m, (f, o) in enumerate(zip(frames, found))
            if o is not None and m != n
        ]
        before, way = found[n], Way.past(frame.placed.time, others)
        if way is None or not (before is None or way.is_beside(before)):
            continue
        again = frame.found(way.T_view_world, locate)
        if again is None or way.is_beside(again) or not again.is_better_than(before):
            continue
        frame.put(again, poses[frame.placed.keyframe])
        found[n] = again


def _centre(T_view_world: Array) -> Array:
    return np.asarray(se3.inverse(T_view_world)[:3, 3])
