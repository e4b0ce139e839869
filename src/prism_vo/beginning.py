# SPDX-License-Identifier: Apache-2.0
"""The first frames of a run, kept until its focus is settled, so that it can begin again with a better one.

A map that began with a wrong focus cannot be put right by a factor: which points it has was decided while depth and
parallax contradicted each other, and those that agreed with the wrong focus by chance are the ones that stayed. They
hold back a tenth of the error, which is 2 to 3 % of scale in a street.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from prism_vo.tracking.track import Track
from prism_vo.types import Frame
from prism_vo.window.agreement import CONTRADICTED
from prism_vo.window.focus_watch import LEAST_KEYFRAMES

MOST_FRAMES = 64
MOST_BYTES = 128 << 20  # of raw and focused images


KEYFRAMES_APART = 3  # between attempts to explain zones that fit nowhere by another focus
TRIES = 3  # of these; then something covers the scene
MORE = 2.0  # times the keyframes that a focus was found with: half of its variance at the most
BETTER = 0.95  # of a residual, at the most, that speaks for another focus
CLEARLY = 4.0  # σ of the slope that speak for another focus, if they vanish with it


@dataclass(frozen=True)
class Fit:
    """How well the frames of an attempt fit."""

    poses: int
    segments: int
    is_covered: bool  # a good part of a keyframe
    zones: int  # that are covered in the window's keyframes
    residual: float  # of the middle track
    slope_excess: (
        float  # σ by which lengths by parallax differ from measured ones, by a factor; NaN: not known
    )

    def is_better_than(self, first: Fit) -> bool:
        """Whether an attempt with another focus is better than the one with the first: it loses and covers nothing.

        Where zones fit nowhere, in the first or in this one, the whole image must fit better: a wrong focus leaves
        residuals 15 to 25 % larger than the right one, while one that follows what really covers the scene makes them
        larger, or leaves them; or lengths by parallax and by depth that differed clearly must agree with it.
        """
        if not self._has_frames_of(first) or (first.is_covered and self.zones > first.zones):
            return False
        allowed = np.fmax(CONTRADICTED, first.slope_excess)
        if self.slope_excess > allowed:
            return False
        fits_all = not first.is_covered and not self.is_covered
        agrees = first.slope_excess > CLEARLY and self.slope_excess < CONTRADICTED
        return (
            fits_all or self.residual < BETTER * first.residual or (agrees and self.residual < first.residual)
        )

    def keeps(self, other: Fit) -> bool:
        """Whether it has all that another attempt has: frames, and zones that fit, or else images that fit better.

        Of two attempts that are both better than the first, the later began with a focus nearer to the right one.
        """
        if not self._has_frames_of(other):
            return False
        fit = self.zones <= other.zones if other.is_covered else not self.is_covered
        return fit or self.residual < other.residual

    def _has_frames_of(self, other: Fit) -> bool:
        return self.poses >= other.poses and self.segments == other.segments


@dataclass
class Beginning:
    """All frames so far, or none, once nobody will ask for them."""

    frames: list[Frame] = field(default_factory=list)  # without their pyramids
    residuals: list[float] = field(default_factory=list)  # of the tracks among them
    is_whole: bool = True
    size: int = 0  # bytes
    refused: int = 0  # attempts that were no better
    focus: float | None = None  # mm, that the run began again with
    keyframes: int = 0  # that it was found with

    def add(self, frame: Frame) -> None:
        """One more; with too many of them the run cannot begin again."""
        if not self.is_whole:
            return
        self.frames.append(replace(frame, pyramid=[]))
        self.size += frame.source.image.nbytes + frame.focused.image.nbytes
        if len(self.frames) > MOST_FRAMES or self.size > MOST_BYTES:
            self.close()

    def note(self, track: Track | None) -> None:
        """How it was tracked."""
        if self.is_whole and track is not None:
            self.residuals.append(track.rms)

    def may_try(self, keyframes: int) -> bool:
        """Whether so many keyframes are enough for one more attempt to explain zones that fit nowhere."""
        return self.is_whole and keyframes >= LEAST_KEYFRAMES + KEYFRAMES_APART * self.refused

    def begun(self, focus: float, residuals: list[float]) -> None:
        """The run began again with a focus (mm)."""
        self.focus, self.residuals = focus, residuals

    def may_improve(self, keyframes: int) -> bool:
        """Whether a run that began again knows so much more now that the focus it began with may be another one."""
        return self.is_whole and self.focus is not None and keyframes >= MORE * self.keyframes

    def refuse(self) -> None:
        """An attempt was no better; a later one knows more."""
        self.refused += 1
        if self.refused >= TRIES:
            self.close()

    def close(self) -> None:
        """The focus is settled, or the run cannot begin again."""
        self.frames, self.residuals, self.is_whole, self.size = [], [], False, 0
