# SPDX-License-Identifier: Apache-2.0
"""The totally focused image: every micro-image laid over the TF grid at one slope, weighted mean of all.

Weights fall smoothly to zero at the border of a micro-image, so no seam moves with the array. They depend on the
camera and the slope alone: their sum is computed once, a frame costs one pass over the lenses.
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np

from prism_vo.arrays import Array, Floats
from prism_vo.compiled import njit
from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.geometry import (
    IMAGE_X,
    IMAGE_Y,
    JACOBIAN_XX,
    JACOBIAN_XY,
    JACOBIAN_YX,
    JACOBIAN_YY,
    MEASURED_X,
    MEASURED_Y,
    STEREO_X,
    STEREO_Y,
    StereoGeometry,
    raw_border,
)

CHUNK = 128  # TF pixels of a row that go through the loops together
REGISTER = 8  # floats: loops of a multiple of them have no slow remainder
LEAST_WEIGHT = 1e-6  # of all lenses together; a pixel with less is not covered
LEAST_LIT = 0.05  # share of a pixel's weight that must be lit for the others to be left out
DISTANCE_MASK = 5  # px a side of the mask that finds the nearest covered pixel
U, V, WEIGHT = np.uint64(0), np.uint64(CHUNK), np.uint64(2 * CHUNK)  # rows of the working array of a chunk
VALUE = U  # takes the place of the fraction


class Layout(NamedTuple):
    """How micro-images are laid over the TF grid."""

    lenses: Array  # (N, LENS_COLUMNS), see :class:`StereoGeometry`
    radius: float  # usable radius of a micro-image, raw px
    border: int  # px of padding round the raw image
    scale: float  # raw px between TF pixels
    slope: float  # the stereo slope


class FocusTable:
    """Precomputed geometry of ``focus``: weights normalised, uncovered pixels mapped to their nearest covered one.

    ``step`` TF pixels in a row and in a column become one of the image.
    """

    def __init__(self, geometry: StereoGeometry, bands: Bands, slope: float, step: int = 1) -> None:
        self._bands = bands
        view, border = geometry.view, raw_border(geometry)
        scale = float(geometry.camera.tf_scale * step)
        self._layout = Layout(geometry.lenses, geometry.radius, border, scale, slope)
        self._norm = np.zeros((-(-view.height // step), -(-view.width // step)), np.float32)
        sensor = geometry.camera.calibration.sensor
        ones = np.pad(np.ones((sensor.height, sensor.width), np.float32), border)
        total = self._splat(ones, np.ones_like(self._norm))
        covered = total > LEAST_WEIGHT
        if not covered.any():
            total[:] = 1.0
            covered = total > 0
        self._norm = np.where(covered, 1.0 / np.maximum(total, LEAST_WEIGHT), 0.0).astype(np.float32)
        self._holes = np.flatnonzero(~covered.ravel())
        _, nearest = cv2.distanceTransformWithLabels(
            (~covered).astype(np.uint8), cv2.DIST_L2, DISTANCE_MASK, labelType=cv2.DIST_LABEL_PIXEL
        )
        source = np.zeros(int(nearest.max()) + 1, np.int64)  # label → the covered pixel that bears it
        source[nearest[covered]] = np.flatnonzero(covered.ravel())
        self._fill = source[nearest.ravel()[self._holes]]

    def __call__(self, raw: Floats, lit: Floats | None = None) -> Floats:
        """Devignetted raw image, padded as ``raw_border`` says → TF image (h, w); ``lit``: share of pixels that count.

        What is always dark would lie over the scene like a veil that moves with the camera.
        """
        image = self._splat(raw if lit is None else raw * lit, self._norm)
        if lit is not None:
            image /= np.maximum(self._splat(lit, self._norm), np.float32(LEAST_LIT))
        if len(self._holes):
            image.ravel()[self._holes] = image.ravel()[self._fill]
        return image

    def _splat(self, raw: Floats, norm: Floats) -> Floats:
        out = np.zeros_like(norm)

        def band(first: int, last: int) -> None:
            _splat_rows(self._layout, raw, norm, first, last, out)

        self._bands.run(len(out), band)
        return out


@njit(nogil=True, cache=True, fastmath=True)
def _splat_rows(layout, raw, norm, first, last, out):  # type: ignore[no-untyped-def]
    """Add every lens's share to TF rows [first, last); lenses in fixed order, so bands do not change a bit.

    A row of a lens goes through three short loops (positions, memory reads, sums): the first and the last vectorise.
    """
    f32, size = np.float32, np.uint64
    lenses, radius, border, scale, slope = layout
    width32, width, one_on = np.int32(raw.shape[1]), size(raw.shape[1]), size(1)
    flat = raw.ravel()
    tf_width = out.shape[1]
    reach = radius / slope
    step, one, inv_r2 = f32(scale * slope), f32(1.0), f32(1.0 / (radius * radius))
    offset = 0.5 * scale - 0.5  # raw coordinate of TF pixel 0
    work, pixel = np.empty(3 * CHUNK, np.float32), np.empty(CHUNK, np.int32)
    for n in range(lenses.shape[0]):
        cx, cy = lenses[n, STEREO_X], lenses[n, STEREO_Y]
        ix, iy = lenses[n, IMAGE_X], lenses[n, IMAGE_Y]
        home_x, home_y = cx + (ix - cx) / slope, cy + (iy - cy) / slope
        row0 = max(first, int(np.ceil((home_y - reach - offset) / scale)))
        row1 = min(last, int(np.floor((home_y + reach - offset) / scale)) + 1)
        if row1 <= row0:
            continue
        measured_x, measured_y = lenses[n, MEASURED_X], lenses[n, MEASURED_Y]
        base_x, base_y = (
            np.floor(measured_x) - border,
            np.floor(measured_y) - border,
        )  # keeps numbers positive
        fx, fy = f32(measured_x - base_x), f32(measured_y - base_y)
        base = size(int(base_y) + border) * width + size(int(base_x) + border)  # modulo 2⁶⁴ where negative
        xx, xy = f32(lenses[n, JACOBIAN_XX]), f32(lenses[n, JACOBIAN_XY])
        yx, yy = f32(lenses[n, JACOBIAN_YX]), f32(lenses[n, JACOBIAN_YY])
        for row in range(row0, row1):
            ry = f32((scale * row + offset - home_y) * slope)
            room = radius * radius - ry * ry
            if room <= 0.0:
                continue
            half = np.sqrt(room) / slope
            col0 = max(0, int(np.ceil((home_x - half - offset) / scale)))
            col1 = min(tf_width, int(np.floor((home_x + half - offset) / scale)) + 1)
            row_x, row_y, row_taper = fx + xy * ry, fy + yy * ry, one - ry * ry * inv_r2
            for left in range(col0, col1, CHUNK):
                count = min(CHUNK, col1 - left)
                rx0 = f32((scale * left + offset - home_x) * slope)
                for t in range((count + REGISTER - 1) // REGISTER * REGISTER):
                    k = size(t)
                    rx = rx0 + step * f32(t)
                    px, py = row_x + xx * rx, row_y + yx * rx
                    x, y = np.int32(px), np.int32(py)
                    work[k + U], work[k + V] = px - f32(x), py - f32(y)
                    pixel[k] = y * width32 + x
                    taper = row_taper - rx * rx * inv_r2
                    work[k + WEIGHT] = taper * taper
                for t in range(count):
                    k = size(t)
                    p = base + size(np.uint32(pixel[k]))
                    u, upper, lower = work[k + U], flat[p], flat[p + width]
                    upper += u * (flat[p + one_on] - upper)
                    lower += u * (flat[p + width + one_on] - lower)
                    work[k + VALUE] = upper + work[k + V] * (lower - upper)
                line = out[row, left : left + count]
                for t in range(count):
                    k = size(t)
                    line[t] += work[k + VALUE] * work[k + WEIGHT]
    for row in range(first, last):
        for col in range(tf_width):
            out[row, col] *= norm[row, col]
