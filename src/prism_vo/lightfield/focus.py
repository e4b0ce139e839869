# SPDX-License-Identifier: Apache-2.0
"""The totally focused image: every micro-image laid over the TF grid at one slope, weighted mean of all.

Weights fall smoothly to zero at the border of a micro-image, so no seam moves with the array. They depend on the
camera and the slope alone: their sum is computed once, a frame costs one pass over the lenses.
"""

from __future__ import annotations

import cv2
import numpy as np
from numba import njit

from prism_vo.arrays import Floats
from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.geometry import StereoGeometry, raw_border

CHUNK = 128  # TF pixels of a row that go through the loops together


class FocusTable:
    """Precomputed geometry of ``focus``: weights normalised, uncovered pixels mapped to their nearest covered one."""

    def __init__(self, geometry: StereoGeometry, bands: Bands, slope: float) -> None:
        self._geometry = geometry
        self._bands = bands
        self._slope = slope
        view = geometry.view
        self._norm = np.zeros((view.height, view.width), np.float32)
        sensor = geometry.camera.calibration.sensor
        border = raw_border(geometry)
        ones = np.pad(np.ones((sensor.height, sensor.width), np.float32), border)
        total = self._splat(ones, np.ones_like(self._norm))
        covered = total > 1e-6
        if not covered.any():
            total[:] = 1.0
            covered = total > 0
        self._norm = np.where(covered, 1.0 / np.maximum(total, 1e-6), 0.0).astype(np.float32)
        self._holes = np.flatnonzero(~covered.ravel())
        _, nearest = cv2.distanceTransformWithLabels(
            (~covered).astype(np.uint8), cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL
        )
        source = np.zeros(int(nearest.max()) + 1, np.int64)  # label → the covered pixel that bears it
        source[nearest[covered]] = np.flatnonzero(covered.ravel())
        self._fill = source[nearest.ravel()[self._holes]]

    def __call__(self, raw: Floats) -> Floats:
        """Devignetted raw image, padded as ``raw_border`` says → TF image (h, w)."""
        image = self._splat(raw, self._norm)
        if len(self._holes):
            image.ravel()[self._holes] = image.ravel()[self._fill]
        return image

    def _splat(self, raw: Floats, norm: Floats) -> Floats:
        g = self._geometry
        out = np.zeros((g.view.height, g.view.width), np.float32)
        border = raw_border(g)

        def band(first: int, last: int) -> None:
            _splat_rows(
                raw, border, g.lenses, g.radius, self._slope, g.camera.tf_scale, first, last, norm, out
            )

        self._bands.run(g.view.height, band)
        return out


@njit(nogil=True, cache=True, fastmath=True)
def _splat_rows(raw, border, lenses, radius, slope, scale, first, last, norm, out):  # type: ignore[no-untyped-def]
    """Add every lens's share to TF rows [first, last); lenses in fixed order, so bands do not change a bit.

    A row of a lens goes through three short loops (positions, memory reads, sums): the first and the last vectorise.
    """
    f32, size = np.float32, np.uint64
    width32, width, one_on = np.int32(raw.shape[1]), size(raw.shape[1]), size(1)
    flat = raw.ravel()
    tf_width = out.shape[1]
    reach = radius / slope
    step, one, inv_r2 = f32(scale * slope), f32(1.0), f32(1.0 / (radius * radius))
    offset = 0.5 * scale - 0.5  # raw coordinate of TF pixel 0
    z, at = (
        np.empty(3 * CHUNK, np.float32),
        np.empty(CHUNK, np.int32),
    )  # fractions u, v (then the value); weight
    for n in range(lenses.shape[0]):
        cx, cy = lenses[n, 0], lenses[n, 1]
        ix, iy = lenses[n, 2], lenses[n, 3]
        home_x, home_y = cx + (ix - cx) / slope, cy + (iy - cy) / slope
        row0 = max(first, int(np.ceil((home_y - reach - offset) / scale)))
        row1 = min(last, int(np.floor((home_y + reach - offset) / scale)) + 1)
        if row1 <= row0:
            continue
        base_x, base_y = (
            np.floor(lenses[n, 4]) - border,
            np.floor(lenses[n, 5]) - border,
        )  # keeps numbers positive
        fx, fy = f32(lenses[n, 4] - base_x), f32(lenses[n, 5] - base_y)
        base = size(int(base_y) + border) * width + size(int(base_x) + border)  # modulo 2⁶⁴ where negative
        a, b, c, d = f32(lenses[n, 6]), f32(lenses[n, 7]), f32(lenses[n, 8]), f32(lenses[n, 9])
        for row in range(row0, row1):
            ry = f32((scale * row + offset - home_y) * slope)
            room = radius * radius - ry * ry
            if room <= 0.0:
                continue
            half = np.sqrt(room) / slope
            col0 = max(0, int(np.ceil((home_x - half - offset) / scale)))
            col1 = min(tf_width, int(np.floor((home_x + half - offset) / scale)) + 1)
            ax, ay, q0 = fx + b * ry, fy + d * ry, one - ry * ry * inv_r2
            for left in range(col0, col1, CHUNK):
                count = min(CHUNK, col1 - left)
                rx0 = f32((scale * left + offset - home_x) * slope)
                for t in range((count + 7) // 8 * 8):
                    k = size(t)
                    rx = rx0 + step * f32(t)
                    px, py = ax + a * rx, ay + c * rx
                    x, y = np.int32(px), np.int32(py)
                    z[k], z[k + size(CHUNK)] = px - f32(x), py - f32(y)
                    at[k] = y * width32 + x
                    taper = q0 - rx * rx * inv_r2
                    z[k + size(2 * CHUNK)] = taper * taper
                for t in range(count):
                    k = size(t)
                    p = base + size(np.uint32(at[k]))
                    u, upper, lower = z[k], flat[p], flat[p + width]
                    upper += u * (flat[p + one_on] - upper)
                    lower += u * (flat[p + width + one_on] - lower)
                    z[k] = upper + z[k + size(CHUNK)] * (lower - upper)
                line = out[row, left : left + count]
                for t in range(count):
                    line[t] += z[t] * z[t + 2 * CHUNK]
    for row in range(first, last):
        for col in range(tf_width):
            out[row, col] *= norm[row, col]
