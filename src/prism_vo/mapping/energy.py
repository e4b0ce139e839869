# SPDX-License-Identifier: Apache-2.0
"""The window's energy (docs/method.md, eq. 11) and its minimisation by Levenberg–Marquardt."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.arrays import Array, Floats, Integers, Mask
from prism_vo.mapping.keyframe import Keyframe
from prism_vo.mapping.marginal import Prior
from prism_vo.mapping.points import Points
from prism_vo.mapping.residuals import (
    BLOCK,
    NONE,
    OUTSIDE,
    DepthTerms,
    PairGeometry,
    assemble_pairs,
    depth_terms,
    linearize_photometric,
)
from prism_vo.mapping.schur import NormalEquations, Step, solve
from prism_vo.optics.camera import FocusedView

SMALL_GAIN = 1e-5  # relative fall of the energy that ends a solve
LARGEST_ROTATION, LARGEST_DEPTH_FACTOR = (
    0.2,
    0.5,
)  # of one step; a larger one is no step of a converging solve


@dataclass(frozen=True)
class State:
    """Everything that moves in one solve: keyframes (see :class:`Keyframe`) and inverse depths."""

    base_pose: Array  # (K, 4, 4)
    base_affine: Array  # (K, 2)
    x: Array  # (K, 8)
    tied: Mask  # (K,)
    inv_depth: Array  # (N,)

    @classmethod
    def of(cls, keyframes: list[Keyframe], points: Points) -> State:
        """The present state of a window."""
        return cls(
            np.array([k.base_pose for k in keyframes]),
            np.array([k.base_affine for k in keyframes]),
            np.array([k.x for k in keyframes]),
            np.array([k.tied for k in keyframes]),
            points.inv_depth,
        )

    @property
    def poses(self) -> Array:
        """Current T_view_world (K, 4, 4)."""
        moved = [se3.exp(x[:6]) @ base if x.any() else base for x, base in zip(self.x, self.base_pose)]
        return np.array(moved)

    @property
    def affine(self) -> Array:
        """Current (a, b) (K, 2)."""
        return self.base_affine + self.x[:, 6:]

    def moved(self, step: Step) -> State:
        """Tied keyframes move away from their base, free ones take it along."""
        delta = step.frames.reshape(-1, BLOCK)
        base_pose, base_affine, x = self.base_pose.copy(), self.base_affine.copy(), self.x.copy()
        for k, tied in enumerate(self.tied):
            if tied:
                x[k] += delta[k]
            else:
                base_pose[k] = se3.renormalised(se3.exp(delta[k, :6]) @ base_pose[k])
                base_affine[k] += delta[k, 6:]
        # a point may not jump beyond infinity or to the lens in one step
        limit = LARGEST_DEPTH_FACTOR * np.maximum(np.abs(self.inv_depth), 0.05)
        return replace(
            self,
            base_pose=base_pose,
            base_affine=base_affine,
            x=x,
            inv_depth=self.inv_depth + np.clip(step.points, -limit, limit),
        )


@dataclass(frozen=True)
class Linearization:
    """Normal equations at a state, and what the kernel found out about each residual."""

    system: NormalEquations
    state: NDArray[np.int8]  # (N, K)
    energies: Floats  # (N, K)
    photometric_curvature: Array  # (N,)
    depth: DepthTerms
    photometric: float
    depth_energy: float


@dataclass(frozen=True)
class WindowEnergy:
    """E(state) with everything that stays constant during one solve."""

    view: FocusedView
    images: Floats  # (S, h, w, 3)
    slots: Integers  # (K,)
    exposure: Array  # (K,)
    gates: Floats  # (K,)
    points: Points
    prior: Prior
    affine_centre: Array  # (K, 2): (a, b) as tracked
    affine_information: Array  # (2,) of (a, b) about their centre, in units of the energy
    eta: float
    huber: float
    depth_huber: float
    outside_cost: Floats | None = None  # (N, K), of residuals out of view; None: the gates

    def gated(self, energies: Floats) -> Floats:
        """What residuals (N, K) cost: their energy, at the most the gate of their keyframe."""
        return np.minimum(energies, self.gates[None, :])

    def linearize(self, state: State) -> Linearization:
        """H, b and E at a state."""
        p, frames, count = self.points, len(self.slots), len(self.points)
        now = PairGeometry.of(state.poses, state.affine, self.exposure)
        first = PairGeometry.of(state.base_pose, state.base_affine, self.exposure)
        h_pair, b_pair = np.empty((frames, frames, BLOCK, BLOCK)), np.empty((frames, frames, BLOCK))
        h_cross = np.empty((count, BLOCK * frames))
        curvature, slope = np.empty(count), np.empty(count)
        cost = self.outside_cost if self.outside_cost is not None else self.gates
        residual_state, energies = p.state.copy(), np.broadcast_to(cost, (count, frames)).copy()
        intrinsics = np.array([self.view.focal_px, self.view.cx, self.view.cy], np.float32)
        photometric = linearize_photometric(
            self.images, self.slots, intrinsics, now.rotation, now.translation, now.brightness,
            first.rotation, first.translation, first.adjoint, first.brightness,
            p.host, p.u, p.v, state.inv_depth, p.color, p.weight, residual_state, np.float32(self.huber),
            self.gates, h_pair, b_pair, h_cross, curvature, slope, energies,
        )  # fmt: skip
        h, b = assemble_pairs(h_pair, b_pair, first)
        depth = depth_terms(self.view, state.inv_depth, p.measured, p.information, self.depth_huber)
        x = state.x.reshape(-1)
        affine = state.affine - self.affine_centre
        diagonal = np.arange(BLOCK * frames)
        for c in range(2):
            rows = diagonal[6 + c :: BLOCK]
            h[rows, rows] += self.affine_information[c]
            b[rows] += self.affine_information[c] * affine[:, c]
        h += self.prior.h
        b += self.prior.gradient(x)
        brightness_energy = float((self.affine_information * affine**2).sum())
        total = photometric + self.eta * depth.energy + self.prior.energy(x) + brightness_energy
        system = NormalEquations(
            h, b, h_cross, curvature + self.eta * depth.h, slope + self.eta * depth.b, total
        )
        return Linearization(system, residual_state, energies, curvature, depth, photometric, depth.energy)


@dataclass(frozen=True)
class Solved:
    """Outcome of a solve; ``accepted`` are the energies of the accepted states, in order."""

    state: State
    last: Linearization
    accepted: list[float]
    healthy: bool


def minimise(energy: WindowEnergy, state: State, free: Mask, iterations: int) -> Solved:
    """LM: a step is taken only if the true energy falls; an unhealthy step is damped, never taken.

    Without depth terms (η = 0) scale is a gauge freedom and is taken out of every step; with them it is observable and
    must not be.
    """
    energy, now, outside = settle_borders(energy, state)
    accepted = [now.system.energy]
    damping, healthy = 1e-4, True
    for _ in range(iterations):
        step = solve(now.system, free, damping)
        if energy.eta == 0.0:
            step = without_scale(step, state, now.system, free)
        if not step.ok or np.abs(step.frames.reshape(-1, BLOCK)[:, 3:6]).max(initial=0.0) > LARGEST_ROTATION:
            healthy = step.ok and healthy
            damping = max(damping * 100.0, 1e-3)
            continue
        trial_state = state.moved(step)
        trial = energy.linearize(trial_state)
        if np.isfinite(trial.system.energy) and trial.system.energy < accepted[-1]:
            small = _is_small(step, state)
            gain = accepted[-1] - trial.system.energy
            state, now = trial_state, trial
            energy = replace(energy, outside_cost=energy.gated(trial.energies))
            accepted.append(trial.system.energy)
            damping = max(damping * 0.1, 1e-9)
            if small or gain < SMALL_GAIN * abs(accepted[-1]):
                break
        else:
            damping = max(damping * 10.0, 1e-5)
            if _is_small(step, state):
                break
    now = replace(now, state=np.where(outside, OUTSIDE, now.state).astype(np.int8))
    return Solved(state, now, accepted, healthy)


def settle_borders(energy: WindowEnergy, state: State) -> tuple[WindowEnergy, Linearization, Mask]:
    """Make the energy continuous across the image border for one solve.

    A residual out of view at the start takes no part, one that leaves on the way keeps the energy it had in
    the last accepted state: a jump at the border would refuse good steps for the sake of a few points crossing it.
    """
    start = energy.linearize(state)
    outside = start.state == OUTSIDE
    dropped = float(start.energies[outside].sum())
    points = replace(energy.points, state=np.where(outside, NONE, energy.points.state).astype(np.int8))
    system = replace(start.system, energy=start.system.energy - dropped)
    start = replace(start, system=system, photometric=start.photometric - dropped)
    return replace(energy, points=points, outside_cost=energy.gated(start.energies)), start, outside


def without_scale(step: Step, state: State, system: NormalEquations, free: Mask) -> Step:
    """The step without its change of scale about the oldest keyframe, as the points see it (weighted by curvature).

    The points hold the scale, not the poses: they start at measured depths, while the first translations are poorly
    known when the field of view is narrow.
    """
    poses = state.poses
    oldest = se3.inverse(poses[0])[:3, 3]
    frames = np.zeros((len(poses), BLOCK))
    for k, pose in enumerate(poses):
        # centre c → c + ε (c − c₀): the translation of T_view_world moves by −ε R (c − c₀)
        frames[k, :3] = -pose[:3, :3] @ (se3.inverse(pose)[:3, 3] - oldest)
    direction = np.where(free, frames.reshape(-1), 0.0)
    points = -state.inv_depth
    along = points @ (system.h_points * step.points)
    length = points @ (system.h_points * points)
    if length <= 0.0:
        return step
    amount = along / length
    return Step(step.frames - amount * direction, step.points - amount * points, step.ok)


def _is_small(step: Step, state: State) -> bool:
    frames = np.abs(step.frames.reshape(-1, BLOCK)[:, :6]).max(initial=0.0)
    points = (
        np.median(np.abs(step.points) / np.maximum(np.abs(state.inv_depth), 0.01))
        if len(step.points)
        else 0.0
    )
    return bool(frames < 1e-6 and points < 1e-4)
