# SPDX-License-Identifier: Apache-2.0
"""A keyframe of the window and its state."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array


@dataclass
class Keyframe:
    """Pose and brightness are ``exp(x[:6]) · base_pose`` and ``base_affine + x[6:]``.

    ``base`` follows the estimate until the keyframe is tied to the marginalisation prior; then it stays (first
    estimates), because the prior's quadratic is only valid about it.
    """

    id: int
    frame_index: int
    time: float
    exposure: float  # s; 1 when unknown
    slot: int  # in the window's image stack
    base_pose: Array  # T_view_world
    base_affine: Array  # a, b
    tracked_affine: Array  # a, b as measured on blurred images: centre of their prior
    fixed: bool  # the gauge: first keyframe of a segment
    gate: float  # energy above which a residual in this keyframe is an outlier
    x: Array = field(default_factory=lambda: np.zeros(8))
    tied: bool = False
    covariance: Array | None = None  # (6, 6) of the pose (left tangent, m and rad)

    @property
    def pose(self) -> Array:
        """T_view_world."""
        return se3.exp(self.x[:6]) @ self.base_pose

    @property
    def affine(self) -> Array:
        """a, b."""
        return self.base_affine + self.x[6:]
