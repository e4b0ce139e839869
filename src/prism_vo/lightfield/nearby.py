# SPDX-License-Identifier: Apache-2.0
"""The lenses near a box of the TF grid, copied close together: kernels then loop over few, not over all."""

from __future__ import annotations

import numpy as np
from numba import njit

from prism_vo.arrays import Array
from prism_vo.lightfield.geometry import StereoGeometry, raw_border
from prism_vo.optics.distortion import distort


def lens_grid(geometry: StereoGeometry) -> Array:
    """What the kernels here need to know about the array, in the order they read it."""
    camera, array = geometry.camera, geometry.array
    centre = camera.principal_point
    corners = geometry.lenses[:, 2:4]
    margin = float(np.abs(distort(camera.calibration, corners) - corners).max()) + 1.0
    lam = 1.0 if geometry.view.name == "central" else camera.lam
    inverse = np.linalg.inv(array.axes)
    return np.array([
        lam, centre[0], centre[1], margin, geometry.radius, array.origin[0], array.origin[1],
        *inverse.ravel(), array.i_min, array.j_min, raw_border(geometry),
    ])  # fmt: skip


@njit(nogil=True, cache=True, fastmath=True)
def _lens_range(grid, slope, reach, x0, y0, x1, y1):  # type: ignore[no-untyped-def]
    """Rows and columns of the lens index that may see the box; ``grid``: of :func:`lens_grid`."""
    lam, cx, cy, margin = grid[0], grid[1], grid[2], grid[3]
    home = slope / (1.0 - lam * (1.0 - slope))  # TF position → micro-image that shows it at its centre
    reach = reach * home + margin
    i_lo, i_hi, j_lo, j_hi = 1e9, -1e9, 1e9, -1e9
    for corner in range(4):
        x = (x1 - cx) * home + cx + reach if corner & 1 else (x0 - cx) * home + cx - reach
        y = (y1 - cy) * home + cy + reach if corner & 2 else (y0 - cy) * home + cy - reach
        i = grid[7] * (x - grid[5]) + grid[9] * (y - grid[6])
        j = grid[8] * (x - grid[5]) + grid[10] * (y - grid[6])
        i_lo, i_hi, j_lo, j_hi = min(i_lo, i), max(i_hi, i), min(j_lo, j), max(j_hi, j)
    return int(np.floor(i_lo)), int(np.ceil(i_hi)), int(np.floor(j_lo)), int(np.ceil(j_hi))


@njit(nogil=True, cache=True, fastmath=True)
def gather_lenses(lenses, index, grid, slope, reach, x0, y0, x1, y1, near, where):  # type: ignore[no-untyped-def]
    """Copy the lenses within ``reach`` of the box at ``slope`` or more, relative to (x0, y0); returns how many.

    ``near`` (M, 10): columns of ``lenses`` with the stereo and image centres relative to the box, the measured
    centre as offset from the raw pixel ``where[:, :2]``; ``where[:, 2:]``: i, j.
    """
    i_min, j_min, pad = int(grid[11]), int(grid[12]), grid[13]
    i_lo, i_hi, j_lo, j_hi = _lens_range(grid, slope, reach, x0, y0, x1, y1)
    i_lo, i_hi = max(i_lo, i_min), min(i_hi, i_min + index.shape[1] - 1)
    j_lo, j_hi = max(j_lo, j_min), min(j_hi, j_min + index.shape[0] - 1)
    count = 0
    for j in range(j_lo, j_hi + 1):
        for i in range(i_lo, i_hi + 1):
            n = index[j - j_min, i - i_min]
            if n < 0 or count == near.shape[0]:
                continue
            cx, cy = lenses[n, 0], lenses[n, 1]
            home_x, home_y = cx + (lenses[n, 2] - cx) / slope, cy + (lenses[n, 3] - cy) / slope
            loose = (
                reach + abs(home_x - cx) + abs(home_y - cy)
            )  # the home of a focal view moves with the slope
            if home_x + loose < x0 or home_x - loose > x1 or home_y + loose < y0 or home_y - loose > y1:
                continue
            base_x, base_y = np.floor(lenses[n, 4]), np.floor(lenses[n, 5])
            near[count, 0], near[count, 1] = cx - x0, cy - y0
            near[count, 2], near[count, 3] = lenses[n, 2] - cx, lenses[n, 3] - cy
            near[count, 4], near[count, 5] = lenses[n, 4] - base_x + pad, lenses[n, 5] - base_y + pad
            for c in range(6, 10):
                near[count, c] = lenses[n, c]
            where[count, 0], where[count, 1], where[count, 2], where[count, 3] = (
                int(base_x),
                int(base_y),
                i,
                j,
            )
            count += 1
    return count
