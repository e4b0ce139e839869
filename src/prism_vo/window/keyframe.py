# SPDX-License-Identifier: Apache-2.0
"""A keyframe of the window and its state."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.tracking.brightness import ZoneAgreement

BLOCK = 8  # numbers of a keyframe: (translation, rotation) tangent of T_view_world, a, b
POSE = 6  # of them those of the pose
FIRST_OUTLIER_ENERGY = 8 * 12.0**2  # before there are statistics: 12 grey levels in each pixel of the pattern


@dataclass(frozen=True)
class Keyframe:
    """Pose and brightness are ``exp(delta[:6]) · base_pose`` and ``base_affine + delta[6:]``.

    ``base`` follows the estimate until the keyframe takes part in the marginalisation prior; then it stays (first
    estimates), because the prior's quadratic is only valid about it.
    """

    id: int
    frame_index: int
    time: float
    exposure: float  # s
    slot: int  # in the window's image stack
    base_pose: Array  # T_view_world
    base_affine: Array  # a, b
    tracked_affine: Array  # a, b as measured on blurred images: centre of their prior
    fixed: bool  # the gauge: first keyframe of a segment
    outlier_energy: float = FIRST_OUTLIER_ENERGY  # above it a residual in this keyframe is an outlier
    delta: Array = field(default_factory=lambda: np.zeros(BLOCK))
    in_prior: bool = False
    covariance: Array | None = None  # (6, 6) of the pose (left tangent, m and rad)
    covered: ZoneAgreement | None = (
        None  # zones in which something covers the scene; nothing is learnt from them
    )

    @cached_property
    def pose(self) -> Array:
        """T_view_world."""
        return se3.exp(self.delta[:POSE]) @ self.base_pose

    @property
    def affine(self) -> Array:
        """a, b."""
        return self.base_affine + self.delta[POSE:]
