# SPDX-License-Identifier: Apache-2.0
"""The marginalisation prior: what is left of points and keyframes that have gone from the window.

``E(x) = xᵀ H x + 2 bᵀ x`` (constant dropped) in the variables x of the remaining keyframes and of the camera, measured
from their first estimates, which stay fixed from the moment the prior speaks of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array
from prism_vo.linear.marginal import marginalise
from prism_vo.window.keyframe import BLOCK
from prism_vo.window.state import State
from prism_vo.window.system import System


@dataclass(frozen=True)
class Prior:
    """Quadratic in the stacked variables of the window: 8 of each keyframe, then those of the camera."""

    h: Array  # (8K + C, 8K + C)
    b: Array  # (8K + C,)
    camera: int = 0  # C

    @classmethod
    def blank(cls, keyframes: int, camera: int = 0) -> Prior:
        """Nothing is known."""
        size = BLOCK * keyframes + camera
        return cls(np.zeros((size, size)), np.zeros(size), camera)

    def linearize(self, state: State, system: System) -> float:
        """Adds to everything but the points."""
        x = state.increments
        system.h += self.h
        system.b += self.gradient(x)
        return self.energy(x)

    def with_new_keyframe(self) -> Prior:
        """Room for one more keyframe, about which nothing is known, behind the others."""
        at = len(self.b) - self.camera
        new = Prior.blank(at // BLOCK + 1, self.camera)
        old = np.delete(np.arange(len(new.b)), slice(at, at + BLOCK))
        new.h[np.ix_(old, old)], new.b[old] = self.h, self.b
        return new

    def plus(self, h: Array, b: Array) -> Prior:
        """Add a quadratic given at the first estimates."""
        return Prior(self.h + h, self.b + b, self.camera)

    def energy(self, x: Array) -> float:
        """Value at x, relative to x = 0."""
        return float(x @ self.h @ x + 2.0 * (self.b @ x))

    def gradient(self, x: Array) -> Array:
        """Half the gradient, b + H x: what is added to the normal equations."""
        return self.b + self.h @ x

    def without(self, position: int, fixed: bool) -> Prior:
        """Marginalise one keyframe; a fixed one (the gauge) is conditioned on instead."""
        drop = np.zeros(len(self.b), dtype=bool)
        drop[BLOCK * position : BLOCK * (position + 1)] = True
        if fixed:
            return Prior(self.h[np.ix_(~drop, ~drop)], self.b[~drop], self.camera)
        return Prior(*marginalise(self.h, self.b, drop), self.camera)

    def without_camera(self) -> Prior:
        """Marginalise the camera's numbers; room is made for others, about which nothing is known."""
        drop = np.arange(len(self.b)) >= len(self.b) - self.camera
        out = Prior(np.zeros_like(self.h), np.zeros_like(self.b), self.camera)
        out.h[np.ix_(~drop, ~drop)], out.b[~drop] = marginalise(self.h, self.b, drop)
        return out

    def involves(self, position: int) -> bool:
        """Whether the keyframe at this place takes part in the prior."""
        return bool(np.any(self.h[BLOCK * position : BLOCK * (position + 1)]))

    @property
    def involves_camera(self) -> bool:
        """Whether the camera's numbers take part in the prior."""
        return bool(self.camera and np.any(self.h[-self.camera :]))
