# SPDX-License-Identifier: Apache-2.0
"""Points that are ready for the map: kept relative to their keyframe until the final poses are known."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Integers, Mask


@dataclass(frozen=True)
class FinishedPoints:
    """Points with a good depth, as the window leaves them; all (N,) but the colour."""

    keyframe: Integers  # id of the host
    u: Floats
    v: Floats
    inv_depth: Array
    variance: Array  # of inv_depth
    rgb: NDArray[np.uint8]  # (N, 3)

    def scaled(self, factor: float, first: int) -> FinishedPoints:
        """Those hosted in keyframes with ids from ``first`` on, farther away by a factor."""
        by = np.where(self.keyframe >= first, factor, 1.0)
        return replace(self, inv_depth=self.inv_depth / by, variance=self.variance / by**2)

    def take(self, which: Mask) -> FinishedPoints:
        """Some of them."""
        return FinishedPoints(*(getattr(self, f.name)[which] for f in fields(self)))
