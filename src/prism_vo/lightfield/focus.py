# SPDX-License-Identifier: Apache-2.0
"""The totally focused image: every micro-image laid over the TF grid at one slope, weighted mean of all.

Weights fall smoothly to zero at the border of a micro-image, so no seam moves with the array. They depend on the
camera and the slope alone: their sum is computed once, a frame costs one pass over the lenses.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import ndimage

from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.geometry import StereoGeometry

FloatImage = NDArray[np.float32]


class FocusTable:
    """Precomputed geometry of ``focus``: weights normalised, uncovered pixels mapped to their nearest covered one."""

    def __init__(self, geometry: StereoGeometry, bands: Bands, slope: float) -> None:
        self._geometry = geometry
        self._bands = bands
        self._slope = slope
        view = geometry.view
        self._norm = np.zeros((view.height, view.width), np.float32)
        sensor = geometry.camera.calibration.sensor
        ones = np.ones((sensor.height, sensor.width), np.float32)
        total = self._splat(ones, np.ones_like(self._norm))
        covered = total > 1e-6
        if not covered.any():
            total[:] = 1.0
            covered = total > 0
        self._norm = np.where(covered, 1.0 / np.maximum(total, 1e-6), 0.0).astype(np.float32)
        self._holes = np.flatnonzero(~covered.ravel())
        nearest = ndimage.distance_transform_edt(~covered, return_distances=False, return_indices=True)
        self._fill = np.ravel_multi_index(nearest, covered.shape).ravel()[self._holes]

    def __call__(self, raw: FloatImage) -> FloatImage:
        """Devignetted raw image (H, W) → TF image (h, w)."""
        image = self._splat(raw, self._norm)
        if len(self._holes):
            image.ravel()[self._holes] = image.ravel()[self._fill]
        return image

    def _splat(self, raw: FloatImage, norm: FloatImage) -> FloatImage:
        g = self._geometry
        out = np.zeros((g.view.height, g.view.width), np.float32)

        def band(first: int, last: int) -> None:
            _splat_rows(raw, g.lenses, g.radius, self._slope, g.camera.tf_scale, first, last, norm, out)

        self._bands.run(g.view.height, band)
        return out


@njit(nogil=True, cache=True, fastmath=True)
def _splat_rows(raw, lenses, radius, slope, scale, first, last, norm, out):  # type: ignore[no-untyped-def]
    """Add every lens's share to TF rows [first, last); lenses in fixed order, so bands do not change a bit."""
    height, width = raw.shape
    tf_width = out.shape[1]
    reach = radius / slope
    step = np.float32(scale * slope)
    inv_r2 = np.float32(1.0 / (radius * radius))
    offset = 0.5 * scale - 0.5  # raw coordinate of TF pixel 0
    for n in range(lenses.shape[0]):
        cx, cy = lenses[n, 0], lenses[n, 1]
        ix, iy = lenses[n, 2], lenses[n, 3]
        home_x, home_y = cx + (ix - cx) / slope, cy + (iy - cy) / slope
        row0 = max(first, int(np.ceil((home_y - reach - offset) / scale)))
        row1 = min(last, int(np.floor((home_y + reach - offset) / scale)) + 1)
        if row1 <= row0:
            continue
        dx, dy = lenses[n, 4], lenses[n, 5]
        base_x, base_y = int(np.floor(dx)) - 64, int(np.floor(dy)) - 64
        fx, fy = np.float32(dx - base_x), np.float32(dy - base_y)
        a, b, c, d = (
            np.float32(lenses[n, 6]),
            np.float32(lenses[n, 7]),
            np.float32(lenses[n, 8]),
            np.float32(lenses[n, 9]),
        )
        for row in range(row0, row1):
            ry = np.float32((scale * row + offset - home_y) * slope)
            room = radius * radius - ry * ry
            if room <= 0.0:
                continue
            half = np.sqrt(room) / slope
            col0 = max(0, int(np.ceil((home_x - half - offset) / scale)))
            col1 = min(tf_width, int(np.floor((home_x + half - offset) / scale)) + 1)
            rx0 = np.float32((scale * col0 + offset - home_x) * slope)
            for col in range(col0, col1):
                rx = rx0 + step * np.float32(col - col0)
                px = fx + a * rx + b * ry
                py = fy + c * rx + d * ry
                x, y = int(px), int(py)
                u, v = px - np.float32(x), py - np.float32(y)
                x += base_x
                y += base_y
                if x < 0 or y < 0 or x >= width - 1 or y >= height - 1:
                    continue
                top = raw[y, x] + u * (raw[y, x + 1] - raw[y, x])
                bottom = raw[y + 1, x] + u * (raw[y + 1, x + 1] - raw[y + 1, x])
                taper = np.float32(1.0) - (rx * rx + ry * ry) * inv_r2
                out[row, col] += taper * taper * (top + v * (bottom - top))
    for row in range(first, last):
        for col in range(tf_width):
            out[row, col] *= norm[row, col]
