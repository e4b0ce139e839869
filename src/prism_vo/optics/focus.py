# SPDX-License-Identifier: Apache-2.0
"""What a moved focus does to a view: the main lens stands at b_L0 + δ instead of b_L0.

Heat, transport or a touched ring move lenses by micrometres, and each of them shifts the virtual depth of everything by
1/B (docs/camera-model.md, eq. 5 and 6). The decoder does not notice: stereo slopes stay what they are and mean other
depths.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.nominal import metric_notice
from prism_vo.optics.view import FocusedView

USUAL_SIGMA = 1e-2  # mm: what heat, transport or a touched ring leave of a calibration that does not say
ITERATIONS = 20  # of Newton's method; w_∞ is nearly straight in δ


class FocusSlopes(NamedTuple):
    """Derivatives by δ, per mm."""

    w_infinity: float
    kappa: float  # m


@dataclass(frozen=True)
class FocusUncertainty:
    """How well a camera file knows the focus; if it does not say, it is believed until images contradict it."""

    sigma: float = USUAL_SIGMA  # mm, of b_L0 with all else as in the file
    stated: bool = False  # by the file
    scale: float = 0.0  # relative σ of κ, the unit of length; 0: not stated
    guessed: bool = False  # like the other optics: then nobody can tell what is wrong about them


@dataclass(frozen=True)
class FocusModel:
    """A view as a function of the focus shift δ (mm): w_∞, κ and the focal length follow it, stereo slopes stay."""

    view: FocusedView  # at δ = 0
    camera: PlenopticCamera
    known: FocusUncertainty = FocusUncertainty()  # by the camera file

    @classmethod
    def of(cls, view: FocusedView, camera: PlenopticCamera) -> FocusModel:
        """Of a view of a camera, with what its file says about the focus."""
        model, said = cls(view, camera), camera.calibration.uncertainty or {}
        w_infinity, kappa = (_stated(said, key) for key in ("w_infinity", "kappa_m"))
        scale = 0.0 if kappa is None else kappa / view.kappa
        if w_infinity is None:
            guessed = metric_notice(camera.calibration) is not None
            return replace(model, known=FocusUncertainty(scale=scale, guessed=guessed))
        sigma = w_infinity / abs(model.slopes(0.0).w_infinity)
        return replace(model, known=FocusUncertainty(sigma, True, scale))

    def at(self, shift: float) -> FocusedView:
        """The view with the lens moved away from the micro-lenses by ``shift`` mm (eq. 5)."""
        if shift == 0.0:
            return self.view
        if self.view.name == "focal":
            return replace(self.view, w_infinity=self.view.w_infinity + shift * self.slopes(0.0).w_infinity)
        f, b, B = self._lengths
        longer = (b + shift + B) / (b + B)
        return replace(
            self.view,
            focal_px=self.view.focal_px * longer,
            w_infinity=self.view.w_infinity
            + ((b + shift + B) * (f - b - shift) - (b + B) * (f - b)) / (B * f),
            kappa=self.view.kappa * longer * (b + shift) / b,
        )

    def slopes(self, shift: float) -> FocusSlopes:
        """dw_∞/dδ and dκ/dδ at a shift."""
        f, b, B = self._lengths
        if self.view.name == "focal":
            return FocusSlopes(-1.0 / B, 0.0)
        kappa = self.view.kappa * (2.0 * (b + shift) + B) / (b * (b + B))
        return FocusSlopes((f - 2.0 * (b + shift) - B) / (B * f), kappa)

    def shift_of(self, w_infinity: float) -> float:
        """The shift (mm) at which the view has this w_∞."""
        shift = 0.0
        for _ in range(ITERATIONS):
            shift += (w_infinity - self.at(shift).w_infinity) / self.slopes(shift).w_infinity
        return shift

    def refined(self, shift: float, sigma: float) -> Calibration:
        """The camera file at a focus (mm) that is known to ``sigma`` (mm)."""
        calibration = self.camera.calibration
        lens = calibration.main_lens
        moved = lens.model_copy(update={"mla_distance_mm": lens.mla_distance_mm + shift})
        slope = abs(self.slopes(shift).w_infinity)
        known = {**(calibration.uncertainty or {}), "w_infinity": float(sigma * slope)}
        return calibration.model_copy(update={"main_lens": moved, "uncertainty": known})

    @property
    def _lengths(self) -> tuple[float, float, float]:
        """f_L, b_L0 and B, mm."""
        return self.camera.f_L, self.camera.b_L0, self.camera.B


def _stated(uncertainty: dict[str, Any], key: str) -> float | None:
    """A positive number; anything else is no statement."""
    value = uncertainty.get(key)
    return float(value) if isinstance(value, float | int) and value > 0 else None
