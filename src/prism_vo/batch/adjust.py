# SPDX-License-Identifier: Apache-2.0
"""The batch adjustment: damped descent, σ scaled by what is left, outliers taken out, covariance at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from prism_vo.arrays import Array, Mask
from prism_vo.batch.numbers import COUNT, KAPPA
from prism_vo.batch.projection import POSE, project
from prism_vo.batch.records import BatchState, Observations
from prism_vo.batch.system import BatchSystem, CameraPrior, linearize, residuals_of
from prism_vo.errors import DegenerateError
from prism_vo.linear.descent import Damping, descend

DAMPING = Damping(
    start=1e-6,  # some combinations of the camera's numbers are known far worse than each alone
    fall=0.1,
    least=1e-12,
    least_after_refusal=1e-5,
    most=1e6,
    after_failure=10.0,
    least_after_failure=1e-5,
)
ITERATIONS = 40
SMALL_GAIN = (
    0.1  # of the energy, a sum of squares in σ over all sightings: what is left moves single points only
)
# Steps of poses and points alone after each step of everything. Where F and w_∞ trade against each other the valley of
# least energy is curved: poses and points that only went straight on leave it, and the descent would creep along it
SETTLING_STEPS = 2
SETTLING_DAMPING = 1e-7
ROUNDS = 3  # solves with σ and outliers judged anew
FAR_OUT = 5.0  # σ: such an observation is none of this point
RAYLEIGH_MEDIAN = 1.1774  # of the length of a pair of unit normal numbers
NORMAL_MEDIAN = 0.6745  # of the size of one
UNSUSPICIOUS = 1.2  # root mean square of a point's residuals in σ that chance explains
FEWEST_SIGHTINGS = 2  # of a point; else it says nothing of the poses
LARGEST_DEPTH_STEP = 0.5  # of the inverse depth, or …
LEAST_INV_DEPTH = 0.02  # … of this share of the median one
Say = Callable[[str], None]


@dataclass(frozen=True)
class Adjusted:
    """The state with the least energy, and what is known about it."""

    state: BatchState
    seen: Observations  # those that counted, with σ as they turned out to be
    system: BatchSystem  # at the state
    free: Mask  # (M,) variables that could move
    position_factor: float  # σ of positions as they turned out over those stated
    slope_factor: float
    energies: list[float]
    given: int  # sightings, outliers included

    @property
    def residuals(self) -> Array:
        """Observed less predicted: x, y in raw px, slope (N, 3)."""
        predicted = project(self.state, self.seen).predicted
        return np.concatenate([self.seen.xy, self.seen.slope[:, None]], 1) - predicted


class _Move(NamedTuple):
    variables: Array  # (M,)
    points: Array  # (P, 3)
    promised: float  # by how much the energy falls if the problem is as it looks


@dataclass
class _BatchProblem:
    seen: Observations
    prior: CameraPrior
    free: Mask

    def linearize(self, state: BatchState) -> BatchSystem:
        return linearize(state, self.seen, self.prior)

    def step(self, at: BatchSystem, state: BatchState, damping: float) -> _Move | None:
        step = at.step(self.free, damping)
        if step is None:
            return None
        promised = -float(at.b @ step[0] + (at.b_points * step[1]).sum())
        return _Move(*step, promised)

    def moved(self, state: BatchState, step: _Move) -> BatchState:
        state = _after(state, step.variables, step.points)
        if not self.free[:COUNT].any():
            return state
        camera_held = self.free.copy()
        camera_held[:COUNT] = False
        for _ in range(SETTLING_STEPS):
            settling = self.linearize(state).step(camera_held, SETTLING_DAMPING)
            if settling is None:
                break
            state = _after(state, *settling)
        return state

    def accepted(self, at: BatchSystem) -> None:
        """Nothing adapts within a solve."""

    def is_negligible(self, step: _Move, state: BatchState) -> bool:
        return False

    def is_over(self, step: _Move, state: BatchState, taken: bool) -> bool:
        return step.promised < SMALL_GAIN


def _after(state: BatchState, variables: Array, points: Array) -> BatchState:
    """Moved by increments (M,) and (P, 3), inverse depths by no more than makes sense in one step."""
    q = np.abs(state.points[:, 2])
    limit = LARGEST_DEPTH_STEP * np.maximum(q, LEAST_INV_DEPTH * np.median(q))
    points = points.copy()
    points[:, 2] = np.clip(points[:, 2], -limit, limit)
    return state.moved(variables[:COUNT], variables[COUNT:].reshape(-1, POSE), points)


def adjust(
    state: BatchState,
    seen: Observations,
    prior: CameraPrior,
    say: Say = lambda words: None,
    fixed_pose: int = 0,
    rounds: int = ROUNDS,
) -> Adjusted:
    """Minimise over poses, points and the free numbers of the camera; gauge: one pose and what ``prior`` holds."""
    free = free_variables(prior, len(state.poses), fixed_pose)
    position, slope = 1.0, 1.0
    energies: list[float] = []
    given = len(seen)
    for turn in range(rounds):
        say(
            f"adjusting, round {turn + 1} of {rounds}: {len(seen)} sightings of {len(np.unique(seen.point))} points"
        )
        problem = _BatchProblem(seen, prior, free)
        found = descend(problem, state, problem.linearize(state), DAMPING, ITERATIONS)
        if found.failed or not np.isfinite(found.at.energy):
            raise DegenerateError(
                "The adjustment found no minimum; the recording does not determine the camera."
            )
        state, energies = found.state, [*energies, *found.energies]
        factors = spread(found.at, seen)
        position, slope = position * factors[0], slope * factors[1]
        seen = seen.rescaled(*factors)
        if turn + 1 < rounds:
            seen = judged_by_point(state, without_outliers(state, seen))
    return Adjusted(state, seen, linearize(state, seen, prior), free, position, slope, energies, given)


def free_variables(prior: CameraPrior, poses: int, fixed_pose: int) -> Mask:
    """Variables that move: the camera's numbers that are not held, and all poses but one."""
    of_poses = np.ones((poses, POSE), np.bool_)
    of_poses[fixed_pose] = False
    return np.concatenate([prior.sigma > 0, of_poses.reshape(-1)])


def spread(at: BatchSystem, seen: Observations) -> tuple[float, float]:
    """Size of the residuals of positions and of slopes in their σ, by medians; the points' own freedom is counted."""
    counted = at.residuals.root_weight[:, 0] > 0
    sloped = at.residuals.root_weight[:, 2] > 0
    rows = 2 * counted.sum() + sloped.sum()
    used = 3 * len(np.unique(seen.point[counted])) + len(at.b)
    left = np.sqrt(max(1.0 - used / max(rows, 1), 0.1))
    position = np.median(at.residuals.position_size[counted]) / RAYLEIGH_MEDIAN if counted.any() else 1.0
    slope = np.median(np.abs(at.residuals.whitened[sloped, 2])) / NORMAL_MEDIAN if sloped.any() else 1.0
    return max(float(position / left), 1e-6), max(float(slope / left), 1e-6)


def without_outliers(state: BatchState, seen: Observations) -> Observations:
    """Without sightings far from where they should be, and then without points seen too seldom."""
    left = residuals_of(project(state, seen), seen)
    keep = (left.position_size < FAR_OUT) & (np.abs(left.whitened[:, 2]) < FAR_OUT)
    keep &= left.root_weight[:, 0] > 0
    sightings = np.bincount(seen.point[keep], minlength=len(state.points))
    return seen.take(keep & (sightings[seen.point] >= FEWEST_SIGHTINGS))


def judged_by_point(state: BatchState, seen: Observations) -> Observations:
    """A point whose sightings miss by more than others counts less: its surface bends, or lies before another."""
    size = residuals_of(project(state, seen), seen).position_size
    count = np.maximum(np.bincount(seen.point, minlength=len(state.points)), 1)
    rms = np.sqrt(np.bincount(seen.point, size**2, minlength=len(state.points)) / (2.0 * count))
    worse = np.maximum(rms / UNSUSPICIOUS, 1.0)[seen.point]
    return replace(seen, whitening=seen.whitening / worse[:, None, None])


def camera_prior(values: Array, sigma: Array, kappa_held: bool = True) -> CameraPrior:
    """A prior about ``values``; κ is the unit of length unless it is to be estimated."""
    sigma = sigma.copy()
    if kappa_held:
        sigma[KAPPA] = 0.0
    return CameraPrior(values.copy(), sigma)
