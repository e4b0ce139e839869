# SPDX-License-Identifier: Apache-2.0
"""The eight pixels that a point is compared in, and what a residual of them can be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Floats, Mask
from prism_vo.compiled import njit

# 8 of the 9 pixels of a spread diamond (DSO's pattern): dx, dy
PATTERN = np.array([[0, -2], [-1, -1], [1, -1], [-2, 0], [0, 0], [2, 0], [-1, 1], [0, 2]], dtype=np.float32)
CENTRE = 4  # row of PATTERN

# Status of a residual: does not exist / counts / energy too large / out of the target's view
NONE, IN, OUTLIER, OUTSIDE = np.int8(-1), np.int8(0), np.int8(1), np.int8(2)


def is_in_view(status: NDArray[np.int8]) -> Mask:
    """Which residuals were compared, whether they fit or not."""
    return (status == IN) | (status == OUTLIER)


@njit(nogil=True, cache=True)
def sample_pattern(image, u, v, contrast, color, weight):  # type: ignore[no-untyped-def]
    """Pattern intensities and weights c²/(c² + |∇I|²) at points of a (h, w) image (bilinear)."""
    height, width, half = image.shape[0], image.shape[1], np.float32(0.5)
    for n in range(u.shape[0]):
        for k in range(8):
            x, y = u[n] + PATTERN[k, 0], v[n] + PATTERN[k, 1]
            ix, iy = int(x), int(y)
            fx, fy = x - np.float32(ix), y - np.float32(iy)
            value, gx, gy = np.float32(0), np.float32(0), np.float32(0)
            for c in range(4):
                w = (fx if c % 2 else np.float32(1) - fx) * (fy if c // 2 else np.float32(1) - fy)
                if w != np.float32(0):
                    row, col = iy + c // 2, ix + c % 2
                    left, right = image[row, max(col - 1, 0)], image[row, min(col + 1, width - 1)]
                    above, below = image[max(row - 1, 0), col], image[min(row + 1, height - 1), col]
                    value += w * image[row, col]
                    gx += w * (half * (right - left))
                    gy += w * (half * (below - above))
            color[n, k] = value
            weight[n, k] = contrast * contrast / (contrast * contrast + gx * gx + gy * gy)


def pattern_at(image: Floats, u: Floats, v: Floats, contrast: float) -> tuple[Floats, Floats]:
    """Intensities and weights (N, 8) of the residual pattern around points."""
    color, weight = np.empty((len(u), 8), np.float32), np.empty((len(u), 8), np.float32)
    sample_pattern(image, u, v, np.float32(contrast), color, weight)
    return color, weight
