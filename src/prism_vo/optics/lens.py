# SPDX-License-Identifier: Apache-2.0
"""Focal length and principal point of a view as numbers that a run can estimate (``--calibrate all``).

F and c say where a ray goes, w_∞ and κ how far (docs/camera-model.md). κ stays that of the camera file: nothing in a
run but the file knows the unit of length.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism_vo.arrays import Array
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import MM, PlenopticCamera
from prism_vo.optics.view import FocusedView

LENS = 3  # numbers: logarithm of F over that of the file, shift of c_x and of c_y in px of the view
USUAL_SIGMA = (3e-3, 3.0, 3.0)  # relative, raw px, raw px: of a file that does not say
NOMINAL_SIGMA = (5e-2, 30.0, 30.0)  # the same of optics that nobody has measured
KEYS = ("F_px", "c_x_px", "c_y_px")  # of the file's section ``uncertainty``, raw px


@dataclass(frozen=True)
class LensModel:
    """How the numbers move a view, and how well the camera file knows them."""

    camera: PlenopticCamera
    sigma: Array  # (LENS,) of the camera file

    @classmethod
    def of(cls, camera: PlenopticCamera) -> LensModel:
        """With what the file states about itself; nominal optics are hardly known."""
        calibration = camera.calibration
        usual = NOMINAL_SIGMA if calibration.nominal else USUAL_SIGMA
        focal = (camera.b_L0 + camera.B) / camera.pixel_mm
        said = calibration.uncertainty or {}
        stated = [_stated(said, key) for key in KEYS]
        relative = usual[0] if stated[0] is None else stated[0] / focal
        centre = [
            (u if s is None else s) / camera.tf_scale for u, s in zip(usual[1:], stated[1:], strict=True)
        ]
        return cls(camera, np.array([relative, *centre]))

    def moved(self, view: FocusedView, numbers: Array) -> FocusedView:
        """A view with other numbers (LENS,)."""
        if not np.any(numbers):
            return view
        log_focal, x, y = (float(n) for n in numbers)
        return replace(view, focal_px=view.focal_px * np.exp(log_focal), cx=view.cx + x, cy=view.cy + y)

    def refined(self, calibration: Calibration, view: FocusedView, sigma: Array) -> Calibration:
        """A camera file whose central view is ``view``; ``sigma`` (LENS,): how well that is known."""
        scale, pixel = self.camera.tf_scale, self.camera.pixel_mm
        f, b, B = lengths_of(view.focal_px * scale * pixel, view.w_infinity, view.kappa / MM)
        centre = tuple(float((c + 0.5) * scale - 0.5) for c in (view.cx, view.cy))
        lens = {"focal_length_mm": f, "mla_distance_mm": b, "principal_point_px": centre}
        raw = sigma * np.array([view.focal_px * scale, scale, scale])
        known = {**(calibration.uncertainty or {}), **{k: float(s) for k, s in zip(KEYS, raw, strict=True)}}
        return calibration.model_copy(
            update={
                "main_lens": calibration.main_lens.model_copy(update=lens),
                "mla": calibration.mla.model_copy(update={"sensor_distance_mm": B}),
                "uncertainty": known,
            }
        )


def lengths_of(total: float, w_infinity: float, kappa: float) -> tuple[float, float, float]:
    """f_L, b_L0 and B (mm) of b_L0 + B, w_∞ and κ (mm) of the central view: eq. 5 solved for them."""
    sensor = total * total / (kappa + total)
    array = total - sensor
    return float(array * total / (total - w_infinity * sensor)), float(array), float(sensor)


def _stated(uncertainty: dict[str, Any], key: str) -> float | None:
    """A positive number; anything else is no statement."""
    value = uncertainty.get(key)
    return float(value) if isinstance(value, float | int) and value > 0 else None
