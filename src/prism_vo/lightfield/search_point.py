# SPDX-License-Identifier: Apache-2.0
"""The search about a single point: all rungs of the ladder side by side.

What :func:`~prism_vo.lightfield.search.search` does rung by rung for many nodes, lens by lens for one: the places at
which a lens shows one sample at the different slopes lie close together on a line through its middle. So a sample has a
number for each rung, one after the other, and a lens is looked at once instead of once a rung.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_vo.arrays import Floats, Integers
from prism_vo.bilinear import EIGHT, between_eight
from prism_vo.compiled import njit
from prism_vo.lightfield.geometry import JACOBIAN_XX, JACOBIAN_XY, JACOBIAN_YX, JACOBIAN_YY
from prism_vo.lightfield.ladders import MOST_RUNGS, SearchLadder
from prism_vo.lightfield.nearby import (
    CENTRE_X,
    CENTRE_Y,
    OFFSET_X,
    OFFSET_Y,
    PIXEL_X,
    PIXEL_Y,
    SHIFT_X,
    SHIFT_Y,
)
from prism_vo.lightfield.sample_steps import GREY_OFFSET, ROUNDING_SHARE, STEPS_A_PIXEL, weight_at

SEARCH_WINDOW = 2  # nodes to each side
SEARCH_SIDE = 2 * SEARCH_WINDOW + 1
NOTHING = np.float32(1e30)  # cost where too few lenses overlap
LEAST_REDUNDANCY = 0.35  # mean of (effective lenses − 1) per sample below which nothing is measured
ROW_LENGTH = SEARCH_SIDE**2 * MOST_RUNGS
LEAST_WEIGHT = 1e-6  # divides sums of no weight at all, which are zero


def _row(number: int) -> np.uint64:
    return np.uint64(number * ROW_LENGTH)


ROWS = 14
W, W2, WI, WII = map(_row, range(4))  # sums over lenses
COLUMN, LINE, SLOPE, INV_RADIUS2, RIM = map(_row, range(4, 9))  # of sample and rung, always the same
U, V, WEIGHT, INSIDE, VALUE = map(_row, range(9, 14))
TOTAL, FREE = WEIGHT, INSIDE  # over the window, once all lenses are in


class PointSearch(NamedTuple):
    """What one thread searches in about single points."""

    work: Floats  # (ROWS · ROW_LENGTH,)
    pixel: Integers  # (ROW_LENGTH,): where a sample is read, counted from one near its lens
    rungs: int  # in whole registers


def point_search(ladder: SearchLadder) -> PointSearch:
    """For the rungs of ``ladder``; the last one fills up the register."""
    rungs = -(-len(ladder.slope) // EIGHT) * EIGHT
    work, pixel = np.zeros(ROWS * ROW_LENGTH, np.float32), np.zeros(ROW_LENGTH, np.int32)
    which = np.minimum(np.arange(rungs), len(ladder.slope) - 1)
    line, column, rung = (
        a.ravel() for a in np.meshgrid(range(SEARCH_SIDE), range(SEARCH_SIDE), which, indexing="ij")
    )
    slope, radius = ladder.slope[rung], ladder.radius[rung]
    for row, values in (
        (COLUMN, column),
        (LINE, line),
        (SLOPE, slope),
        (INV_RADIUS2, radius**-2.0),
        (RIM, radius * (1.0 - ROUNDING_SHARE)),
    ):
        work[int(row) : int(row) + len(values)] = values
    return PointSearch(work, pixel, rungs)


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def search_at_point(image, lenses, ladder, node, space, cost, freedom):  # type: ignore[no-untyped-def]
    """Residual variance over the window about ``node`` and its degrees of freedom at each rung → ``cost``, ``freedom``.

    ``node``: :class:`SampleGrid` of one, raw px from the corner of ``lenses``; ``space``: :class:`PointSearch`.
    """
    _sum_lenses(image, lenses, ladder, node, space)
    _over_window(space.work, space.rungs, cost, freedom)


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _sum_lenses(image, lenses, ladder, node, space):  # type: ignore[no-untyped-def]
    """Sums over lenses at every sample of the window and every rung → ``space.work``."""
    f32, size, zero = np.float32, np.uint64, np.float32(0.0)
    work, pixel, rungs = space
    raw, width32, width = image.pixels.ravel(), np.int32(image.pixels.shape[1]), size(image.pixels.shape[1])
    parameters, cells = lenses.parameters, lenses.cells
    last, line = len(ladder.slope) - 1, SEARCH_SIDE * rungs
    step, fall, fine, offset = f32(node.step), f32(image.fall), f32(STEPS_A_PIXEL), f32(GREY_OFFSET)
    inv_step, span = f32(1.0 / node.step), f32((SEARCH_SIDE - 1) * node.step)
    left, top = (
        f32(node.x0 - 0.5 * (SEARCH_SIDE - 1) * node.step),
        f32(node.y0 - 0.5 * (SEARCH_SIDE - 1) * node.step),
    )
    reach = zero
    for rung in range(last + 1):
        reach = max(reach, f32(ladder.radius[rung] / ladder.slope[rung]))
    near, far = f32(1.0 / ladder.slope[0]), f32(1.0 / ladder.slope[last])
    for t in range(SEARCH_SIDE * line):
        k = size(t)
        work[k + W], work[k + W2], work[k + WI], work[k + WII] = zero, zero, zero, zero
    for n in range(lenses.in_use):
        shift_x, shift_y = parameters[n, SHIFT_X], parameters[n, SHIFT_Y]
        x, y = parameters[n, CENTRE_X] - left, parameters[n, CENTRE_Y] - top
        # where the middle of the micro-image lies, at all slopes
        x0, x1 = x + min(shift_x * near, shift_x * far), x + max(shift_x * near, shift_x * far)
        y0, y1 = y + min(shift_y * near, shift_y * far), y + max(shift_y * near, shift_y * far)
        beside_x, beside_y = max(max(x0 - span, -x1), zero), max(max(y0 - span, -y1), zero)
        if beside_x * beside_x + beside_y * beside_y >= reach * reach:
            continue
        row0, row1 = int(np.ceil((y0 - reach) * inv_step)), int(np.floor((y1 + reach) * inv_step))
        col0, col1 = int(np.ceil((x0 - reach) * inv_step)), int(np.floor((x1 + reach) * inv_step))
        row0, row1, col0, col1 = (
            max(row0, 0),
            min(row1, SEARCH_SIDE - 1),
            max(col0, 0),
            min(col1, SEARCH_SIDE - 1),
        )
        base = size(STEPS_A_PIXEL) * (size(cells[n, PIXEL_Y]) * width + size(cells[n, PIXEL_X]))
        fx, fy = fine * parameters[n, OFFSET_X], fine * parameters[n, OFFSET_Y]
        home = np.int32(fy) * width32 + np.int32(fx)
        xx, xy = fine * parameters[n, JACOBIAN_XX], fine * parameters[n, JACOBIAN_XY]
        yx, yy = fine * parameters[n, JACOBIAN_YX], fine * parameters[n, JACOBIAN_YY]
        for t in range(row0 * line, (row1 + 1) * line):
            k = size(t)
            rx = (step * work[k + COLUMN] - x) * work[k + SLOPE] - shift_x
            ry = (step * work[k + LINE] - y) * work[k + SLOPE] - shift_y
            inside = work[k + RIM] - max(abs(rx), abs(ry))
            px, py = fx + xx * rx + xy * ry, fy + yx * rx + yy * ry
            whole_x, whole_y = np.int32(px), np.int32(py)
            work[k + U], work[k + V] = px - f32(whole_x), py - f32(whole_y)
            work[k + WEIGHT] = weight_at((rx * rx + ry * ry) * work[k + INV_RADIUS2], fall)
            work[k + INSIDE] = inside
            pixel[k] = whole_y * width32 + whole_x if inside > zero else home
        for row in range(row0, row1 + 1):
            for t in range(row * line + col0 * rungs, row * line + (col1 + 1) * rungs, EIGHT):
                between_eight(raw, base, width, pixel, work, size(t), U, V, VALUE)
        for t in range(row0 * line, (row1 + 1) * line):
            k = size(t)
            value = work[k + VALUE]
            weight = work[k + WEIGHT] if min(value, work[k + INSIDE]) > zero else zero
            value = value - offset
            weighted = weight * value
            work[k + W] += weight
            work[k + W2] += weight * weight
            work[k + WI] += weighted
            work[k + WII] += weighted * value


@njit(nogil=True, cache=True, error_model="numpy")
def _over_window(work, rungs, cost, freedom):  # type: ignore[no-untyped-def]
    """Sums over lenses → residual variance and degrees of freedom of the window.

    No fast arithmetic: the sums have one order.
    """
    size, one, tiny, samples = np.uint64, np.float32(1.0), np.float32(LEAST_WEIGHT), SEARCH_SIDE**2
    for rung in range(rungs):
        work[size(rung) + TOTAL], work[size(rung) + FREE] = np.float32(0.0), np.float32(0.0)
    for sample in range(samples):
        for rung in range(rungs):
            k, r = size(sample * rungs + rung), size(rung)
            light, per = work[k + WI], one / max(work[k + W], tiny)
            work[r + TOTAL] += work[k + WII] - light * light * per
            work[r + FREE] += work[k + W] - work[k + W2] * per
    for rung in range(len(cost)):
        total, free = work[size(rung) + TOTAL], work[size(rung) + FREE]
        cost[rung] = total / free if free > LEAST_REDUNDANCY * samples else NOTHING
        freedom[rung] = free
