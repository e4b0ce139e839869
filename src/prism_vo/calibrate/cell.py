# SPDX-License-Identifier: Apache-2.0
"""The mean micro-image: a feature map folded into one cell of the grid, with the symmetry of the grid.

The symmetry is what fixes the centre: a cell folded about a wrong centre, made symmetric, fits its own micro-images
better when they are moved to where the true centre is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.calibrate.grid import Grid, Layout
from prism_vo.compiled import njit

FEWEST_BINS, MOST_BINS = 8, 72  # a side of the cell: about one bin a pixel
TABLE_SIZE = 256  # a side of the tables that are looked up: a third of a pixel at the largest pitch


@dataclass(frozen=True)
class MeanCell:
    """Tables over lattice coordinates modulo 1, row: second axis, column: first axis."""

    value: Floats  # (T, T)
    slope_x: Floats  # (T, T): per raw pixel
    slope_y: Floats


def mean_cell(values: Floats, grid: Grid) -> MeanCell:
    """Fold ``values`` (H, W), make them symmetric, and tabulate them with their slopes."""
    bins = cell_bins(grid.pitch)
    return tabulate(symmetric(fold(values, grid, bins), grid.layout), grid.axes)


def cell_bins(pitch: float) -> int:
    """About one bin a pixel."""
    return int(np.clip(round(pitch), FEWEST_BINS, MOST_BINS))


def fold(values: Floats, grid: Grid, bins: int) -> Array:
    """Mean of the values by lattice coordinates modulo 1: (bins, bins)."""
    return fold_parts(values, grid, bins, np.zeros((1, 1), np.uint8))[0]


def fold_parts(values: Floats, grid: Grid, bins: int, part: NDArray[np.uint8]) -> Array:
    """One mean cell for each part of the sensor: (parts, bins, bins).

    ``part`` (R, C) names the part of each of R × C equal zones.
    """
    count = int(part.max()) + 1
    total, weight = _fold(values, np.linalg.inv(grid.axes), grid.origin, bins, part, count)
    empty = weight < 1e-6
    mean: Array = np.where(empty, float(values.mean()), total / np.where(empty, 1.0, weight))
    return mean


@njit(nogil=True, cache=True)
def _fold(values, inverse, origin, bins, part, count):  # type: ignore[no-untyped-def]
    """Each pixel is shared among the four nearest bins."""
    height, width = values.shape
    total = np.zeros((count, bins, bins))
    weight = np.zeros((count, bins, bins))
    for y in range(height):
        for x in range(width):
            p = part[y * part.shape[0] // height, x * part.shape[1] // width]
            dx, dy = x - origin[0], y - origin[1]
            u = (dx * inverse[0, 0] + dy * inverse[1, 0]) * bins
            v = (dx * inverse[0, 1] + dy * inverse[1, 1]) * bins
            fu, fv = np.floor(u), np.floor(v)
            wu, wv = u - fu, v - fv
            i0, j0 = int(fu) % bins, int(fv) % bins
            i1, j1 = (i0 + 1) % bins, (j0 + 1) % bins
            value = values[y, x]
            for j, wj in ((j0, 1.0 - wv), (j1, wv)):
                for i, wi in ((i0, 1.0 - wu), (i1, wu)):
                    total[p, j, i] += wi * wj * value
                    weight[p, j, i] += wi * wj
    return total, weight


def symmetric(cell: Array, layout: Layout) -> Array:
    """Mean over the rotations that map the grid onto itself (six or four)."""
    bins = len(cell)
    jj, ii = np.mgrid[0:bins, 0:bins]
    out, turns = np.zeros_like(cell), 6 if layout == "hexagonal" else 4
    for _ in range(turns):
        out += cell[jj % bins, ii % bins]
        # hexagonal: a1 → a2, a2 → a2 − a1; rectangular: a1 → a2, a2 → −a1
        ii, jj = (-jj, ii + jj) if layout == "hexagonal" else (-jj, ii)
    return out / turns


def tabulate(cell: Array, axes: Array) -> MeanCell:
    """Interpolate a periodic cell (bins, bins) to the tables, with the slopes along x and y."""
    bins = len(cell)
    spectrum = np.fft.fft2(cell)
    frequency = np.fft.fftfreq(bins, 1.0 / bins)
    keep = np.abs(frequency) < bins / 2  # the Nyquist frequency has no slope
    spectrum = spectrum * keep[:, None] * keep[None, :]
    wide = np.zeros((TABLE_SIZE, TABLE_SIZE), np.complex128)
    place = frequency.astype(int) % TABLE_SIZE
    wide[np.ix_(place, place)] = spectrum * (TABLE_SIZE / bins) ** 2
    steps = 2j * np.pi * np.fft.fftfreq(TABLE_SIZE, 1.0 / TABLE_SIZE)
    value = np.fft.ifft2(wide).real
    along_i, along_j = np.fft.ifft2(wide * steps[None, :]).real, np.fft.ifft2(wide * steps[:, None]).real
    inverse = np.linalg.inv(axes)
    return MeanCell(
        np.ascontiguousarray(value, np.float32),
        np.ascontiguousarray(along_i * inverse[0, 0] + along_j * inverse[0, 1], np.float32),
        np.ascontiguousarray(along_i * inverse[1, 0] + along_j * inverse[1, 1], np.float32),
    )
