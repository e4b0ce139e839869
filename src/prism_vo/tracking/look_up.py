# SPDX-License-Identifier: Apache-2.0
"""Values and gradients of an image at any places."""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Array, Floats
from prism_vo.bilinear import with_gradient
from prism_vo.compiled import njit


def look_up(image: Floats, x: Array, y: Array) -> Array:
    """(3, N): value, d/dx and d/dy of an image (h, w) at places that are at least a pixel from its border and two from
    the right and the lower one."""
    found = np.empty((3, len(x)))
    _look_up(image, x, y, found)
    return found


@njit(nogil=True, cache=True, error_model="numpy")
def _look_up(image, x, y, out):  # type: ignore[no-untyped-def]
    width, flat = image.shape[1], image.ravel()
    for n in range(len(x)):
        column, row = int(x[n]), int(y[n])
        at = np.uint64((row - 1) * width + column - 1)
        right, down = np.float32(x[n] - column), np.float32(y[n] - row)
        out[0, n], out[1, n], out[2, n] = with_gradient(flat, at, np.uint64(width), right, down)
