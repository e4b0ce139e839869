# SPDX-License-Identifier: Apache-2.0
"""Minimisation of the window's energy by Levenberg–Marquardt."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Mask
from prism_vo.linear.descent import Damping, descend
from prism_vo.linear.schur import Step, solve
from prism_vo.points.pattern import OUTSIDE
from prism_vo.window.energy import WindowEnergy
from prism_vo.window.keyframe import BLOCK, POSE
from prism_vo.window.state import State
from prism_vo.window.system import System
from prism_vo.window.terms.photometric import settle_borders

LARGEST_ROTATION = 0.2  # rad of one step; a larger one is no step of a converging solve
SMALL_POSE_STEP, SMALL_DEPTH_STEP = 1e-6, 1e-4  # m and rad; median relative change: smaller steps end a solve
LEAST_INV_DEPTH = 0.01  # 1/m that relative changes of depth are measured against
LEAST_DAMPING = 1e-9
# of the variance of residuals: the step is half a σ long by these equations, over all keyframes and the camera, and a
# sixth of the σ that is stated; after two or three steps of a full window of a table or a room
NEGLIGIBLE = 0.25
DAMPING = Damping(
    # of the diagonal, which knows poses and depths 1e6 times better than the scale and focus they share: with 1e-4 a
    # solve in a room takes 1 % of its way to another focus, and ends because that brings little energy
    start=LEAST_DAMPING,
    fall=0.1,
    least=LEAST_DAMPING,
    least_after_refusal=1e-5,
    after_failure=100.0,
    least_after_failure=1e-3,
    small_gain=1e-4,  # with 1e-3 scale, which costs little energy, scatters twice as much from seed to seed
    nearly_there=1e-2,
)


@dataclass(frozen=True)
class Solved:
    """Where a solve ended."""

    state: State
    system: System
    energies: list[float]  # of the accepted states
    healthy: bool  # every system could be solved


@dataclass
class _WindowProblem:
    """The energy as a descent sees it: it changes at the image border when a step is accepted."""

    energy: WindowEnergy
    free: Mask
    scale_is_gauge: bool
    negligible: float  # promised fall of the energy
    healthy: bool = True

    def linearize(self, state: State) -> System:
        """H, b and E."""
        return self.energy.linearize(state)

    def step(self, at: System, state: State, damping: float) -> Step | None:
        """Eliminate the points, solve; a system that is not positive definite or a wild turn gives none."""
        step = solve(at, self.free, damping)
        if self.scale_is_gauge:
            step = without_scale(step, state, at, self.free)
        self.healthy = self.healthy and step.ok
        turns = np.abs(_by_keyframe(step, state)[:, 3:POSE])
        return step if step.ok and turns.max(initial=0.0) <= LARGEST_ROTATION else None

    def moved(self, state: State, step: Step) -> State:
        """The state after a step."""
        return state.moved(step)

    def accepted(self, at: System) -> None:
        """Residuals that leave the image from here on keep their present energy."""
        self.energy = replace(self.energy, photometric=self.energy.photometric.with_costs_of(at.photometric))

    def is_negligible(self, step: Step, state: State) -> bool:
        """Whether all keyframes and the camera together would move by a fraction of their σ."""
        return step.promised < self.negligible

    def is_over(self, step: Step, state: State, taken: bool) -> bool:
        """Whether neither poses nor depths move any more."""
        if np.abs(_by_keyframe(step, state)[:, :POSE]).max(initial=0.0) >= SMALL_POSE_STEP:
            return False
        relative = np.abs(step.points) / np.maximum(np.abs(state.inv_depth), LEAST_INV_DEPTH)
        return bool(len(relative) == 0 or np.median(relative) < SMALL_DEPTH_STEP)


def minimise(
    energy: WindowEnergy, state: State, free: Mask, iterations: int, scale_is_gauge: bool, noise2: float = 0.0
) -> Solved:
    """From a state; ``free`` (size,): variables that may move; ``noise2``: variance of the residuals, 0: every step is
    worth it.

    Without depth terms scale is a gauge freedom and is taken out of every step; with them it is observable and must
    not be.
    """
    start = energy.linearize(state)
    photometric, dropped, outside = settle_borders(energy.photometric, start.photometric)
    start.energy -= dropped
    problem = _WindowProblem(
        replace(energy, photometric=photometric), free, scale_is_gauge, NEGLIGIBLE * noise2
    )
    found = descend(problem, state, start, DAMPING, iterations)
    residuals = found.at.photometric
    status = np.where(outside, OUTSIDE, residuals.status).astype(np.int8)
    system = replace(found.at, residuals=replace(residuals, status=status))
    return Solved(found.state, system, found.energies, problem.healthy)


def without_scale(step: Step, state: State, system: System, free: Mask) -> Step:
    """The step without its change of scale about the oldest keyframe, as the points see it (weighted by curvature).

    The points hold the scale, not the poses: they start at measured depths, while the first translations are poorly
    known when the field of view is narrow.
    """
    poses = state.poses
    oldest = se3.inverse(poses[0])[:3, 3]
    direction = np.zeros(state.size)
    for k, pose in enumerate(poses):
        # centre c → c + ε (c − c₀): the translation of T_view_world moves by −ε R (c − c₀)
        direction[BLOCK * k : BLOCK * k + 3] = -pose[:3, :3] @ (se3.inverse(pose)[:3, 3] - oldest)
    direction = np.where(free, direction, 0.0)
    points = -state.inv_depth
    along = points @ (system.h_points * step.points)
    length = points @ (system.h_points * points)
    if length <= 0.0:
        return step
    amount = along / length
    return replace(step, variables=step.variables - amount * direction, points=step.points - amount * points)


def _by_keyframe(step: Step, state: State) -> np.ndarray:
    """The keyframes' part of a step (K, 8)."""
    return step.variables[: state.camera_rows.start].reshape(-1, BLOCK)
