# SPDX-License-Identifier: Apache-2.0
"""The focus is held about the one of the camera file, as firmly as the calibration knows it."""

from __future__ import annotations

from dataclasses import dataclass

from prism_vo.window.state import State
from prism_vo.window.system import System


@dataclass(frozen=True)
class FocusPrior:
    """A quadratic in the focus shift about 0."""

    information: float  # 1/mm², in units of the energy

    def linearize(self, state: State, system: System) -> float:
        """Adds to the last number of the camera."""
        row, shift = state.size - 1, float(state.camera.value[-1])
        system.h[row, row] += self.information
        system.b[row] += self.information * shift
        return self.information * shift * shift
