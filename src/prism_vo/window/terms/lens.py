# SPDX-License-Identifier: Apache-2.0
"""Focal length and principal point are held about those of the camera file, as firmly as the calibration knows them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array
from prism_vo.optics.lens import LENS
from prism_vo.window.state import State
from prism_vo.window.system import System


@dataclass(frozen=True)
class LensPrior:
    """A quadratic in the numbers of the lens about 0."""

    information: Array  # (LENS,), in units of the energy

    def linearize(self, state: State, system: System) -> float:
        """Adds to the first numbers of the camera."""
        rows = state.camera_rows.start + np.arange(LENS)
        numbers = state.camera.value[:LENS]
        system.h[rows, rows] += self.information
        system.b[rows] += self.information * numbers
        return float(self.information @ numbers**2)
