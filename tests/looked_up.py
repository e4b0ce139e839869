# SPDX-License-Identifier: Apache-2.0
"""Values and gradients of an image at any places, read as the kernels read them."""

from __future__ import annotations

import numpy as np

from prism_vo.bilinear import with_gradient
from prism_vo.compiled import njit


def look_up(image: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(3, N): value, d/dx and d/dy of a float32 image (h, w) at places that are a pixel inside it, two from its end."""
    found = np.empty((3, len(x)))
    _look_up(image, x, y, found)
    return found


@njit()
def _look_up(image: np.ndarray, x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    width, flat = image.shape[1], image.ravel()
    for n in range(len(x)):
        column, row = int(x[n]), int(y[n])
        at = np.uint64((row - 1) * width + column - 1)
        right, down = np.float32(x[n] - column), np.float32(y[n] - row)
        out[0, n], out[1, n], out[2, n] = with_gradient(flat, at, np.uint64(width), right, down)
