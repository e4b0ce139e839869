# SPDX-License-Identifier: Apache-2.0
"""Search and refinement at single points, or block by block at every pixel of the TF grid."""

from __future__ import annotations

import numpy as np
from numba import njit

from prism_vo.lightfield.accumulate import STRIDE, WIDEST, new_work
from prism_vo.lightfield.matching import CHANNELS, RESULTS, STEPS_WALKED, refine
from prism_vo.lightfield.nearby import gather_lenses
from prism_vo.lightfield.search import SEARCH_SIDE, SEARCH_WINDOW, search


@njit(nogil=True, cache=True, error_model="numpy")
def _rungs(slopes, ladder, out):  # type: ignore[no-untyped-def]
    """Rung below each slope, one that has a rung above it; −1 for NaN."""
    log_step = np.log(ladder[1] / ladder[0])
    for row in range(slopes.shape[0]):
        for col in range(slopes.shape[1]):
            slope = slopes[row, col]
            rung = np.floor(np.log(slope / ladder[0]) / log_step) if slope > 0.0 else -1.0
            out[row, col] = min(max(int(rung), 0), len(ladder) - 2) if slope > 0.0 else -1


@njit(nogil=True, cache=True, error_model="numpy")
def measure_points(  # type: ignore[no-untyped-def]
    raw, lenses, index, grid, ladder, strides, alike, seek, fall, limit, scale, pitch, seek_pitch, window, points,
    first, last, out,
):  # fmt: skip
    """Rows [first, last) of ``points`` (TF px) → columns of ``out`` (RESULTS, N), see :func:`refine`.

    ``pitch, seek_pitch``: spacing of the nodes of matching and search in raw px.
    """
    work, seek_work = new_work(2 * window + 4), new_work(SEARCH_SIDE)
    start = np.zeros((1, 1), np.int64)
    line, at, cost, freedom, best, table, done, result, near, where = _scratch(
        len(ladder), len(seek), 2, 1, 1, window, index.size
    )
    seek_half, half = seek_pitch * (SEARCH_WINDOW + 1), pitch * (window + 3)
    seek_reach = (seek[:, 1] / seek[:, 0]).max()
    for n in range(first, last):
        cx, cy = scale * (points[n, 0] + 0.5) - 0.5, scale * (points[n, 1] + 0.5) - 0.5
        seek_x, seek_y = np.floor(cx / seek_pitch + 0.5), np.floor(cy / seek_pitch + 0.5)
        x0, y0, x1, y1 = cx - seek_half, cy - seek_half, cx + seek_half, cy + seek_half
        count = gather_lenses(lenses, index, grid, seek[0, 0], seek_reach, x0, y0, x1, y1, near, where)
        search(
            raw, near, where, count, seek, fall, limit, seek_x * seek_pitch - x0, seek_y * seek_pitch - y0,
            seek_pitch, 1, 1, line, at, seek_work, cost, freedom, best,
        )  # fmt: skip
        _rungs(best, ladder, start)
        out[:, n] = np.nan
        if start[0, 0] < 0:
            continue
        least = ladder[max(start[0, 0] - STEPS_WALKED, 0)]
        x0, y0, x1, y1 = cx - half, cy - half, cx + half, cy + half
        count = gather_lenses(lenses, index, grid, least, grid[4] / least, x0, y0, x1, y1, near, where)
        node_x, node_y = np.floor(cx / pitch), np.floor(cy / pitch)
        refine(
            raw, near, where, count, grid[4], ladder, strides, alike, fall, node_x * pitch - x0, node_y * pitch - y0,
            pitch, 2, 2, window, cx / pitch - node_x, cy / pitch - node_y, 1.0, 1, 1,
            start, at, work, table, done, result,
        )  # fmt: skip
        out[:, n] = result[:, 0, 0]


@njit(nogil=True, cache=True, error_model="numpy")
def measure_blocks(  # type: ignore[no-untyped-def]
    raw, lenses, index, grid, ladder, strides, alike, seek, fall, limit, scale, pitch, seek_pitch, window, block, first,
    last, out,
):  # fmt: skip
    """Block rows [first, last) of the TF grid → ``out`` (RESULTS, h, w), what :func:`measure_points` gives there."""
    height, width = out.shape[1], out.shape[2]
    nodes, seekers = int(scale * (block - 1) / pitch) + 3, int(scale * (block - 1) / seek_pitch) + 3
    line, at, cost, freedom, best, table, done, result, near, where = _scratch(
        len(ladder), len(seek), nodes, seekers, block, window, index.size
    )
    work = new_work(0)
    start, rungs = np.zeros((block, block), np.int64), np.zeros((seekers, seekers), np.int64)
    seek_cols = np.zeros(block, np.int64)
    half = max(seek_pitch * (SEARCH_WINDOW + 1), pitch * (window + 3))
    for by in range(first, last):
        for bx in range((width + block - 1) // block):
            x0, y0 = bx * block, by * block
            nx, ny = min(block, width - x0), min(block, height - y0)
            cx, cy = scale * (x0 + 0.5) - 0.5, scale * (y0 + 0.5) - 0.5
            left, top, span = cx - half, cy - half, scale * block + 2 * half
            node_x, node_y = np.floor(cx / pitch), np.floor(cy / pitch)
            seek_x, seek_y = np.floor(cx / seek_pitch + 0.5), np.floor(cy / seek_pitch + 0.5)
            mx = int((cx + scale * (nx - 1)) / pitch - node_x) + 2
            my = int((cy + scale * (ny - 1)) / pitch - node_y) + 2
            sx = int(np.floor((cx + scale * (nx - 1)) / seek_pitch + 0.5) - seek_x) + 1
            sy = int(np.floor((cy + scale * (ny - 1)) / seek_pitch + 0.5) - seek_y) + 1
            count = gather_lenses(
                lenses,
                index,
                grid,
                seek[0, 0],
                grid[4] / ladder[0],
                left,
                top,
                left + span,
                top + span,
                near,
                where,
            )
            search(
                raw, near, where, count, seek, fall, limit, seek_x * seek_pitch - left, seek_y * seek_pitch - top,
                seek_pitch, sx, sy, line, at, work, cost, freedom, best,
            )  # fmt: skip
            _rungs(best, ladder, rungs)
            for col in range(nx):
                seek_cols[col] = int(np.floor((cx + scale * col) / seek_pitch + 0.5) - seek_x)
            for row in range(ny):
                seek_row = int(np.floor((cy + scale * row) / seek_pitch + 0.5) - seek_y)
                for col in range(nx):
                    start[row, col] = rungs[seek_row, seek_cols[col]]
            refine(
                raw, near, where, count, grid[4], ladder, strides, alike, fall, node_x * pitch - left,
                node_y * pitch - top, pitch, mx, my, window, cx / pitch - node_x, cy / pitch - node_y,
                scale / pitch, nx, ny, start, at, work, table, done, result,
            )  # fmt: skip
            out[:, y0 : y0 + ny, x0 : x0 + nx] = result[:, :ny, :nx]


@njit(nogil=True, cache=True)
def _scratch(rungs, seek_rungs, nodes, seekers, block, window, lenses):  # type: ignore[no-untyped-def]
    """Working arrays for nodes² matching nodes, seekers² search nodes and block² samples."""
    return (
        np.zeros((2, WIDEST), np.float32),
        np.zeros(STRIDE, np.int32),
        np.zeros((seek_rungs, seekers, seekers), np.float32),
        np.zeros((seek_rungs, seekers, seekers), np.float32),
        np.zeros((seekers, seekers)),
        np.zeros((rungs, nodes, nodes, CHANNELS), np.float32),
        np.zeros(rungs, np.bool_),
        np.zeros((RESULTS, block, block), np.float32),
        np.empty((lenses, 10), np.float32),  # room for all of them; what is not used is never touched
        np.empty((lenses, 4), np.int64),
    )
