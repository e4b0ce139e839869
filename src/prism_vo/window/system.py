# SPDX-License-Identifier: Apache-2.0
"""The window's normal equations at one state, and what became of each photometric residual there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.linear.schur import NormalEquations
from prism_vo.window.state import State


@dataclass(frozen=True)
class Residuals:
    """Photometric residuals of N points in K keyframes."""

    status: NDArray[np.int8]  # (N, K): NONE / IN / OUTLIER / OUTSIDE
    energy: Floats  # (N, K), not limited by the outlier energy
    curvature: Array  # (N,): second derivative of their sum by the point's inverse depth


@dataclass
class System(NormalEquations):
    """Terms add to it; ``energy`` and ``residuals`` are set when all of them have."""

    energy: float = 0.0
    residuals: Residuals | None = None

    @classmethod
    def at(cls, state: State) -> System:
        """Empty equations for the variables of a state."""
        blank = NormalEquations.zeros(state.size, len(state.inv_depth))
        return cls(blank.h, blank.b, blank.h_cross, blank.h_points, blank.b_points)

    @property
    def photometric(self) -> Residuals:
        """The photometric residuals; every energy of a window has them."""
        assert self.residuals is not None
        return self.residuals
