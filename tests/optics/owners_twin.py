# SPDX-License-Identifier: Apache-2.0
"""NumPy twin of the kernel that says which micro-lens owns a raw pixel."""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Array, Integers
from prism_vo.optics.mla import MicroLensArray
from prism_vo.optics.visibility import OwnerMaps


def owner_maps_numpy(array: MicroLensArray, width: int, height: int) -> OwnerMaps:
    """The lens of each pixel of a width × height sensor, and whether the pixel lies in its usable circle."""
    pixels = np.stack(np.meshgrid(np.arange(width), np.arange(height)), -1).astype(np.float64)
    owner = nearest_lens(array, pixels)
    i, j = array.grid[owner, 0], array.grid[owner, 1]
    centre = array.origin + i[..., None] * array.axes[0] + j[..., None] * array.axes[1]
    inside = ((pixels - centre) ** 2).sum(-1) < array.usable_radius**2
    return OwnerMaps(owner, (owner >= 0) & inside)


def nearest_lens(array: MicroLensArray, pixels: Array) -> Integers:
    """Row of the lens whose micro-image centre is nearest to each raw pixel (…, 2); −1 off the grid.

    The nearest centre is a corner of the grid cell a pixel lies in: its triangles have no obtuse angle.
    """
    base = np.floor((pixels - array.origin) @ np.linalg.inv(array.axes)).astype(int)
    best = np.full(pixels.shape[:-1], np.inf)
    out = np.full(pixels.shape[:-1], -1, np.int32)
    for dj in (0, 1):
        for di in (0, 1):
            i, j = base[..., 0] + di, base[..., 1] + dj
            centre = array.origin + i[..., None] * array.axes[0] + j[..., None] * array.axes[1]
            d2 = ((pixels - centre) ** 2).sum(-1)
            closer = d2 < best
            best = np.where(closer, d2, best)
            out = np.where(closer, array.rows(i, j), out)
    return out
