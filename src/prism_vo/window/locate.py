# SPDX-License-Identifier: Apache-2.0
"""The pose of a frame that is no keyframe, from the patterns of all active points in their own host keyframes.

This is the keyframe's share of the bundle adjustment with everything else held: unlike an alignment with one reference
image it averages the noise of all hosts, and uses each depth where it was optimised.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.arrays import Array, Mask
from prism_vo.linear.descent import Damping, descend
from prism_vo.linear.scaling import damped_step, inverse
from prism_vo.points.pattern import IN, NONE, is_in_view
from prism_vo.window.state import State
from prism_vo.window.terms.photometric import FrameEquations, PhotometricTerm, settle_borders
from prism_vo.window.uncertainty import honest

SMALL_STEP = 1e-5  # m, rad
LEAST_INLIERS = 100  # residuals that must agree
LEAST_INLIER_SHARE = 0.5  # of those in view
LEAST_CONFIRMED_SHARE = 0.2  # the same, where something else confirms the pose
DAMPING = Damping(start=1e-4, fall=0.1, least=1e-8, least_after_refusal=0.3, most=10.0)


@dataclass
class _LocateProblem:
    """Only the pose of the last frame moves."""

    term: PhotometricTerm

    def linearize(self, state: State) -> FrameEquations:
        """Photometric residuals in the last frame."""
        return self.term.of_last_pose(state)

    def step(self, at: FrameEquations, state: State, damping: float) -> Array | None:
        """Tangent (6,) of the last frame."""
        return damped_step(at.h, at.b, damping)

    def moved(self, state: State, step: Array) -> State:
        """The last frame after a left increment."""
        poses = state.base_pose.copy()
        poses[-1] = se3.renormalised(se3.exp(step) @ poses[-1])
        return replace(state, base_pose=poses)

    def accepted(self, at: FrameEquations) -> None:
        """Residuals that leave the image from here on keep their present energy."""
        self.term = self.term.with_costs_of(at.photometric)

    def is_negligible(self, step: Array, state: State) -> bool:
        """Whether the pose hardly moves."""
        return bool(np.abs(step).max() < SMALL_STEP)

    def is_over(self, step: Array, state: State, taken: bool) -> bool:
        """Whether the pose hardly moved, or would hardly have."""
        return self.is_negligible(step, state)


@dataclass(frozen=True)
class Located:
    """The pose of a frame, and how well it is known against the window."""

    T_view_world: Array
    covariance: Array | None  # (6, 6) of the left tangent, m and rad; None: some direction is not known
    energy: float = 0.0  # of a residual in view, outliers at what they count at most
    share: float = 1.0  # of the residuals in view that agree

    @property
    def is_sure(self) -> bool:
        """Needs nothing else to confirm it."""
        return self.share > LEAST_INLIER_SHARE

    def is_better_than(self, other: Located | None) -> bool:
        """Fits the same image better."""
        return other is None or self.energy < other.energy


@dataclass(frozen=True)
class Attempt:
    """Where the search for a pose ended."""

    T_view_world: Array
    status: NDArray[np.int8]  # (N,) of the points' residuals in the frame
    located: Located | None


def locate(
    term: PhotometricTerm, state: State, iterations: int, noise2: float = 1.0, hidden: Mask | None = None
) -> Attempt:
    """The last frame of ``state``, which hosts no points and has moved from no first estimate; not located if its pose
    cannot be determined.

    ``noise2``: variance of the residuals; ``hidden``: points (N,) that something covers in that frame.
    """
    only_last = np.full((len(term.points), len(term.slots)), NONE, np.int8)
    only_last[:, -1] = IN if hidden is None else np.where(hidden, NONE, IN)
    term = replace(term, points=replace(term.points, residual_status=only_last))
    start = term.of_last_pose(state)
    settled, dropped, _ = settle_borders(term, start.photometric)
    start = replace(start, energy=start.energy - dropped)
    found = descend(_LocateProblem(settled), state, start, DAMPING, iterations)
    pose, status = found.state.base_pose[-1], found.at.photometric.status[:, -1]
    seen, counted = int((status == IN).sum()), int(is_in_view(status).sum())
    if found.failed or seen <= LEAST_INLIERS or seen <= LEAST_CONFIRMED_SHARE * counted:
        return Attempt(pose, status, None)
    inner = inverse(found.at.h)
    covariance = None if inner is None else honest(noise2 * inner)
    return Attempt(pose, status, Located(pose, covariance, float(found.at.energy / counted), seen / counted))
