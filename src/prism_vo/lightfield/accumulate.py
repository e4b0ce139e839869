# SPDX-License-Identifier: Apache-2.0
"""Kernels that lay micro-images over a rectangle of the TF grid at one stereo slope and sum over the lenses.

Per sample p of the rectangle, over the lenses j that see it, with weights w_j and baseline vectors d_j = t − c_j:
``Σw, Σw², ΣwI, ΣwI²`` (enough for the matching cost) and ``Σw d, ΣwI d`` (its derivative by the slope).
The lenses come in a fixed order whatever the rectangle, so a point and a whole image get the same sums.
"""

from __future__ import annotations

import numpy as np
from numba import njit

W, W2, WI, WII, WX, WY, WIX, WIY = range(8)
SUMS = 8
COST_SUMS = 4
GREY_OFFSET = 128.0  # subtracted from intensities: keeps float32 sums of squares accurate
RIM = 0.25  # outer share of a micro-image's area over which weights ramp down to zero


@njit(nogil=True, cache=True, fastmath=True)
def lens_range(grid, slope, x0, y0, x1, y1):  # type: ignore[no-untyped-def]
    """Rows and columns of the lens index that may see the box; ``grid`` is built by ``matching.lens_grid``."""
    lam, cx, cy, margin, radius = grid[0], grid[1], grid[2], grid[3], grid[4]
    home = slope / (1.0 - lam * (1.0 - slope))  # TF position → micro-image that shows it at its centre
    reach = radius / slope * home + margin
    i_lo, i_hi, j_lo, j_hi = 1e9, -1e9, 1e9, -1e9
    for corner in range(4):
        x = (x1 - cx) * home + cx + reach if corner & 1 else (x0 - cx) * home + cx - reach
        y = (y1 - cy) * home + cy + reach if corner & 2 else (y0 - cy) * home + cy - reach
        i = grid[7] * (x - grid[5]) + grid[9] * (y - grid[6])
        j = grid[8] * (x - grid[5]) + grid[10] * (y - grid[6])
        i_lo, i_hi, j_lo, j_hi = min(i_lo, i), max(i_hi, i), min(j_lo, j), max(j_hi, j)
    return int(np.floor(i_lo)), int(np.ceil(i_hi)), int(np.floor(j_lo)), int(np.ceil(j_hi))


@njit(nogil=True, cache=True, fastmath=True)
def accumulate(raw, lenses, index, grid, slope, stride, fall, x0, y0, step, nx, ny, with_slope, sums):  # type: ignore[no-untyped-def]
    """Fill ``sums[:, :ny, :nx]`` for the samples ``(x0 + step·col, y0 + step·row)`` (raw px units).

    ``fall``: transmission V = 1 − fall·q at relative area q = r²/R². ``stride``: every n-th lens of the array.
    """
    height, width = raw.shape
    radius = grid[4]
    i_min, j_min = int(grid[11]), int(grid[12])
    reach = radius / slope
    inv_slope = np.float32(1.0 / slope)
    pace = np.float32(step * slope)
    inv_r2 = np.float32(1.0 / (radius * radius))
    one, offset, ramp = np.float32(1.0), np.float32(GREY_OFFSET), np.float32(1.0 / RIM)
    drop = np.float32(fall)
    count = SUMS if with_slope else COST_SUMS
    sums[:count, :ny, :nx] = 0.0
    i_lo, i_hi, j_lo, j_hi = lens_range(grid, slope, x0, y0, x0 + step * (nx - 1), y0 + step * (ny - 1))
    for j in range(max(j_lo, j_min), min(j_hi, j_min + index.shape[0] - 1) + 1):
        if j % stride != 0:
            continue
        for i in range(max(i_lo, i_min), min(i_hi, i_min + index.shape[1] - 1) + 1):
            if i % stride != 0:
                continue
            n = index[j - j_min, i - i_min]
            if n < 0:
                continue
            cx, cy = lenses[n, 0], lenses[n, 1]
            home_x, home_y = cx + (lenses[n, 2] - cx) / slope, cy + (lenses[n, 3] - cy) / slope
            row0 = max(0, int(np.ceil((home_y - reach - y0) / step)))
            row1 = min(ny - 1, int(np.floor((home_y + reach - y0) / step)))
            if row1 < row0 or home_x + reach < x0 or home_x - reach > x0 + step * (nx - 1):
                continue
            base_x, base_y = int(np.floor(lenses[n, 4])) - 64, int(np.floor(lenses[n, 5])) - 64
            fx, fy = np.float32(lenses[n, 4] - base_x), np.float32(lenses[n, 5] - base_y)
            a, b = np.float32(lenses[n, 6]), np.float32(lenses[n, 7])
            c, d = np.float32(lenses[n, 8]), np.float32(lenses[n, 9])
            shift_x, shift_y = np.float32(home_x - cx), np.float32(home_y - cy)
            for row in range(row0, row1 + 1):
                ry = np.float32((y0 + step * row - home_y) * slope)
                room = radius * radius - ry * ry
                if room <= 0.0:
                    continue
                half = np.sqrt(room) / slope
                col0 = max(0, int(np.ceil((home_x - half - x0) / step)))
                col1 = min(nx - 1, int(np.floor((home_x + half - x0) / step)))
                rx0 = np.float32((x0 + step * col0 - home_x) * slope)
                dy = ry * inv_slope + shift_y
                for col in range(col0, col1 + 1):
                    rx = rx0 + pace * np.float32(col - col0)
                    px = fx + a * rx + b * ry
                    py = fy + c * rx + d * ry
                    x, y = int(px), int(py)
                    u, v = px - np.float32(x), py - np.float32(y)
                    x += base_x
                    y += base_y
                    if x < 0 or y < 0 or x >= width - 1 or y >= height - 1:
                        continue
                    i00, i01, i10, i11 = raw[y, x], raw[y, x + 1], raw[y + 1, x], raw[y + 1, x + 1]
                    if min(min(i00, i01), min(i10, i11)) <= 0.0:  # outside its micro-image, or saturated
                        continue
                    top = i00 + u * (i01 - i00)
                    grey = top + v * (i10 + u * (i11 - i10) - top) - offset
                    q = (rx * rx + ry * ry) * inv_r2
                    w = max(min(one, (one - q) * ramp), np.float32(0.0)) * (one - drop * q)
                    wi = w * grey
                    sums[W, row, col] += w
                    sums[W2, row, col] += w * w
                    sums[WI, row, col] += wi
                    sums[WII, row, col] += wi * grey
                    if with_slope:
                        dx = rx * inv_slope + shift_x
                        sums[WX, row, col] += w * dx
                        sums[WY, row, col] += w * dy
                        sums[WIX, row, col] += wi * dx
                        sums[WIY, row, col] += wi * dy
