# SPDX-License-Identifier: Apache-2.0
"""Finds the stereo slope at which the micro-images agree: search over a fixed ladder, then the root of its slope.

Let Ī be the weighted mean over lenses of one TF sample. The cost ``C = Σ_p Σ_j w (I_j − Ī)²`` over a window has
half the derivative ``b = Σ_p ∇Ī · Σ_j w (d_j − d̄) I_j / (k h)``. Its root between rungs of the ladder is the
estimate. ∇Ī is the mean over lenses of central differences taken inside each micro-image: their noise is even about
the sample, so (unlike the exact derivative of interpolated images) it does not pull the root towards pixel phases,
and (unlike differences of the mean image) it has no part from weights that change between samples.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from prism_vo.lightfield.accumulate import (
    GX,
    GY,
    SUMS,
    W2,
    WI,
    WII,
    WIX,
    WIY,
    WX,
    WY,
    G,
    W,
    accumulate,
    gather_lenses,
)
from prism_vo.lightfield.search import LEAST_REDUNDANCY, SEARCH_WINDOW, search

FROM_RUNG = 0.6  # a root further from its middle rung is solved again about the next one
STEPS_WALKED = 4  # rungs the refinement may leave the search result by
GRADIENT_SHARE = 0.25  # least share of the weight that must come with a gradient


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def score(  # type: ignore[no-untyped-def]
    raw,
    near,
    where,
    count,
    radius,
    slope,
    stride,
    fall,
    x0,
    y0,
    pitch,
    nx,
    ny,
    window,
    line,
    taps,
    at,
    sums,
    out,
):
    """At one rung, for nx × ny nodes: ``out[0] = b``, ``out[1] = C``, ``out[2]`` redundancy, ``out[3]`` ΣĪ."""
    w = window
    mx, my = nx + 2 * w + 2, ny + 2 * w + 2  # one more sample to each side for central differences
    accumulate(
        raw, near, where, count, radius, slope, stride, fall,
        x0 - (w + 1) * pitch, y0 - (w + 1) * pitch, pitch, mx, my, True, taps, at, sums,
    )  # fmt: skip
    for p in range(mx * my):
        weight = max(sums[W, p], np.float32(1e-6))
        mean = sums[WI, p] / weight
        sums[WII, p] -= sums[WI, p] * mean
        sums[W2, p] = sums[W, p] - sums[W2, p] / weight
        sums[WIX, p] -= sums[WX, p] * mean
        sums[WIY, p] -= sums[WY, p] * mean
        sums[WI, p] = mean
    factor = np.float32(0.5 / (pitch * slope))
    side = 2 * w + 1
    for p in range(mx * my):  # per sample b in place of Σw d, then sums along columns and rows
        inside = sums[G, p] > GRADIENT_SHARE * sums[W, p]
        weight = max(sums[G, p], np.float32(1e-6))
        b = factor * (sums[GX, p] * sums[WIX, p] + sums[GY, p] * sums[WIY, p]) / weight
        steep = (sums[GX, p] * sums[GX, p] + sums[GY, p] * sums[GY, p]) / (weight * weight)
        sums[WX, p] = b if inside else np.float32(0.0)
        sums[GX, p] = steep * sums[W2, p] if inside else np.float32(0.0)
        sums[GY, p] = steep * sums[WII, p] if inside else np.float32(0.0)
    for row in range(ny):
        for channel in range(6):
            source = (WX, WII, W2, WI, GX, GY)[channel]
            line[channel, :mx] = np.float32(0.0)
            for dy in range(1, side + 1):
                first = (row + dy) * mx
                for col in range(1, mx - 1):
                    line[channel, col] += sums[source, first + col]
            for col in range(nx):
                total = np.float32(0.0)
                for dx in range(1, side + 1):
                    total += line[channel, col + dx]
                out[channel, row, col] = total


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _between(table, row, col, fy, fx):  # type: ignore[no-untyped-def]
    """Window sums at a point between four nodes: the window slides smoothly."""
    upper = table[row, col] + fx * (table[row, col + 1] - table[row, col])
    lower = table[row + 1, col] + fx * (table[row + 1, col + 1] - table[row + 1, col])
    return upper + fy * (lower - upper)


@njit(nogil=True, cache=True, error_model="numpy")
def refine(  # type: ignore[no-untyped-def]
    raw, near, where, count, radius, ladder, strides, fall, x0, y0, pitch, mx, my, window, gx, gy, pace, nx, ny,
    start, line, taps, at, sums, table, done, out,
):  # fmt: skip
    """Root of b near rung ``start`` (−1: skip) at nx × ny samples, ``pace`` nodes apart from node (gx, gy) on.

    The block has mx × my nodes, ``pitch`` raw px apart from (x0, y0) on; a rung is evaluated for all of them when
    the first sample asks for it. ``out``: slope, db/dslope, residual variance, mean grey, redundancy.
    """
    last = len(ladder) - 1
    done[:] = False
    log_step = np.log(ladder[1] / ladder[0])
    side2 = (2 * window + 1) ** 2
    for row in range(ny):
        node_y = min(int(gy + pace * row), my - 2)
        fy = np.float32(gy + pace * row - node_y)
        for col in range(nx):
            out[0, row, col] = np.nan
            k = start[row, col]
            if k < 0:
                continue
            node_x = min(int(gx + pace * col), mx - 2)
            fx = np.float32(gx + pace * col - node_x)
            k = min(max(k, 1), last - 1)
            t, linear, bend = np.nan, 0.0, 0.0
            free, low_free, high_free = 0.0, 1.0, 1.0
            for _ in range(STEPS_WALKED):
                for rung in range(k - 1, k + 2):
                    if not done[rung]:
                        score(
                            raw, near, where, count, radius, ladder[rung], strides[1, rung], fall, x0, y0, pitch,
                            mx, my, window, line, taps, at, sums, table[rung],
                        )  # fmt: skip
                        done[rung] = True
                free = _between(table[k, 2], node_y, node_x, fy, fx)  # per lens the score is straighter
                low_free = max(_between(table[k - 1, 2], node_y, node_x, fy, fx), 1e-3)
                high_free = max(_between(table[k + 1, 2], node_y, node_x, fy, fx), 1e-3)
                low = _between(table[k - 1, 0], node_y, node_x, fy, fx) * free / low_free
                mid = _between(table[k, 0], node_y, node_x, fy, fx)
                high = _between(table[k + 1, 0], node_y, node_x, fy, fx) * free / high_free
                linear, bend = 0.5 * (high - low), 0.5 * (high + low) - mid
                move = 0
                if low > 0.0:
                    move = -1
                elif high < 0.0:
                    move = 1
                else:
                    t = 0.0
                    for _ in range(4):  # root of the parabola through three rungs; its bend is small
                        t = -(mid + bend * t * t) / max(linear, 1e-12)
                    move = (1 if t > 0.0 else -1) if abs(t) > FROM_RUNG else 0
                if move == 0 or k + move < 1 or k + move > last - 1:
                    break
                k += move
            if not abs(t) <= 1.0 or free < LEAST_REDUNDANCY * side2:
                continue
            c_low = _between(table[k - 1, 1], node_y, node_x, fy, fx) / low_free
            c_mid = _between(table[k, 1], node_y, node_x, fy, fx) / free
            c_high = _between(table[k + 1, 1], node_y, node_x, fy, fx) / high_free
            slope = ladder[k] * np.exp(t * log_step)
            out[0, row, col] = slope
            out[1, row, col] = (linear + 2.0 * bend * t) / (slope * log_step)
            out[2, row, col] = c_mid + 0.5 * (c_high - c_low) * t + (0.5 * (c_high + c_low) - c_mid) * t * t
            out[3, row, col] = _between(table[k, 3], node_y, node_x, fy, fx) / side2
            out[4, row, col] = free
            at_edges = _between(table[k, 4], node_y, node_x, fy, fx)
            out[5, row, col] = _between(table[k, 5], node_y, node_x, fy, fx) / max(at_edges, 1e-12)


@njit(nogil=True, cache=True, error_model="numpy")
def measure_points(  # type: ignore[no-untyped-def]
    raw, lenses, index, grid, ladder, strides, fall, limit, scale, pitch, window, points, first, last, out
):
    """Rows [first, last) of ``points`` (TF px) → columns of ``out`` (5, N), see :func:`refine`.

    ``pitch``: spacing of the matching nodes in raw px; every second one is a node of the search.
    """
    line, taps, at, sums, cost, freedom, best, table, done, result, near, where = _scratch(
        len(ladder), 2, 1, 1, window, index.size
    )
    half = pitch * (max(2 * SEARCH_WINDOW, window) + 3)
    for n in range(first, last):
        cx, cy = scale * (points[n, 0] + 0.5) - 0.5, scale * (points[n, 1] + 0.5) - 0.5
        x0, y0 = cx - half, cy - half
        node_x, node_y = np.floor(cx / pitch), np.floor(cy / pitch)
        seek_x, seek_y = np.floor(cx / (2 * pitch) + 0.5), np.floor(cy / (2 * pitch) + 0.5)
        count = gather_lenses(
            lenses, index, grid, ladder[0], grid[13], x0, y0, cx + half, cy + half, near, where
        )
        search(
            raw, near, where, count, grid[4], ladder, strides, fall, limit, seek_x * 2 * pitch - x0,
            seek_y * 2 * pitch - y0, 2 * pitch, 1, 1, line, taps, at, sums, cost, freedom, best,
        )  # fmt: skip
        refine(
            raw, near, where, count, grid[4], ladder, strides, fall, node_x * pitch - x0, node_y * pitch - y0, pitch,
            2, 2, window, cx / pitch - node_x, cy / pitch - node_y, 1.0, 1, 1,
            best, line, taps, at, sums, table, done, result,
        )  # fmt: skip
        out[:, n] = result[:, 0, 0]


@njit(nogil=True, cache=True, error_model="numpy")
def measure_blocks(  # type: ignore[no-untyped-def]
    raw, lenses, index, grid, ladder, strides, fall, limit, scale, pitch, window, block, first, last, out
):
    """Block rows [first, last) of the TF grid → ``out`` (5, h, w), the numbers :func:`measure_points` gives there."""
    height, width = out.shape[1], out.shape[2]
    nodes, seekers = int(scale * (block - 1) / pitch) + 3, int(0.5 * scale * (block - 1) / pitch) + 3
    line, taps, at, sums, cost, freedom, best, table, done, result, near, where = _scratch(
        len(ladder), nodes, seekers, block, window, index.size
    )
    start = np.zeros((block, block), np.int64)
    half = pitch * (max(2 * SEARCH_WINDOW, window) + 3)
    for by in range(first, last):
        for bx in range((width + block - 1) // block):
            x0, y0 = bx * block, by * block
            nx, ny = min(block, width - x0), min(block, height - y0)
            cx, cy = scale * (x0 + 0.5) - 0.5, scale * (y0 + 0.5) - 0.5
            left, top, span = cx - half, cy - half, scale * block + 2 * half
            node_x, node_y = np.floor(cx / pitch), np.floor(cy / pitch)
            seek_x, seek_y = np.floor(cx / (2 * pitch) + 0.5), np.floor(cy / (2 * pitch) + 0.5)
            mx = int((cx + scale * (nx - 1)) / pitch - node_x) + 2
            my = int((cy + scale * (ny - 1)) / pitch - node_y) + 2
            count = gather_lenses(
                lenses, index, grid, ladder[0], grid[13], left, top, left + span, top + span, near, where
            )
            search(
                raw, near, where, count, grid[4], ladder, strides, fall, limit, seek_x * 2 * pitch - left,
                seek_y * 2 * pitch - top, 2 * pitch, (mx + 1) // 2 + 1, (my + 1) // 2 + 1, line, taps, at, sums,
                cost, freedom, best,
            )  # fmt: skip
            for row in range(ny):
                seek_row = int(np.floor((cy + scale * row) / (2 * pitch) + 0.5) - seek_y)
                for col in range(nx):
                    start[row, col] = best[
                        seek_row, int(np.floor((cx + scale * col) / (2 * pitch) + 0.5) - seek_x)
                    ]
            refine(
                raw, near, where, count, grid[4], ladder, strides, fall, node_x * pitch - left,
                node_y * pitch - top, pitch, mx, my, window, cx / pitch - node_x, cy / pitch - node_y, scale / pitch,
                nx, ny, start, line, taps, at, sums, table, done, result,
            )  # fmt: skip
            out[:, y0 : y0 + ny, x0 : x0 + nx] = result[:, :ny, :nx]


@njit(nogil=True, cache=True)
def _scratch(rungs, nodes, seekers, block, window, lenses):  # type: ignore[no-untyped-def]
    """Working arrays for nodes² matching nodes, seekers² search nodes and block² samples."""
    size = max(seekers + 2 * SEARCH_WINDOW, nodes + 2 * window + 2)
    return (
        np.zeros((6, size), np.float32),
        np.zeros((7, size * size), np.float32),
        np.zeros(size * size, np.uint32),
        np.zeros((SUMS, size * size), np.float32),
        np.zeros((rungs, seekers, seekers), np.float32),
        np.zeros((rungs, seekers, seekers), np.float32),
        np.zeros((seekers, seekers), np.int64),
        np.zeros((rungs, 6, nodes, nodes), np.float32),
        np.zeros(rungs, np.bool_),
        np.zeros((6, block, block), np.float32),
        np.zeros((lenses, 10), np.float32),
        np.zeros((lenses, 4), np.int64),
    )
