# SPDX-License-Identifier: Apache-2.0
"""Brightness of the keyframes is held about the value that tracking measured on blurred images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array
from prism_vo.window.keyframe import BLOCK, POSE
from prism_vo.window.state import State
from prism_vo.window.system import System


@dataclass(frozen=True)
class BrightnessTerm:
    """A quadratic in (a, b) of every keyframe."""

    centre: Array  # (K, 2): (a, b) as tracked
    information: Array  # (2,) of (a, b) about their centre, in units of the energy

    def linearize(self, state: State, system: System) -> float:
        """Adds to the diagonal of a and b."""
        away = state.affine - self.centre
        for c in range(2):
            rows = np.arange(POSE + c, BLOCK * len(away), BLOCK)
            system.h[rows, rows] += self.information[c]
            system.b[rows] += self.information[c] * away[:, c]
        return float((self.information * away**2).sum())
