# SPDX-License-Identifier: Apache-2.0
"""The focused plenoptic camera: thin main lens, virtual image space, and its two totally focused views.

Lengths are millimetres inside the camera and metres outside it. Camera frame: x right, y down, z forward.
Pixel centres lie at integer coordinates. Equation numbers refer to ``docs/camera-model.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from prism_vo.arrays import Array
from prism_vo.errors import expect
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.view import FocusedView, ViewName

__all__ = ["FocusedView", "PlenopticCamera", "ViewName"]

MM = 1e-3  # metres per millimetre
LOADING = "load one with PlenopticCamera.from_calibration(load_calibration('camera.yaml'))"


@dataclass(frozen=True)
class PlenopticCamera:
    """Geometry of one calibrated camera. Build it with ``from_calibration``."""

    calibration: Calibration

    @classmethod
    def from_calibration(cls, calibration: Calibration) -> PlenopticCamera:
        """The camera a ``camera.yaml`` describes."""
        expect(calibration, Calibration, "calibration", "load one with load_calibration('camera.yaml')")
        return cls(calibration)

    def __repr__(self) -> str:
        sensor = self.calibration.sensor
        return (
            f"PlenopticCamera({sensor.width} × {sensor.height} px, f_L {self.f_L:g} mm, "
            f"b_L0 {self.b_L0:g} mm, B {self.B:g} mm)"
        )

    @property
    def f_L(self) -> float:
        """Main-lens focal length, mm."""
        return self.calibration.main_lens.focal_length_mm

    @property
    def b_L0(self) -> float:
        """Distance main lens → micro-lens array, mm."""
        return self.calibration.main_lens.mla_distance_mm

    @property
    def B(self) -> float:
        """Distance micro-lens array → sensor, mm."""
        return self.calibration.mla.sensor_distance_mm

    @property
    def lam(self) -> float:
        """λ = b_L0/(b_L0+B): micro-image centres → micro-lens centres about the principal point."""
        return self.b_L0 / (self.b_L0 + self.B)

    @property
    def pixel_mm(self) -> float:
        """Raw pixel size, mm."""
        return self.calibration.sensor.pixel_size_um * MM

    @property
    def tf_scale(self) -> int:
        """k: raw pixels per totally focused pixel."""
        return self.calibration.totally_focused.scale

    @property
    def tf_size(self) -> tuple[int, int]:
        """(width, height) of the totally focused image."""
        s = self.calibration.sensor
        return s.width // self.tf_scale, s.height // self.tf_scale

    @property
    def principal_point(self) -> Array:
        """c_L in raw pixels."""
        return np.array(self.calibration.main_lens.principal_point_px)

    def tf_from_raw(self, xy: ArrayLike) -> Array:
        """Raw pixel coordinates → TF pixel coordinates."""
        return (np.asarray(xy, dtype=np.float64) + 0.5) / self.tf_scale - 0.5

    def view(self, name: ViewName | None = None) -> FocusedView:
        """The central or focal totally focused view of eq. 5 (default: the calibration's)."""
        name = name or self.calibration.totally_focused.view
        width, height = self.tf_size
        cx, cy = self.tf_from_raw(self.principal_point)
        s_tf = self.tf_scale * self.pixel_mm
        f, b, B = self.f_L, self.b_L0, self.B
        if name == "focal":
            numbers = (f / s_tf, f * MM, (f - b) / B, f * f / B * MM, 0.0, 1.0)
        else:
            w_infinity, kappa = (b + B) * (f - b) / (B * f), b * (b + B) / B
            numbers = ((b + B) / s_tf, 0.0, w_infinity, kappa * MM, 1.0 - self.lam, self.lam)
        focal_px, *rest = numbers
        return FocusedView(name, width, height, focal_px, float(cx), float(cy), *rest)

    # --- main lens: metric depth ↔ virtual depth (thin lens)

    def virtual_depth(self, depth: ArrayLike) -> Array:
        """z_C in metres → virtual depth v (eq. 1); NaN where the point is nearer than f_L or v ≤ 0."""
        z = np.asarray(depth, dtype=np.float64) / MM
        with np.errstate(divide="ignore", invalid="ignore"):
            image_distance = self.f_L / (1.0 - self.f_L / z)  # f z/(z − f), finite at z = ∞
            v = (image_distance - self.b_L0) / self.B
        return np.where((z > self.f_L) & (v > 0), v, np.nan)

    def depth(self, virtual_depth: ArrayLike) -> Array:
        """Virtual depth v → z_C in metres (eq. 2); inf at infinity, NaN beyond it or where v ≤ 0."""
        v = np.asarray(virtual_depth, dtype=np.float64)
        image_distance = self.b_L0 + v * self.B
        with np.errstate(divide="ignore", invalid="ignore"):
            z = self.f_L * image_distance / (image_distance - self.f_L) * MM
        return np.where((v > 0) & (image_distance >= self.f_L), z, np.nan)

    def inv_virtual_depth(self, inv_depth: ArrayLike) -> Array:
        """ρ_C = 1/z_C (1/m) → ρ_v (eq. 3): smooth, continued through infinity (ρ_C ≤ 0)."""
        r = np.asarray(inv_depth, dtype=np.float64) * MM
        f, b, B = self.f_L, self.b_L0, self.B
        return B * (1.0 - f * r) / ((f - b) + f * b * r)

    def inv_virtual_depth_slope(self, inv_depth: ArrayLike) -> Array:
        """dρ_v/dρ_C (eq. 4) with ρ_C in 1/m."""
        r = np.asarray(inv_depth, dtype=np.float64) * MM
        f, b, B = self.f_L, self.b_L0, self.B
        return -B * f * f / ((f - b) + f * b * r) ** 2 * MM

    def inv_depth(self, inv_virtual_depth: ArrayLike) -> Array:
        """ρ_v → ρ_C = 1/z_C in 1/m (eq. 3 inverted); ≤ 0 for measurements at or beyond infinity."""
        rho = np.asarray(inv_virtual_depth, dtype=np.float64)
        f, b, B = self.f_L, self.b_L0, self.B
        return (B - (f - b) * rho) / (f * (B + b * rho)) / MM

    def depth_sigma(self, depth: ArrayLike, sigma: ArrayLike) -> Array:
        """σ(z_C) in metres (eq. 4) of a point at depth z_C whose inverse virtual depth has σ(ρ_v)."""
        z = np.asarray(depth, dtype=np.float64)
        return z * z * np.asarray(sigma, dtype=np.float64) / np.abs(self.inv_virtual_depth_slope(1.0 / z))

    # --- virtual image space Π_pl

    def project_virtual(self, points: ArrayLike) -> tuple[Array, Array]:
        """Camera points (…, 3) in metres → (x_V in raw pixels (…, 2), virtual depth v (…))."""
        p = np.asarray(points, dtype=np.float64)
        v = self.virtual_depth(p[..., 2])
        image_distance = self.b_L0 + v * self.B
        x = p[..., :2] / p[..., 2:] * (image_distance / self.pixel_mm)[..., None]
        return x + self.principal_point, v

    # --- the micro-image-centre convention (what vendors' software measures)

    def true_from_naive(self, inv_naive: ArrayLike) -> Array:
        """1/v_n, measured when micro-image centres stand in for micro-lens centres, → ρ_v (eq. 6)."""
        return (np.asarray(inv_naive, dtype=np.float64) - (1.0 - self.lam)) / self.lam

    # --- micro-lenses

    def lens_centres(self, image_centres: ArrayLike) -> Array:
        """Undistorted micro-image centres c_I (…, 2) → micro-lens centres c_ML (…, 2), raw pixels (eq. 7)."""
        c = np.asarray(image_centres, dtype=np.float64)
        return self.principal_point + (c - self.principal_point) * self.lam

    def array_point(self, x_virtual: ArrayLike, virtual_depth: ArrayLike) -> Array:
        """``x_V · b_L0/b_L``: where the chief ray of a virtual point crosses the lens array, raw pixels."""
        x = np.asarray(x_virtual, dtype=np.float64) - self.principal_point
        shrink = self.b_L0 / (self.b_L0 + np.asarray(virtual_depth, dtype=np.float64) * self.B)
        return self.principal_point + x * shrink[..., None]
