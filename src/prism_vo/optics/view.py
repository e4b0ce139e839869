# SPDX-License-Identifier: Apache-2.0
"""The two totally focused views of a light field as one four-number pinhole (``docs/camera-model.md``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from prism_vo.arrays import Array
from prism_vo.optics.pinhole import Pinhole

ViewName = Literal["central", "focal"]


@dataclass(frozen=True)
class FocusedView:
    """A pinhole image of the light field, and the map from depth to inverse virtual depth along its rays.

    ``u = focal_px x/(z − z0) + cx``; ``w = w_infinity + kappa/(z − z0)``;
    ``1/w = alpha + beta ρ_v``

    With ``q = 1/(z − z0)`` (the view's inverse depth, 1/m) it is an ordinary inverse-depth camera whose
    centre sits at ``(0, 0, z0)`` of the camera frame, plus one scalar map ``ρ_v(q)``.
    """

    name: ViewName
    width: int
    height: int
    focal_px: float
    cx: float
    cy: float
    z0: float  # m
    w_infinity: float
    kappa: float  # m
    alpha: float
    beta: float

    def project(self, points: ArrayLike) -> Array:
        """Camera points (…, 3) in metres → view pixels (…, 2)."""
        p = np.asarray(points, dtype=np.float64)
        scale = self.focal_px / (p[..., 2] - self.z0)
        return np.stack([p[..., 0] * scale + self.cx, p[..., 1] * scale + self.cy], -1)

    def unproject(self, pixels: ArrayLike, depth: ArrayLike) -> Array:
        """View pixels (…, 2) and depth z_C (…) in metres → camera points (…, 3)."""
        uv = np.asarray(pixels, dtype=np.float64)
        z = np.asarray(depth, dtype=np.float64)
        r = (z - self.z0) / self.focal_px
        return np.stack(
            [(uv[..., 0] - self.cx) * r, (uv[..., 1] - self.cy) * r, np.broadcast_to(z, r.shape)], -1
        )

    def inv_depth_of(self, depth: ArrayLike) -> Array:
        """z_C in metres → the view's inverse depth ``q = 1/(z_C − z0)``."""
        return 1.0 / (np.asarray(depth, dtype=np.float64) - self.z0)

    def depth_of(self, inv_depth: ArrayLike) -> Array:
        """The view's inverse depth → z_C in metres."""
        return self.z0 + 1.0 / np.asarray(inv_depth, dtype=np.float64)

    def inv_virtual_depth(self, inv_depth: ArrayLike) -> Array:
        """The view's inverse depth q → true inverse virtual depth ρ_v."""
        w = self.w_infinity + self.kappa * np.asarray(inv_depth, dtype=np.float64)
        return (1.0 / w - self.alpha) / self.beta

    def inv_virtual_depth_slope(self, inv_depth: ArrayLike) -> Array:
        """dρ_v/dq at the view's inverse depth q (negative: nearer points have smaller ρ_v)."""
        w = self.w_infinity + self.kappa * np.asarray(inv_depth, dtype=np.float64)
        return -self.kappa / (self.beta * w * w)

    def inv_depth_from_virtual(self, inv_virtual_depth: ArrayLike) -> Array:
        """True ρ_v → the view's inverse depth q (may be ≤ 0 for noisy measurements beyond infinity)."""
        inv_w = self.alpha + self.beta * np.asarray(inv_virtual_depth, dtype=np.float64)
        return (1.0 / inv_w - self.w_infinity) / self.kappa

    @property
    def image_plane(self) -> Pinhole:
        """The view without its depths: an ordinary pinhole image."""
        return Pinhole(self.width, self.height, self.focal_px, self.cx, self.cy)

    @property
    def pinhole(self) -> Array:
        """3×3 intrinsic matrix of the view."""
        return np.array([[self.focal_px, 0.0, self.cx], [0.0, self.focal_px, self.cy], [0.0, 0.0, 1.0]])
