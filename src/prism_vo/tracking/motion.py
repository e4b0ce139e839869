# SPDX-License-Identifier: Apache-2.0
"""What is known about the camera's motion when a frame comes in. Immutable: every event makes a new one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.tracking.brightness import Brightness
from prism_vo.tracking.track import Expected, Track
from prism_vo.types import UNKNOWN_EXPOSURE, PosedFrame

LEAST_SHIFTS, MOST_SHIFTS = 5, 10  # frames of a map that tell how far zones lie beside their places
FEWEST_SURPRISES, MOST_SURPRISES = 3, 10  # frames that tell how evenly the camera moves
TRIED_ROTATIONS = (0.02, 0.05)  # rad about each axis, when the plain guesses fail


@dataclass(frozen=True)
class Motion:
    """The last frame with a pose, how it got there, and how well frames have been tracked since."""

    T_view_world: Array = field(default_factory=lambda: np.eye(4))
    step: Array = field(default_factory=lambda: np.eye(4))  # from the frame before it
    brightness: Brightness = field(default_factory=Brightness)  # of it, against the reference
    exposure: float = UNKNOWN_EXPOSURE
    expected: Expected = field(default_factory=Expected)  # residuals of the last track that was believed
    first_rms: float | None = (
        None  # relative residual of the first frame tracked against the present reference
    )
    lost: int = 0  # frames since the last one with a pose
    was_moving: bool = False  # when it was last seen without anything before it, maybe in the segment before
    references: int = 0  # keyframes of the map that frames were tracked against
    shifts: tuple[float, ...] = ()  # by which zones of the map's first frames lay beside their places, σ
    way: Array | None = None  # the last step from frame to frame, kept over a loss; None: not known
    surprises: tuple[float, ...] = ()  # px by which the last frames lay beside where such steps led
    # of the last frame's image that came since, and frames that could not be read: the camera may have gone on unseen
    copies: int = 0
    depth_is_usual: bool = False  # keyframes have depth: a frame without it is not confirmed by anything

    @property
    def usual_shift(self) -> float:
        """Median of the map's first frames; 0: not known yet."""
        return float(np.median(self.shifts)) if len(self.shifts) >= LEAST_SHIFTS else 0.0

    @property
    def usual_surprise(self) -> float | None:
        """px by which frames lie beside where the motion leads, in the middle; None: it is not known where it leads."""
        known = self.way is not None and len(self.surprises) >= FEWEST_SURPRISES
        return float(np.median(self.surprises)) if known else None

    def foreseen(self, frames: int) -> Array:
        """T_view_world some frames after the last one with a pose, if the camera goes on as it did then."""
        way = np.eye(4) if self.way is None else self.way
        return np.linalg.matrix_power(way, frames) @ self.T_view_world

    def leads_to(self) -> list[Array]:
        """T_view_world of the next frame, if the camera goes on as it did, the likeliest first: over frames without a
        pose, and over copies and unreadable ones, during which it may have stood still or not."""
        out = [self.step @ self.T_view_world]
        if self.lost and self.way is not None:
            out.insert(0, self.foreseen(self.lost + self.copies + 1))
        elif self.copies:
            out.append(se3.exp((1 + self.copies) * se3.log(self.step)) @ self.T_view_world)
        return out

    def after(
        self,
        posed: PosedFrame,
        track: Track,
        shift: float = 0.0,
        is_example: bool = True,
        surprise: float | None = None,
    ) -> Motion:
        """A frame was tracked; ``shift``: of its zones, σ, 0: not known; ``is_example``: of how well frames fit;
        ``surprise``: px beside where the motion led."""
        step = posed.T_view_world @ se3.inverse(self.T_view_world)
        went_on = self._went_on(step)
        if went_on:  # of each of the frames that came since, in the mean
            step = se3.exp(se3.log(se3.renormalised(step)) / (self.lost + self.copies + 1))
        told = () if surprise is None or self.way is None or self.lost else (surprise,)
        return Motion(
            posed.T_view_world,
            step,
            track.brightness,
            posed.frame.exposure,
            track.expected_next(self.expected) if is_example else self.expected,
            track.relative_rms if self.first_rms is None and not track.is_still else self.first_rms,
            was_moving=self._is_moving(track),
            references=self.references,
            shifts=(*self.shifts, shift)[:MOST_SHIFTS] if shift else self.shifts,
            way=step if went_on or not self.copies else None,
            surprises=(*self.surprises, *told)[-MOST_SURPRISES:],
            depth_is_usual=self.depth_is_usual,
        )

    def _went_on(self, step: Array) -> bool:
        """Whether the camera moved over frames without a pose; over copies and unreadable ones it may have stood still,
        if it came no farther than half-way (in ratio) to as many steps."""
        if self.lost or not self.copies:
            return bool(self.lost)
        before, now = (np.linalg.norm(se3.log(se3.renormalised(each))) for each in (self.step, step))
        return bool(now > np.sqrt(1.0 + self.copies) * before)

    def _is_moving(self, track: Track) -> bool:
        """A rest counts once the map knows what fits well: before, a thing that goes with the camera looks like one."""
        if track.covered is not None or (track.is_still and not self.expected.is_known):
            return self.was_moving
        return not track.is_still

    def after_loss(self) -> Motion:
        """A frame could not be tracked: where the camera is, only the way it had taken tells."""
        return replace(self, step=np.eye(4), lost=self.lost + 1)

    def after_copy(self) -> Motion:
        """The last image came again, or none."""
        return replace(self, copies=self.copies + 1)

    def at_keyframe(self, T_view_world: Array, exposure: float, depth_is_usual: bool = False) -> Motion:
        """The last frame became the reference, and its pose was optimised; residuals are now in its grey levels.

        ``exposure``: another one than it was taken with, if its image was made brighter or darker;
        ``depth_is_usual``: most of the last keyframes have it.
        """
        return replace(
            self,
            T_view_world=T_view_world,
            brightness=Brightness(),
            exposure=exposure,
            expected=self.expected.at_gain(self.brightness_at(exposure).contrast),
            first_rms=None,
            references=self.references + 1,
            depth_is_usual=depth_is_usual,
        )

    def moved_to(self, T_view_world: Array) -> Motion:
        """A better pose of the last frame."""
        return replace(self, T_view_world=T_view_world)

    def scaled(self, factor: float) -> Motion:
        """All lengths were wrong by a factor; the pose itself is about to be replaced."""
        way = None if self.way is None else se3.scaled(self.way, np.zeros(3), factor)
        return replace(self, step=se3.scaled(self.step, np.zeros(3), factor), way=way)

    def recovered(self, posed: PosedFrame, track: Track) -> Motion:
        """A pose was found again, against an older keyframe: where the frame came from is not known."""
        return replace(
            self,
            step=np.eye(4),
            brightness=track.brightness,
            exposure=posed.frame.exposure,
            expected=track.expected_next(self.expected),
            lost=0,
            way=None,
            copies=0,
        )

    def brightness_at(self, exposure: float) -> Brightness:
        """What the brightness of a frame of this exposure against the reference should be."""
        return Brightness(self.brightness.gain * exposure / self.exposure, self.brightness.offset)

    def guesses(self, T_ref_world: Array, rotations: bool) -> list[Array]:
        """Hypotheses for T_frame_ref: the last step once, twice, half, not at all; where the way before a loss leads;
        after copies of an image as often as frames came; with small rotations."""
        T_world_ref = se3.inverse(T_ref_world)
        previous, step = self.T_view_world @ T_world_ref, self.step
        out = [step @ previous, step @ step @ previous, se3.exp(0.5 * se3.log(step)) @ previous, previous]
        on_the_way = [T_view_world @ T_world_ref for T_view_world in self.leads_to()]
        out = [*on_the_way[:-1], *out] if self.lost else [*out, *on_the_way[1:]]
        if rotations:
            for angle in TRIED_ROTATIONS:
                for axis in range(3):
                    for sign in (-1.0, 1.0):
                        turn = np.zeros(6)
                        turn[3 + axis] = sign * angle
                        out.append(se3.exp(turn) @ step @ previous)
        return out
