# SPDX-License-Identifier: Apache-2.0
"""A quantile of many numbers in the time of finding it: NumPy's own takes longer to begin than to find one."""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Array, Floats


def quantile(values: Array | Floats, share: float) -> float:
    """Of some numbers (N,), none of them NaN, between the two nearest: what ``np.quantile`` gives."""
    place = share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    nearest = np.partition(values, (below, above))
    return float(nearest[below] + (place - below) * (nearest[above] - nearest[below]))
