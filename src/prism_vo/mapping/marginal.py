# SPDX-License-Identifier: Apache-2.0
"""The marginalisation prior: what is left of points and keyframes that have gone from the window.

``E(x) = xᵀ H x + 2 bᵀ x`` (constant dropped) in the states x of the remaining keyframes, measured from their first
estimates, which stay fixed from the moment a keyframe is tied to the prior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from prism_vo.arrays import Array, Mask

BLOCK = 8


@dataclass(frozen=True)
class Prior:
    """Quadratic in the stacked states of the window's keyframes (8 numbers each)."""

    h: Array  # (8K, 8K)
    b: Array  # (8K,)

    @classmethod
    def empty(cls) -> Prior:
        """No keyframes yet."""
        return cls(np.zeros((0, 0)), np.zeros(0))

    def with_new_keyframe(self) -> Prior:
        """Room for one more keyframe, about which nothing is known."""
        n = len(self.b)
        h, b = np.zeros((n + BLOCK, n + BLOCK)), np.zeros(n + BLOCK)
        h[:n, :n], b[:n] = self.h, self.b
        return Prior(h, b)

    def plus(self, h: Array, b: Array) -> Prior:
        """Add a quadratic given at the first estimates."""
        return Prior(self.h + h, self.b + b)

    def energy(self, x: Array) -> float:
        """Value at state x, relative to x = 0."""
        return float(x @ self.h @ x + 2.0 * (self.b @ x))

    def gradient(self, x: Array) -> Array:
        """Half the gradient, b + H x: what is added to the normal equations."""
        return self.b + self.h @ x

    def without(self, position: int, fixed: bool) -> Prior:
        """Marginalise one keyframe; a fixed one (the gauge) is conditioned on instead."""
        drop = np.zeros(len(self.b), dtype=bool)
        drop[BLOCK * position : BLOCK * (position + 1)] = True
        if fixed:
            return Prior(self.h[np.ix_(~drop, ~drop)], self.b[~drop])
        return Prior(*marginalise(self.h, self.b, drop))

    def ties(self, position: int) -> bool:
        """Whether the keyframe at this place takes part in the prior."""
        return bool(np.any(self.h[BLOCK * position : BLOCK * (position + 1)]))


def marginalise(h: Array, b: Array, drop: Mask) -> tuple[Array, Array]:
    """Schur complement onto the variables that stay; directions without information are left out."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(h), 1e-30))
    scale[np.diag(h) <= 0] = 0.0
    hs = h * scale[:, None] * scale[None, :]
    bs = b * scale
    keep = ~drop
    values, vectors = scipy.linalg.eigh(hs[np.ix_(drop, drop)])
    good = values > 1e-10
    half = vectors[:, good] / np.sqrt(values[good])
    cross = hs[np.ix_(keep, drop)] @ half
    reduced = hs[np.ix_(keep, keep)] - cross @ cross.T
    back = np.where(scale[keep] > 0, 1.0 / np.where(scale[keep] > 0, scale[keep], 1.0), 0.0)
    reduced = 0.5 * (reduced + reduced.T) * back[:, None] * back[None, :]
    return reduced, (bs[keep] - cross @ (half.T @ bs[drop])) * back
