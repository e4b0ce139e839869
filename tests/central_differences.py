# SPDX-License-Identifier: Apache-2.0
"""Images with their gradients, as the kernels take them where they read: the slow way."""

from __future__ import annotations

import numpy as np


def with_gradients(image: np.ndarray) -> np.ndarray:
    """(h, w) → intensity, d/dx, d/dy (h, w, 3), float64: half the difference of the neighbours; the image goes on
    beyond its border as it is there."""
    grey = np.pad(image.astype(np.float64), 1, mode="edge")
    along, down = grey[1:-1, 2:] - grey[1:-1, :-2], grey[2:, 1:-1] - grey[:-2, 1:-1]
    return np.stack([grey[1:-1, 1:-1], 0.5 * along, 0.5 * down], -1)
