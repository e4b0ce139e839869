# SPDX-License-Identifier: Apache-2.0
"""Is a white image one of an evenly lit target? Neighbouring micro-images then have the same light.

What falls off inside micro-images and slowly over the sensor cancels between neighbours, whatever the aperture and
focus; a scene does not.
"""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Array, Floats, Integers
from prism_vo.optics.mla import MicroLensArray

LOOK_PX = 2048  # a side of the middle part of the sensor that is looked at
INNER = 0.6  # of the usable radius: which pixels lie in it matters little there, and light hardly falls off
LEAST_LIGHT = 0.2  # of the brightest micro-images: those in the dark corners of the main lens say nothing
SPOILT = 0.1  # of the lenses, the most uneven ones: dust and scratches
FEWEST_LENSES = 50
FEWEST_NEIGHBOURS = 4
HEXAGONAL = ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1))
RECTANGULAR = ((1, 0), (0, 1), (-1, 0), (0, -1))


def unevenness(light: Floats, owner: Integers, distance: Floats, array: MicroLensArray) -> float:
    """By how much micro-images are brighter or darker than their neighbours, relative (RMS without noise).

    ``owner`` and ``distance`` (H, W): lens of each pixel of ``light``, and how far its centre is. 0 where too few
    lenses tell.
    """
    middle = tuple(
        slice(max(side - LOOK_PX, 0) // 2, max(side - LOOK_PX, 0) // 2 + LOOK_PX) for side in light.shape
    )
    light, owner, distance = light[middle], owner[middle], distance[middle]
    inner = (distance < INNER * array.usable_radius) & (owner >= 0)
    lens, values = owner[inner], light[inner].astype(np.float64)
    rows, columns = np.nonzero(inner)
    first = (rows + columns) % 2 == 0
    # noise of one half of the pixels is not that of the other, so it cancels in the product
    halves = [_against_neighbours(lens[part], values[part], array) for part in (first, ~first)]
    both = np.isfinite(halves[0]) & np.isfinite(halves[1])
    if both.sum() < FEWEST_LENSES:
        return 0.0
    one, other = halves[0][both], halves[1][both]
    kept = np.argsort(np.abs(one + other))[: int((1 - SPOILT) * len(one))]
    return float(np.sqrt(max((one[kept] * other[kept]).mean(), 0.0)))


def _against_neighbours(lens: Integers, values: Array, array: MicroLensArray) -> Array:
    """Mean light of each lens over that of the lenses around it, minus 1; NaN where too few are lit."""
    count = np.bincount(lens, minlength=len(array))
    known = count > 0.5 * np.median(count[count > 0]) if (count > 0).any() else count > 0
    mean = np.bincount(lens, values, len(array)) / np.maximum(count, 1)
    known &= mean > LEAST_LIGHT * np.percentile(mean[known], 99) if known.any() else known
    for kind in np.unique(array.lens_type):  # kinds of lenses may differ in brightness
        mine = known & (array.lens_type == kind)
        if mine.any():
            mean[mine] /= max(float(np.median(mean[mine])), 1e-9)
    total, around = np.zeros(len(array)), np.zeros(len(array), np.int64)
    turned = float(array.axes[0] @ array.axes[1]) > 0.25 * float(array.axes[0] @ array.axes[0])
    columns, rows = array.grid.astype(np.int_).T
    for i, j in HEXAGONAL if turned else RECTANGULAR:
        row = array.rows(columns + i, rows + j)
        lit = (row >= 0) & known[row]
        total += np.where(lit, mean[row], 0.0)
        around += lit
    told = known & (around >= FEWEST_NEIGHBOURS) & (total > 0)
    return np.where(told, mean * around / np.where(told, total, 1.0) - 1.0, np.nan)
