# SPDX-License-Identifier: Apache-2.0
"""Points that are ready for the map: kept relative to their keyframe until the final poses are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Integers


@dataclass(frozen=True)
class FinishedPoints:
    """Points with a good depth, as the window leaves them; all (N,) but the colour."""

    keyframe: Integers  # id of the host
    u: Floats
    v: Floats
    inv_depth: Array
    variance: Array  # of inv_depth
    rgb: NDArray[np.uint8]  # (N, 3)
