# SPDX-License-Identifier: Apache-2.0
"""The camera as the batch adjustment moves it: numbers of the central view, one to one with those of camera.yaml.

On the central view ``u = F x/z + c`` and ``1/h = w_∞ + κ/z``, and where the field is bent ``+ t·x + c |x|²``
(docs/camera-model.md). With the pixel size known, F, w_∞
and κ are as good as f_L, b_L0 and B, but each of them is determined by something else: F and the distortion by parallax
in the image, w_∞ by depth against parallax, κ by the metric fact alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array
from prism_vo.errors import CalibrationError
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.lens import lengths_of

NAMES = (
    *("F_px", "c_x_px", "c_y_px", "A0", "A1", "B0", "B1", "w_infinity"),
    *("tilt_x", "tilt_y", "field_curvature", "kappa_m"),
)
FOCAL, CX, CY, A0, A1, B0, B1, W, TILT_X, TILT_Y, CURVATURE, KAPPA = range(12)
FIELD = [TILT_X, TILT_Y, CURVATURE]
DISTORTION = slice(A0, W)
COUNT = len(NAMES)
MM = 1e-3  # metres per millimetre
OPTICS = ("f_L_mm", "b_L0_mm", "B_mm")


@dataclass(frozen=True)
class CameraNumbers:
    """Raw pixels for F and c, millimetres in the sensor plane for distortion and field, metres for κ."""

    values: Array  # (COUNT,)
    pixel_mm: float

    @classmethod
    def of(cls, calibration: Calibration) -> CameraNumbers:
        """Those of a camera file; a distortion about another centre is taken to be about the principal point."""
        lens, pixel = calibration.main_lens, calibration.sensor.pixel_size_um * MM
        f, b, B = lens.focal_length_mm, lens.mla_distance_mm, calibration.mla.sensor_distance_mm
        optics = ((b + B) / pixel, *lens.principal_point_px)
        distortion = (*lens.distortion.radial, *lens.distortion.tangential)
        depth = ((b + B) * (f - b) / (B * f), b * (b + B) / B * MM)
        field = (*lens.field.tilt, lens.field.curvature)
        return cls(np.array([*optics, *distortion, depth[0], *field, depth[1]]), pixel)

    def moved(self, step: Array) -> CameraNumbers:
        """After a step (COUNT,)."""
        return CameraNumbers(self.values + step, self.pixel_mm)

    def with_kappa(self, kappa: float) -> CameraNumbers:
        """The same camera in another unit of length."""
        values = self.values.copy()
        values[KAPPA] = kappa
        return CameraNumbers(values, self.pixel_mm)

    @property
    def optics(self) -> tuple[float, float, float]:
        """f_L, b_L0, B in mm."""
        return optics_of(self.values, self.pixel_mm)

    def optics_jacobian(self) -> Array:
        """∂(f_L, b_L0, B)/∂numbers (3, COUNT), by central differences: they are smooth and few."""
        out = np.zeros((3, COUNT))
        for k in (FOCAL, W, KAPPA):
            step = np.zeros(COUNT)
            step[k] = 1e-6 * max(abs(self.values[k]), 1e-3)
            ends = [np.array(optics_of(self.values + sign * step, self.pixel_mm)) for sign in (1, -1)]
            out[:, k] = (ends[0] - ends[1]) / (2 * step[k])
        return out

    def calibration(self, like: Calibration) -> Calibration:
        """``like`` with these numbers; what it says about uncertainty no longer holds."""
        f, b, B = self.optics
        if not (f > 0 and b > 0 and B > 0):
            raise CalibrationError(
                "The adjustment ended at optics that cannot exist; the recording does not determine them."
            )
        data = like.model_dump()
        lens, v = data["main_lens"], self.values.tolist()
        lens["focal_length_mm"], lens["mla_distance_mm"], data["mla"]["sensor_distance_mm"] = f, b, B
        lens["principal_point_px"] = (v[CX], v[CY])
        lens["distortion"] = {"radial": (v[A0], v[A1]), "tangential": (v[B0], v[B1]), "centre_px": None}
        lens["field"] = {"tilt": (v[TILT_X], v[TILT_Y]), "curvature": v[CURVATURE]}
        data["uncertainty"] = None
        try:
            return Calibration.model_validate(data)
        except ValueError as error:
            raise CalibrationError(
                "The adjustment ended at a camera that cannot exist; the recording does not determine it."
            ) from error


def optics_of(values: Array, pixel_mm: float) -> tuple[float, float, float]:
    """f_L, b_L0, B in mm of the twelve numbers: κ = b_L0 (b_L0+B)/B and w_∞ solved for them."""
    return lengths_of(values[FOCAL] * pixel_mm, values[W], values[KAPPA] / MM)


def kappa_of(focal_px: float, pixel_mm: float, sensor_distance_mm: float) -> float:
    """κ in metres of a camera whose B is known."""
    total = focal_px * pixel_mm
    return total * (total - sensor_distance_mm) / sensor_distance_mm * MM
