# SPDX-License-Identifier: Apache-2.0
"""Keyframes whose places are known: they fix the gauge, the unit of length, and what images alone leave soft.

With a narrow field of view a camera that turns looks like one that moves, and a wrong F or w_∞ hides in a path that is
slightly bent; known places leave it no room.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.batch.records import BatchState

LEAST_SIGMA = 1e-3  # of the path's extent: no measured path is better
LEAST_WIDTH = 0.02  # of the path's length: a straight path does not say how the world is turned about it


@dataclass(frozen=True)
class KnownPlaces:
    """Positions (K, 3) of all keyframes in metres, and their σ an axis."""

    positions: Array
    sigma: float

    def linearize(self, state: BatchState) -> tuple[float, Array, Array]:
        """Energy, and per keyframe H (K, 3, 3) and b (K, 3) by the translation of its left increment."""
        rotation = state.poses[:, :3, :3]
        away = (state.centres - self.positions) / self.sigma
        # the centre −Rᵀt moves by −Rᵀv with the increment (v, w), so H is a multiple of the identity
        h = np.tile(np.eye(3) / self.sigma**2, (len(away), 1, 1))
        b = -np.einsum("kij,kj->ki", rotation, away) / self.sigma
        return float((away**2).sum()), h, b


def at_places(state: BatchState, positions: Array) -> tuple[BatchState, KnownPlaces] | None:
    """The state moved to known positions by a similarity; None where the path is too straight to hang it on."""
    around = positions - positions.mean(0)
    extents = np.linalg.svd(around, compute_uv=False)
    if len(positions) < 3 or extents[1] < LEAST_WIDTH * extents[0]:
        return None
    similar = se3.align(state.centres, positions, with_scale=True)
    left = positions - similar.apply(state.centres)
    extent = float(np.sqrt((around**2).sum(1).mean()))
    sigma = max(float(np.sqrt((left**2).mean())), LEAST_SIGMA * extent)
    motion = np.eye(4)
    motion[:3, :3], motion[:3, 3] = similar.rotation, similar.translation
    larger = state.scaled(float(similar.scale))
    poses = np.array([pose @ se3.inverse(motion) for pose in larger.poses])
    moved = replace(larger, poses=poses, anchors=motion @ larger.anchors)
    return moved, KnownPlaces(positions, sigma)
