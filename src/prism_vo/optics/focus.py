# SPDX-License-Identifier: Apache-2.0
"""What a moved focus does to a view: the main lens stands at b_L0 + δ instead of b_L0.

Heat, transport or a touched ring move lenses by micrometres, and each of them shifts the virtual depth of everything by
1/B (docs/camera-model.md, eq. 5 and 6). The decoder does not notice: it measures stereo slopes, which mean other depths.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.view import FocusedView

STEP = 1e-3  # mm, of the numeric derivatives: a micrometre


@dataclass(frozen=True)
class FocusModel:
    """A view as a function of the focus shift δ (mm): w_∞, κ and the focal length follow it, slopes stay."""

    view: FocusedView  # at δ = 0
    camera: PlenopticCamera

    def at(self, shift: float) -> FocusedView:
        """The view with the lens moved away from the micro-lenses by ``shift`` mm."""
        now, file = self._view(shift), self._view(0.0)
        return replace(
            self.view,
            focal_px=self.view.focal_px * now.focal_px / file.focal_px,
            w_infinity=self.view.w_infinity + (now.w_infinity - file.w_infinity),
            kappa=self.view.kappa * now.kappa / file.kappa,
        )

    def slopes(self, shift: float) -> tuple[float, float]:
        """dw_∞/dδ and dκ/dδ (m), per mm."""
        less, more = self.at(shift - STEP), self.at(shift + STEP)
        return (
            (more.w_infinity - less.w_infinity) / (2 * STEP),
            (more.kappa - less.kappa) / (2 * STEP),
        )

    def _view(self, shift: float) -> FocusedView:
        lens = self.camera.calibration.main_lens
        moved = lens.model_copy(update={"mla_distance_mm": lens.mla_distance_mm + shift})
        calibration = self.camera.calibration.model_copy(update={"main_lens": moved})
        return PlenopticCamera.from_calibration(calibration).view(self.view.name)
