# SPDX-License-Identifier: Apache-2.0
"""Everything that moves in one solve: keyframes, points, and numbers of the camera.

The vector of variables holds 8 numbers a keyframe, in window order, and then those of the camera.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Mask
from prism_vo.linear.increments import incremented
from prism_vo.linear.schur import Step
from prism_vo.window.keyframe import BLOCK, POSE, Keyframe

LARGEST_DEPTH_FACTOR = 0.5  # a point may not jump beyond infinity or to the lens in one step
LEAST_DEPTH_SCALE = 0.05  # 1/m: points farther than 20 m may move as far as those at 20 m


@dataclass(frozen=True)
class CameraBlock:
    """Numbers of the camera that are estimated with the rest: ``base + delta``, as for a :class:`Keyframe`."""

    base: Array = field(default_factory=lambda: np.zeros(0))  # (C,)
    delta: Array = field(default_factory=lambda: np.zeros(0))  # (C,)
    in_prior: bool = False

    def __len__(self) -> int:
        return len(self.base)

    @property
    def value(self) -> Array:
        """Current numbers (C,)."""
        return self.base + self.delta

    def moved(self, step: Array) -> CameraBlock:
        """First estimates stay once the prior speaks of them."""
        if self.in_prior:
            return replace(self, delta=self.delta + step)
        return replace(self, base=self.base + step)


@dataclass(frozen=True)
class State:
    """A point in the space that the window's energy is a function of."""

    base_pose: Array  # (K, 4, 4)
    base_affine: Array  # (K, 2)
    delta: Array  # (K, 8)
    in_prior: Mask  # (K,)
    inv_depth: Array  # (N,)
    camera: CameraBlock = field(default_factory=CameraBlock)

    @classmethod
    def of(cls, keyframes: Sequence[Keyframe], inv_depth: Array, camera: CameraBlock) -> State:
        """The present state of a window."""
        return cls(
            np.array([k.base_pose for k in keyframes]),
            np.array([k.base_affine for k in keyframes]),
            np.array([k.delta for k in keyframes]),
            np.array([k.in_prior for k in keyframes]),
            inv_depth,
            camera,
        )

    @property
    def size(self) -> int:
        """Number of variables beside the points."""
        return BLOCK * len(self.delta) + len(self.camera)

    @property
    def camera_rows(self) -> slice:
        """Where the camera's numbers stand in the vector of variables."""
        return slice(BLOCK * len(self.delta), None)

    @property
    def increments(self) -> Array:
        """Distance of all variables from their first estimates (size,)."""
        return np.concatenate([self.delta.reshape(-1), self.camera.delta])

    @property
    def poses(self) -> Array:
        """Current T_view_world (K, 4, 4)."""
        return incremented(self.base_pose, self.delta[:, :POSE])

    @property
    def affine(self) -> Array:
        """Current (a, b) (K, 2)."""
        return self.base_affine + self.delta[:, POSE:]

    def moved(self, step: Step) -> State:
        """Variables of the prior move away from their base, the others take it along."""
        change = step.variables[: self.camera_rows.start].reshape(-1, BLOCK)
        base_pose, base_affine, delta = self.base_pose.copy(), self.base_affine.copy(), self.delta.copy()
        delta[self.in_prior] += change[self.in_prior]
        moved = incremented(base_pose, change[:, :POSE])
        for k in np.flatnonzero(~self.in_prior):
            base_pose[k] = se3.renormalised(moved[k])
            base_affine[k] += change[k, POSE:]
        limit = LARGEST_DEPTH_FACTOR * np.maximum(np.abs(self.inv_depth), LEAST_DEPTH_SCALE)
        return replace(
            self,
            base_pose=base_pose,
            base_affine=base_affine,
            delta=delta,
            inv_depth=self.inv_depth + np.clip(step.points, -limit, limit),
            camera=self.camera.moved(step.variables[self.camera_rows]),
        )
