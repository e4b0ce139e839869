# SPDX-License-Identifier: Apache-2.0
"""Pixels near each other: a thousand of them, found by the cells of a grid that they lie in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Integers
from prism_vo.compiled import njit

IN_A_CELL = 4.0  # pixels, in the mean
DENSITY_REACH = 40  # px: how dense pixels are about a place
MOST_TIMES = 2.0  # as many as wanted, where they are denser


class Cells(NamedTuple):
    """Which pixels lie in which cell."""

    side: int  # px
    columns: int
    rows: int
    begin: NDArray[np.int64]  # (rows · columns + 1,): of each cell in the order of pixels
    order: NDArray[np.int64]  # (N,)


def cells_of(pixels: Integers) -> Cells:
    """Of pixels (N, 2), none of which is negative; at least one."""
    width, height = (int(side) + 1 for side in pixels.max(0))
    side = max(int(np.sqrt(width * height * IN_A_CELL / len(pixels))), 1)
    columns, rows = width // side + 1, height // side + 1
    cell = (pixels[:, 1] // side).astype(np.int64) * columns + pixels[:, 0] // side
    begin = np.searchsorted(np.sort(cell), np.arange(rows * columns + 1))
    return Cells(side, columns, rows, begin, np.argsort(cell, kind="stable"))


def count_near(pixels: Integers, reach: int) -> Array:
    """How many of the pixels (N, 2) lie in the square of ``reach`` about each one."""
    counts = np.zeros(len(pixels))
    _count(cells_of(pixels), pixels, pixels, reach, counts)
    return counts


def nearest(pixels: Integers, places: Integers, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """The ``wanted`` (M,) pixels nearest to places (M, 2): (M, most), −1 beyond as many as wanted.

    Of those equally far away, the first ones.
    """
    found = np.full((len(places), int(wanted.max(initial=0))), -1, np.int64)
    _nearest(cells_of(pixels), pixels, places, wanted, np.empty(found.shape[1], np.int64), found)
    return found


def about_as_many(pixels: Integers, places: Integers, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """About the ``wanted`` (M,) pixels nearest to places (M, 2), in no order: those in a circle in which so many lie if
    they are as dense as about it. Of hundreds that is found much faster than their order; where far more lie in it, the
    first ones would be those of its upper rows, and they are put in order after all."""
    cells = cells_of(pixels)
    counts = np.zeros(len(places))
    _count(cells, pixels, places, DENSITY_REACH, counts)
    density = np.maximum(counts, 1.0) / (2 * DENSITY_REACH + 1) ** 2
    found = np.full((len(places), int(MOST_TIMES * wanted.max(initial=1))), -1, np.int64)
    crowded = _within(cells, pixels, places, np.sqrt(wanted / (np.pi * density)), found) > found.shape[1]
    if crowded.any():
        found[crowded] = -1
        ordered = nearest(pixels, places[crowded], wanted[crowded])
        found[crowded, : ordered.shape[1]] = ordered
    return found


@njit(nogil=True, cache=True)
def _within(cells, pixels, places, radius, found):  # type: ignore[no-untyped-def]
    """As many as there is room for; returns how many there are."""
    counts = np.zeros(len(places), np.int64)
    for m in range(len(places)):
        x, y, known = places[m, 0], places[m, 1], 0
        reach = int(radius[m])
        first_row, last_row = max(y - reach, 0) // cells.side, min((y + reach) // cells.side, cells.rows - 1)
        first, last = max(x - reach, 0) // cells.side, min((x + reach) // cells.side, cells.columns - 1)
        for row in range(first_row, last_row + 1):
            for column in range(first, last + 1):
                cell = row * cells.columns + column
                for place in range(cells.begin[cell], cells.begin[cell + 1]):
                    other = cells.order[place]
                    dx, dy = float(pixels[other, 0] - x), float(pixels[other, 1] - y)
                    if dx * dx + dy * dy <= radius[m] ** 2:
                        if known < found.shape[1]:
                            found[m, known] = other
                        known += 1
        counts[m] = known
    return counts


@njit(nogil=True, cache=True)
def _count(cells, pixels, places, reach, counts):  # type: ignore[no-untyped-def]
    for n in range(len(places)):
        x, y = places[n, 0], places[n, 1]
        last_row, last_column = min((y + reach) // cells.side, cells.rows - 1), (x + reach) // cells.side
        for row in range(max(y - reach, 0) // cells.side, last_row + 1):
            for column in range(max(x - reach, 0) // cells.side, min(last_column, cells.columns - 1) + 1):
                cell = row * cells.columns + column
                for place in range(cells.begin[cell], cells.begin[cell + 1]):
                    other = cells.order[place]
                    if abs(pixels[other, 0] - x) <= reach and abs(pixels[other, 1] - y) <= reach:
                        counts[n] += 1.0


@njit(nogil=True, cache=True)
def _nearest(cells, pixels, places, wanted, distance, found):  # type: ignore[no-untyped-def]
    """Ring after ring of cells about each pixel, until nothing nearer can come."""
    for m in range(len(places)):
        x, y, most, known = places[m, 0], places[m, 1], wanted[m], 0
        home_row, home_column = y // cells.side, x // cells.side
        for ring in range(max(cells.rows, cells.columns)):
            for row in range(max(home_row - ring, 0), min(home_row + ring, cells.rows - 1) + 1):
                whole = abs(row - home_row) == ring
                for column in range(
                    home_column - ring, home_column + ring + 1, 1 if whole else max(2 * ring, 1)
                ):
                    if column < 0 or column >= cells.columns:
                        continue
                    cell = row * cells.columns + column
                    for place in range(cells.begin[cell], cells.begin[cell + 1]):
                        known = _take(cells.order[place], x, y, pixels, most, known, distance, found[m])
            if known == most and distance[most - 1] <= (ring * cells.side) ** 2:
                break


@njit(nogil=True, cache=True)
def _take(n, x, y, pixels, most, known, distance, found):  # type: ignore[no-untyped-def]
    """Put a pixel where it belongs among the nearest so far; returns how many there are."""
    dx, dy = np.int64(pixels[n, 0] - x), np.int64(pixels[n, 1] - y)
    away, at = dx * dx + dy * dy, known
    while at > 0 and (away < distance[at - 1] or (away == distance[at - 1] and n < found[at - 1])):
        at -= 1
    if at == most:
        return known
    for k in range(min(known, most - 1), at, -1):
        distance[k], found[k] = distance[k - 1], found[k - 1]
    distance[at], found[at] = away, n
    return min(known + 1, most)
