# SPDX-License-Identifier: Apache-2.0
"""The totally focused image: every micro-image laid over the TF grid at one slope, weighted mean of all.

Weights fall smoothly to zero at the border of a micro-image, so no seam moves with the array. They depend on the
camera and the slope alone: their sum is computed once, a frame costs one pass over the lenses.
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.bilinear import EIGHT, add_eight
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

REGISTER = 16  # floats
LEAST_WEIGHT = 1e-6  # of all lenses together; a pixel with less is not covered
LEAST_LIT = 0.05  # share of a pixel's weight that must be lit for the others to be left out
NEAREST = 0.5  # px at the most between the middle of a micro-image and the TF pixel nearest to it
DISTANCE_MASK = 5  # px a side of the mask that finds the nearest covered pixel


class Layout(NamedTuple):
    """How micro-images are laid over the TF grid."""

    lenses: Array  # (N, LENS_COLUMNS), see :class:`StereoGeometry`
    radius: float  # usable radius of a micro-image, raw px
    border: int  # px of padding round the raw image
    scale: float  # raw px between TF pixels
    slope: float  # the stereo slope


class Disc(NamedTuple):
    """The TF pixels that a micro-image may lie over, counted from the one nearest to its middle, row by row.

    Each row has a multiple of EIGHT: those that are too many are so far away that they count nothing.
    """

    column: Floats  # (N,)
    row: Floats  # (N,)
    row_start: NDArray[np.int64]  # (2 reach + 2,): where a row begins, and the end
    place: NDArray[np.int64]  # (N / EIGHT,): of the first of eight, from the pixel in the middle, in memory
    reach: int  # rows and columns to each side
    beside: int  # columns of spare room that the image needs to each side

    @classmethod
    def of(cls, radius: float, width: int) -> Disc:
        """For a radius in TF pixels, on an image that is ``width`` wide and has room for lenses beside it."""
        reach = int(np.ceil(radius + NEAREST))
        rows, columns = [], []
        for y in range(-reach, reach + 1):
            across = np.sqrt(max(radius**2 - max(abs(y) - NEAREST, 0.0) ** 2, 0.0)) + NEAREST
            first = int(np.ceil(-across))
            number = -(-(2 * -first + 1) // EIGHT) * EIGHT
            columns.append(np.arange(first, first + number))
            rows.append(np.full(number, y))
        row, column = np.concatenate(rows), np.concatenate(columns)
        beside = 2 * reach + EIGHT
        place = (row * (width + 2 * beside) + column)[::EIGHT]
        row_start = np.searchsorted(row, np.arange(-reach, reach + 2))
        return cls(column.astype(np.float32), row.astype(np.float32), row_start, place.copy(), reach, beside)


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
        self._disc = Disc.of(geometry.radius / slope / scale, self._norm.shape[1])
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
        beside = self._disc.beside
        sums = np.zeros((len(norm), norm.shape[1] + 2 * beside), np.float32)
        out = np.empty_like(norm)

        def band(first: int, last: int) -> None:
            _splat_rows(self._layout, self._disc, raw, first, last, sums)
            np.multiply(sums[first:last, beside:-beside], norm[first:last], out=out[first:last])

        self._bands.run(len(out), band)
        return out


@njit(nogil=True, cache=True, fastmath=True)
def _splat_rows(layout, disc, raw, first, last, out):  # type: ignore[no-untyped-def]
    """Add every lens's share to TF rows [first, last); lenses in fixed order, so bands do not change a bit.

    ``out``: ``disc.beside`` columns wider to each side. A lens goes through two loops over the pixels of the disc
    (positions and weights, then memory): the first vectorises, which it would not row by row.
    """
    f32, size, zero, one = np.float32, np.uint64, np.float32(0.0), np.float32(1.0)
    lenses, radius, border, scale, slope = layout
    column, line, row_start, place, n, beside = disc
    width32, width = np.int32(raw.shape[1]), size(raw.shape[1])
    flat, sums = raw.ravel(), out.ravel()
    step, inv_r2 = f32(scale * slope), f32(1.0 / (radius * radius))
    offset = 0.5 * scale - 0.5  # raw coordinate of TF pixel 0
    room = len(column) + REGISTER
    u, v, weight = size(0), size(room), size(2 * room)  # where they begin in the working array
    work, pixel = np.empty(3 * room, np.float32), np.empty(room, np.int32)
    for m in range(lenses.shape[0]):
        cx, cy = lenses[m, STEREO_X], lenses[m, STEREO_Y]
        ix, iy = lenses[m, IMAGE_X], lenses[m, IMAGE_Y]
        home_x = (cx + (ix - cx) / slope - offset) / scale
        home_y = (cy + (iy - cy) / slope - offset) / scale
        home_column, home_row = int(np.rint(home_x)), int(np.rint(home_y))
        above, below = max(first - home_row, -n), min(last - 1 - home_row, n)
        if above > below or home_column < -n or home_column > out.shape[1] - 2 * beside + n - 1:
            continue
        begin, end = row_start[above + n], row_start[below + n + 1]
        measured_x, measured_y = lenses[m, MEASURED_X], lenses[m, MEASURED_Y]
        base_x, base_y = np.floor(measured_x) - border, np.floor(measured_y) - border
        fx, fy = f32(measured_x - base_x), f32(measured_y - base_y)  # with the border, nothing is negative
        base = size(int(base_y) + border) * width + size(int(base_x) + border)  # modulo 2⁶⁴ where negative
        home = np.int32(fy) * width32 + np.int32(fx)
        xx, xy = f32(lenses[m, JACOBIAN_XX]), f32(lenses[m, JACOBIAN_XY])
        yx, yy = f32(lenses[m, JACOBIAN_YX]), f32(lenses[m, JACOBIAN_YY])
        rx0, ry0 = f32((home_column - home_x) * scale * slope), f32((home_row - home_y) * scale * slope)
        for t in range(begin, end):
            k = size(t)
            rx, ry = rx0 + step * column[k], ry0 + step * line[k]
            px, py = fx + xx * rx + xy * ry, fy + yx * rx + yy * ry
            x, y = np.int32(px), np.int32(py)
            work[k], work[k + v] = px - f32(x), py - f32(y)
            taper = max(one - (rx * rx + ry * ry) * inv_r2, zero)
            pixel[k] = y * width32 + x if taper > zero else home
            work[k + weight] = taper * taper
        target = size(home_row * out.shape[1] + home_column + beside)  # modulo 2⁶⁴ where negative
        for t in range(begin, end, EIGHT):
            to = target + size(place[size(t // EIGHT)])
            add_eight(sums, to, flat, base, width, pixel, work, size(t), u, v, weight)
