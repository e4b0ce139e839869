# SPDX-License-Identifier: Apache-2.0
"""The lenses near an area of the TF grid, copied close together: kernels then loop over few, not over all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Integers
from prism_vo.compiled import njit
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
from prism_vo.optics.distortion import distort

# columns of ``NearbyLenses.parameters``: stereo centre from the corner of the area; the way from there to the centre of
# the micro-image; measured centre of the micro-image from the raw pixel of the cell; Jacobian as in ``geometry``
CENTRE_X, CENTRE_Y, SHIFT_X, SHIFT_Y, OFFSET_X, OFFSET_Y = range(6)
PARAMETERS = 10
# columns of ``NearbyLenses.cells``: a raw pixel of the micro-image (its centre less the border) and the lens indices
PIXEL_X, PIXEL_Y, LENS_I, LENS_J = range(4)
CELLS = 4
ROUNDING_MARGIN = 1.0  # px, beyond the largest distortion
FAR_AWAY = 1e9  # lens indices beyond those of any array


class LensGrid(NamedTuple):
    """The array of micro-lenses: its lenses, and how to find those that see a position."""

    lenses: Array  # (N, LENS_COLUMNS), see :class:`StereoGeometry`
    row_at: Integers  # [j − j_min, i − i_min] → row of ``lenses``, or −1
    i_min: int
    j_min: int
    radius: float  # usable radius of a micro-image, raw px
    border: int  # px of padding round the raw image
    lens_pull: float  # λ of the stereo centres: 1 for micro-images, less for lenses
    centre_x: float  # principal point, raw px
    centre_y: float
    margin: float  # px a micro-image may lie beside the undistorted grid
    origin_x: float  # of the lens (0, 0), raw px
    origin_y: float
    i_per_x: float  # lens indices per raw px
    i_per_y: float
    j_per_x: float
    j_per_y: float


class Area(NamedTuple):
    """A rectangle of the TF grid, raw px."""

    x0: float
    y0: float
    x1: float
    y1: float


class LensRoom(NamedTuple):
    """Room for the lenses near an area."""

    parameters: Floats  # (M, PARAMETERS)
    cells: NDArray[np.int64]  # (M, CELLS)


class NearbyLenses(NamedTuple):
    """The lenses near an area, relative to its corner (x0, y0)."""

    parameters: Floats  # (M, PARAMETERS)
    cells: NDArray[np.int64]  # (M, CELLS)
    in_use: int  # rows that hold a lens
    x0: float
    y0: float


def lens_grid(geometry: StereoGeometry) -> LensGrid:
    """What the kernels need to know about the array of ``geometry``."""
    camera, array = geometry.camera, geometry.array
    centre = camera.principal_point
    true = geometry.lenses[:, [IMAGE_X, IMAGE_Y]]
    margin = float(np.abs(distort(camera.calibration, true) - true).max()) + ROUNDING_MARGIN
    (i_per_x, j_per_x), (i_per_y, j_per_y) = np.linalg.inv(array.axes).tolist()
    return LensGrid(
        lenses=geometry.lenses,
        row_at=array.index,
        i_min=array.i_min,
        j_min=array.j_min,
        radius=float(geometry.radius),
        border=raw_border(geometry),
        lens_pull=1.0 if geometry.view.name == "central" else float(camera.lam),
        centre_x=float(centre[0]),
        centre_y=float(centre[1]),
        margin=margin,
        origin_x=float(array.origin[0]),
        origin_y=float(array.origin[1]),
        i_per_x=i_per_x,
        i_per_y=i_per_y,
        j_per_x=j_per_x,
        j_per_y=j_per_y,
    )


def lens_room(grid: LensGrid) -> LensRoom:
    """Room for all lenses of ``grid``; what is not used is never touched."""
    count = grid.row_at.size
    return LensRoom(np.empty((count, PARAMETERS), np.float32), np.empty((count, CELLS), np.int64))


@njit(nogil=True, cache=True, fastmath=True, inline="always")
def _lens_range(grid, slope, reach, area):  # type: ignore[no-untyped-def]
    """First and last i, first and last j of the lenses that may see the area."""
    cx, cy = grid.centre_x, grid.centre_y
    home = slope / (
        1.0 - grid.lens_pull * (1.0 - slope)
    )  # TF position → micro-image that shows it at its centre
    reach = reach * home + grid.margin
    i_lo, i_hi, j_lo, j_hi = FAR_AWAY, -FAR_AWAY, FAR_AWAY, -FAR_AWAY
    for corner in range(4):
        x = (area.x1 - cx) * home + cx + reach if corner & 1 else (area.x0 - cx) * home + cx - reach
        y = (area.y1 - cy) * home + cy + reach if corner & 2 else (area.y0 - cy) * home + cy - reach
        i = grid.i_per_x * (x - grid.origin_x) + grid.i_per_y * (y - grid.origin_y)
        j = grid.j_per_x * (x - grid.origin_x) + grid.j_per_y * (y - grid.origin_y)
        i_lo, i_hi, j_lo, j_hi = min(i_lo, i), max(i_hi, i), min(j_lo, j), max(j_hi, j)
    return int(np.floor(i_lo)), int(np.ceil(i_hi)), int(np.floor(j_lo)), int(np.ceil(j_hi))


@njit(nogil=True, cache=True, fastmath=True)
def gather_lenses(grid, slope, reach, area, room):  # type: ignore[no-untyped-def]
    """The lenses within ``reach`` of the area at ``slope`` or more, copied into ``room`` → :class:`NearbyLenses`."""
    lenses, row_at, i_min, j_min = grid.lenses, grid.row_at, grid.i_min, grid.j_min
    x0, y0, x1, y1 = area
    i_lo, i_hi, j_lo, j_hi = _lens_range(grid, slope, reach, area)
    i_lo, i_hi = max(i_lo, i_min), min(i_hi, i_min + row_at.shape[1] - 1)
    j_lo, j_hi = max(j_lo, j_min), min(j_hi, j_min + row_at.shape[0] - 1)
    count = 0
    for j in range(j_lo, j_hi + 1):
        for i in range(i_lo, i_hi + 1):
            n = row_at[j - j_min, i - i_min]
            if n < 0 or count == len(room.cells):
                continue
            cx, cy = lenses[n, STEREO_X], lenses[n, STEREO_Y]
            shift_x, shift_y = lenses[n, IMAGE_X] - cx, lenses[n, IMAGE_Y] - cy
            home_x, home_y = cx + shift_x / slope, cy + shift_y / slope
            loose = reach + abs(home_x - cx) + abs(home_y - cy)  # a focal view's home moves with the slope
            if home_x + loose < x0 or home_x - loose > x1 or home_y + loose < y0 or home_y - loose > y1:
                continue
            _copy_lens(lenses[n], grid.border, x0, y0, room.parameters[count], room.cells[count])
            room.cells[count, LENS_I], room.cells[count, LENS_J] = i, j
            count += 1
    return NearbyLenses(room.parameters, room.cells, count, x0, y0)


@njit(nogil=True, cache=True, fastmath=True, inline="always")
def _copy_lens(lens, border, x0, y0, parameters, cell):  # type: ignore[no-untyped-def]
    """One row of ``lenses`` → one row of the parameters, and the raw pixel of the cell."""
    base_x, base_y = np.floor(lens[MEASURED_X]), np.floor(lens[MEASURED_Y])
    parameters[CENTRE_X], parameters[CENTRE_Y] = lens[STEREO_X] - x0, lens[STEREO_Y] - y0
    parameters[SHIFT_X] = lens[IMAGE_X] - lens[STEREO_X]
    parameters[SHIFT_Y] = lens[IMAGE_Y] - lens[STEREO_Y]
    parameters[OFFSET_X] = lens[MEASURED_X] - base_x + border  # with the border, nothing read is negative
    parameters[OFFSET_Y] = lens[MEASURED_Y] - base_y + border
    parameters[JACOBIAN_XX], parameters[JACOBIAN_XY] = lens[JACOBIAN_XX], lens[JACOBIAN_XY]
    parameters[JACOBIAN_YX], parameters[JACOBIAN_YY] = lens[JACOBIAN_YX], lens[JACOBIAN_YY]
    cell[PIXEL_X], cell[PIXEL_Y] = int(base_x), int(base_y)
