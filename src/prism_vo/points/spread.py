# SPDX-License-Identifier: Apache-2.0
"""Pixels with large gradients, spread over the image: thresholds by block, one pixel a cell (docs/method.md, 3).

The image is looked at once, to say which of the thresholds every pixel passes; cells of any size then look at that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Floats, Integers, Mask
from prism_vo.compiled import njit

Bytes = NDArray[np.uint8]

BLOCK = 32  # px, side of the blocks whose median gradient sets the threshold
LEAST_CONTRAST = 7.0  # grey/px above the median
MARGIN = 4  # px at the border: the pattern and its interpolation must fit
PASSES = 3  # with cells twice as large and lower thresholds each
LOWER = np.float32(0.75)  # threshold from pass to pass
SLOPES = 4096  # directions that cells prefer, one after the other
ROUNDS = 4  # at most, to find the size of cells


def spread_pixels(image: Floats, wanted: int, rng: np.random.Generator) -> Integers:
    """About ``wanted`` high-gradient pixels (x, y) of the (h, w) image: cells adapted to the count, three passes
    with cells twice as large and thresholds ×0.75 so that weakly textured regions are covered too."""
    gradients, squares = np.empty((2, *image.shape), np.float32), np.empty(image.shape, np.float32)
    _differentiate(image, gradients, squares)
    passed = _passes(squares, _thresholds(squares))
    angle = rng.uniform(0.0, 2.0 * np.pi, SLOPES)
    direction = np.ascontiguousarray(np.stack([np.cos(angle), np.sin(angle)], -1), dtype=np.float32)
    cell = max(int(np.sqrt(image.shape[0] * image.shape[1] / wanted)), 2)
    cells = _cells_to_pick(passed, cell)
    for _ in range(ROUNDS):
        ratio = sum(int(c.sum()) for c in cells) / wanted
        better = max(round(cell * float(np.sqrt(max(ratio, 0.05)))), 2)
        if better == cell or 0.85 < ratio < 1.2:
            break
        cell = better
        cells = _cells_to_pick(passed, cell)
    picked = _picked(gradients, passed, cell, cells, direction)
    if len(picked) > 1.2 * wanted:  # thin out evenly at random
        picked = picked[np.sort(rng.permutation(len(picked))[:wanted])]
    return picked


def _thresholds(squares: Floats) -> Floats:
    """Median gradient magnitude of about 32×32 blocks plus 7, smoothed 3×3: (h//32, w//32), squared."""
    rows, cols = max(squares.shape[0] // BLOCK, 1), max(squares.shape[1] // BLOCK, 1)
    middle = np.empty((2, rows, cols), np.int32)
    _middles(squares.view(np.int32), squares.shape[0] // rows, squares.shape[1] // cols, middle)
    below, above = np.sqrt(middle.view(np.float32))  # squares have the same order
    padded = np.pad(0.5 * (below + above) + LEAST_CONTRAST, 1, mode="edge")
    smooth = sum(padded[dy : dy + rows, dx : dx + cols] for dy in range(3) for dx in range(3)) / 9.0
    return np.ascontiguousarray(smooth**2, dtype=np.float32)


def _passes(squares: Floats, thresholds: Floats) -> Bytes:
    """In how many of the passes each pixel may be picked: in the last so many of them."""
    rows, cols = thresholds.shape
    height, width = squares.shape
    of_row = np.minimum(np.arange(height) * rows // height, rows - 1)
    of_column = np.minimum(np.arange(width) * cols // width, cols - 1)
    factors = np.array([np.float32(float(LOWER) ** (2 * turn)) for turn in range(PASSES)])
    limits = np.ascontiguousarray(thresholds[None, :, of_column] * factors[:, None, None])
    passed = np.empty(squares.shape, np.uint8)
    _compare(squares, limits, of_row, passed)
    return passed


def _cells_to_pick(passed: Bytes, cell: int) -> list[Mask]:
    """For each pass, in which of its cells a pixel is picked: those that have one and none from the passes before."""
    rows, cols = (max(-(-(side - 2 * MARGIN) // cell), 0) for side in passed.shape)
    most = np.zeros((rows, cols), np.uint8)
    _most_passed(passed, cell, most)
    taken = np.zeros_like(most)
    cells = []
    for turn in range(PASSES):
        if turn:
            most, taken = _two_by_two(most), _two_by_two(taken)
        chosen = (most >= PASSES - turn) & (taken == 0)
        cells.append(chosen)
        taken = taken | chosen
    return cells


def _two_by_two(cells: Bytes) -> Bytes:
    """The largest of each 2 × 2; the last row and column may be alone."""
    even = np.pad(cells, [(0, side % 2) for side in cells.shape])
    return np.maximum.reduce([even[y::2, x::2] for y in range(2) for x in range(2)])


def _picked(gradients: Floats, passed: Bytes, cell: int, cells: list[Mask], direction: Floats) -> Integers:
    parts = []
    for turn, chosen in enumerate(cells):
        out = np.empty((int(chosen.sum()), 2), np.int32)
        count = _pick(gradients, passed, PASSES - turn, cell << turn, chosen, direction, out)
        parts.append(out[:count])
    return np.concatenate(parts)


@njit(nogil=True, cache=True)
def _differentiate(image, gradients, squares):  # type: ignore[no-untyped-def]
    """∇I (2, h, w), by central differences, and |∇I|² (h, w)."""
    height, width, half = image.shape[0], image.shape[1], np.float32(0.5)
    for y in range(height):
        line, above, below = image[y], image[max(y - 1, 0)], image[min(y + 1, height - 1)]
        along, down, square = gradients[0, y], gradients[1, y], squares[y]
        for x in range(width):
            down[x] = (below[x] - above[x]) * half
        for x in range(1, width - 1):
            along[x] = (line[x + 1] - line[x - 1]) * half
        along[0], along[width - 1] = (line[1] - line[0]) * half, (line[width - 1] - line[width - 2]) * half
        for x in range(width):
            square[x] = along[x] * along[x] + down[x] * down[x]


@njit(nogil=True, cache=True)
def _middles(bits, height, width, out):  # type: ignore[no-untyped-def]
    """The two middle values (twice the same if their number is odd) of blocks of ``height`` × ``width`` pixels.

    ``bits``: of numbers that are not negative, which have the order of the numbers. Halving an interval of them until
    one is left takes at most 31 counts, each a loop that vectorises.
    """
    number = height * width
    tile = np.empty(number, np.int32)
    wanted = (number + 1) // 2  # so many are not larger than the lower of the two
    for row in range(out.shape[1]):
        for column in range(out.shape[2]):
            for y in range(height):
                for x in range(
                    width
                ):  # Numba compiles for seconds what it would say about shapes that do not fit
                    tile[y * width + x] = bits[row * height + y, column * width + x]
            low, high = tile[0], tile[0]
            for k in range(number):
                low, high = min(low, tile[k]), max(high, tile[k])
            while low < high:
                half = low + (high - low) // np.int32(2)
                if _not_above(tile, half) >= wanted:
                    high = half
                else:
                    low = np.int32(half + np.int32(1))
            out[0, row, column], out[1, row, column] = low, low
            if number % 2 == 0 and _not_above(tile, low) == wanted:
                out[1, row, column] = _next_above(tile, low)


@njit(nogil=True, cache=True)
def _not_above(values, limit):  # type: ignore[no-untyped-def]
    count = np.int32(0)
    for k in range(len(values)):
        count += np.int32(values[k] <= limit)
    return count


@njit(nogil=True, cache=True)
def _next_above(values, limit):  # type: ignore[no-untyped-def]
    least = np.int32(0x7FFFFFFF)
    for k in range(len(values)):
        value = values[k]
        least = min(least, value if value > limit else least)
    return least


@njit(nogil=True, cache=True)
def _compare(squares, limits, of_row, out):  # type: ignore[no-untyped-def]
    """How many of the limits (passes, rows, w) of its row each pixel reaches."""
    for y in range(squares.shape[0]):
        first, second, third = limits[0, of_row[y]], limits[1, of_row[y]], limits[2, of_row[y]]
        line, into = squares[y], out[y]
        for x in range(squares.shape[1]):
            value = line[x]
            into[x] = np.uint8(value >= first[x]) + np.uint8(value >= second[x]) + np.uint8(value >= third[x])


@njit(nogil=True, cache=True)
def _most_passed(passed, cell, out):  # type: ignore[no-untyped-def]
    """The largest value of each cell: down its rows, where all cells of a row are one loop, then along them."""
    height, width = passed.shape
    line = np.empty(width, np.uint8)
    for row in range(out.shape[0]):
        y0 = MARGIN + row * cell
        for x in range(width):
            line[x] = np.uint8(0)
        for y in range(y0, min(y0 + cell, height - MARGIN)):
            marks = passed[y]
            for x in range(width):
                line[x] = max(line[x], marks[x])
        for x in range(MARGIN, width - MARGIN):
            column = (x - MARGIN) // cell
            out[row, column] = max(out[row, column], line[x])


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz"})
def _pick(gradients, passed, least, cell, chosen, direction, out):  # type: ignore[no-untyped-def]
    """Best |∇Iᵀd| of pixels that pass ``least`` times in each chosen cell; how many were written to ``out``.

    The best of a row is looked for without branches, its place only in the row that has the best of the cell.
    """
    height, width = passed.shape
    zero = np.float32(0.0)
    count = number = 0
    for y0 in range(MARGIN, height - MARGIN, cell):
        for x0 in range(MARGIN, width - MARGIN, cell):
            d = direction[number % direction.shape[0]]
            number += 1
            if not chosen[(y0 - MARGIN) // cell, (x0 - MARGIN) // cell]:
                continue
            dx, dy, x1 = d[0], d[1], min(x0 + cell, width - MARGIN)
            best, by = zero, -1
            for y in range(y0, min(y0 + cell, height - MARGIN)):
                marks, along, down = passed[y, x0:x1], gradients[0, y, x0:x1], gradients[1, y, x0:x1]
                largest = zero
                for k in range(x1 - x0):
                    score = abs(along[k] * dx + down[k] * dy)
                    largest = max(largest, score if marks[k] >= least else zero)
                if largest > best:
                    best, by = largest, y
            if by < 0:
                continue
            x = x0
            while passed[by, x] < least or abs(gradients[0, by, x] * dx + gradients[1, by, x] * dy) < best:
                x += 1
            out[count, 0], out[count, 1] = x, by
            count += 1
    return count
