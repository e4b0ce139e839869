# SPDX-License-Identifier: Apache-2.0
"""Finds the stereo slope at which the micro-images agree: search over a fixed ladder, then the root of its slope.

Let Ī be the weighted mean over lenses of one TF sample. The cost ``C = Σ_p Σ_j w (I_j − Ī)²`` over a window has
half the derivative ``b = Σ_p ∇Ī · Σ_j w (d_j − d̄) I_j / (k h)``. Its root between rungs of the ladder is the
estimate. The gradient is that of the mean image, taken by central differences: its noise is even about the pixel,
so (unlike the exact derivative of interpolated images) it does not pull the root towards pixel phases.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from prism_vo.lightfield.accumulate import SUMS, W2, WI, WII, WIX, WIY, WX, WY, W, accumulate

SEARCH_WINDOW = 2  # nodes to each side
RUNGS_SKIPPED = 2  # the search looks at every second rung
RIVAL_SIGMAS = 3.0  # a second minimum must be worse by this many standard deviations of the cost
STEPS_WALKED = 4  # rungs the refinement may leave the search result by
NOTHING = np.float32(1e30)  # cost where too few lenses overlap
LEAST_REDUNDANCY = 0.35  # mean of (effective lenses − 1) per sample below which nothing is measured


@njit(nogil=True, cache=True, fastmath=True)
def search(raw, lenses, index, grid, ladder, strides, fall, limit, x0, y0, step, nx, ny, sums, cost, freedom, best):  # type: ignore[no-untyped-def]
    """Rung of least cost at nx × ny nodes → ``best``; −1 where lenses are too few or the minimum says nothing.

    Works on every second rung. ``cost[k]`` becomes the residual variance over the window, ``freedom[k]`` its
    degrees of freedom. ``limit``: largest variance of the slope worth refining; ≤ 0: refine everything.
    """
    w = SEARCH_WINDOW
    mx, my = nx + 2 * w, ny + 2 * w
    for k in range(0, len(ladder), RUNGS_SKIPPED):
        accumulate(
            raw, lenses, index, grid, ladder[k], strides[k], fall,
            x0 - w * step, y0 - w * step, step, mx, my, False, sums,
        )  # fmt: skip
        for row in range(my):
            for col in range(mx):
                weight = max(sums[W, row, col], np.float32(1e-6))
                sums[WII, row, col] -= sums[WI, row, col] * sums[WI, row, col] / weight
                sums[W2, row, col] = sums[W, row, col] - sums[W2, row, col] / weight
        for row in range(ny):
            for col in range(mx):
                total, free = np.float32(0.0), np.float32(0.0)
                for dy in range(2 * w + 1):
                    total += sums[WII, row + dy, col]
                    free += sums[W2, row + dy, col]
                sums[W, row, col], sums[WI, row, col] = total, free
            for col in range(nx):
                total, free = np.float32(0.0), np.float32(0.0)
                for dx in range(2 * w + 1):
                    total += sums[W, row, col + dx]
                    free += sums[WI, row, col + dx]
                enough = free > LEAST_REDUNDANCY * (2 * w + 1) ** 2
                cost[k, row, col] = total / free if enough else NOTHING
                freedom[k, row, col] = free
    _choose(ladder, cost, freedom, limit, nx, ny, best)


@njit(nogil=True, cache=True)
def _choose(ladder, cost, freedom, limit, nx, ny, best):  # type: ignore[no-untyped-def]
    """Least cost, unless another minimum is nearly as good or the valley is too flat to be worth refining."""
    skip = RUNGS_SKIPPED
    last = (len(ladder) - 1) // skip * skip
    log_step = np.log(ladder[skip] / ladder[0])
    for row in range(ny):
        for col in range(nx):
            least, where = NOTHING, -1
            for k in range(0, last + 1, skip):
                if cost[k, row, col] < least:
                    least, where = cost[k, row, col], k
            best[row, col] = where
            if where < 0 or limit <= 0.0:
                continue
            rival, bend = NOTHING, np.float32(0.0)
            for k in range(0, last + 1, skip):
                c = cost[k, row, col]
                left = cost[k - skip, row, col] if k > 0 else NOTHING
                right = cost[k + skip, row, col] if k < last else NOTHING
                if k == where:
                    bend = max(left, right) - c if max(left, right) < NOTHING else min(left, right) - c
                elif abs(k - where) > skip and c <= left and c <= right and c < rival:
                    rival = c
            curvature = bend * freedom[where, row, col] / (ladder[where] * log_step) ** 2
            noise = np.sqrt(2.0 / freedom[where, row, col])
            if rival < least * (1.0 + RIVAL_SIGMAS * noise) or curvature * limit < least:
                best[row, col] = -1


@njit(nogil=True, cache=True, fastmath=True)
def score(raw, lenses, index, grid, slope, stride, fall, x0, y0, scale, nx, ny, window, sums, columns, out):  # type: ignore[no-untyped-def]
    """At one rung, for nx × ny TF samples: ``out[0] = b``, ``out[1] = C``, ``out[2]`` = redundancy, ``out[3]`` = ΣĪ."""
    w = window
    mx, my = nx + 2 * w + 2, ny + 2 * w + 2  # one more sample to each side for central differences
    accumulate(
        raw, lenses, index, grid, slope, stride, fall,
        x0 - (w + 1) * scale, y0 - (w + 1) * scale, scale, mx, my, True, sums,
    )  # fmt: skip
    for row in range(my):
        for col in range(mx):
            weight = max(sums[W, row, col], np.float32(1e-6))
            mean = sums[WI, row, col] / weight
            sums[WII, row, col] -= sums[WI, row, col] * mean
            sums[W2, row, col] = sums[W, row, col] - sums[W2, row, col] / weight
            sums[WIX, row, col] -= sums[WX, row, col] * mean
            sums[WIY, row, col] -= sums[WY, row, col] * mean
            sums[WI, row, col] = mean
    factor = np.float32(0.5 / (scale * slope))
    side = 2 * w + 1
    for row in range(1, my - 1):  # per sample b in place of Σw d, then sums along columns and rows
        for col in range(1, mx - 1):
            gx = sums[WI, row, col + 1] - sums[WI, row, col - 1]
            gy = sums[WI, row + 1, col] - sums[WI, row - 1, col]
            seen = min(
                min(sums[W, row, col + 1], sums[W, row, col - 1]),
                min(sums[W, row + 1, col], sums[W, row - 1, col]),
            )
            b = factor * (gx * sums[WIX, row, col] + gy * sums[WIY, row, col])
            sums[WX, row, col] = b if seen > 0.0 else np.float32(0.0)
    for row in range(ny):
        for col in range(1, mx - 1):
            b, c, f, m = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
            for dy in range(1, side + 1):
                b += sums[WX, row + dy, col]
                c += sums[WII, row + dy, col]
                f += sums[W2, row + dy, col]
                m += sums[WI, row + dy, col]
            columns[0, col], columns[1, col], columns[2, col], columns[3, col] = b, c, f, m
        for col in range(nx):
            for channel in range(4):
                total = np.float32(0.0)
                for dx in range(1, side + 1):
                    total += columns[channel, col + dx]
                out[channel, row, col] = total


@njit(nogil=True, cache=True)
def refine(
    raw,
    lenses,
    index,
    grid,
    ladder,
    strides,
    fall,
    x0,
    y0,
    scale,
    nx,
    ny,
    window,
    start,
    sums,
    columns,
    table,
    done,
    out,
):  # type: ignore[no-untyped-def]
    """Root of b near rung ``start`` (−1: skip). ``out``: slope, db/dslope, residual variance, mean grey, redundancy.

    Rungs are evaluated for the whole block when its first sample asks for them (``table``, ``done``).
    """
    last = len(ladder) - 1
    done[:] = False
    log_step = np.log(ladder[1] / ladder[0])
    side2 = (2 * window + 1) ** 2
    for row in range(ny):
        for col in range(nx):
            out[0, row, col] = np.nan
            k = start[row, col]
            if k < 0:
                continue
            k = min(max(k, 1), last - 1)
            bracketed = False
            for _ in range(STEPS_WALKED):
                for near in range(k - 1, k + 2):
                    if not done[near]:
                        score(
                            raw, lenses, index, grid, ladder[near], strides[near], fall, x0, y0, scale, nx, ny,
                            window, sums, columns, table[near],
                        )  # fmt: skip
                        done[near] = True
                if table[k - 1, 0, row, col] > 0.0:
                    k -= 1
                elif table[k + 1, 0, row, col] < 0.0:
                    k += 1
                else:
                    bracketed = True
                    break
                if k < 1 or k > last - 1:
                    break
            if not bracketed or table[k, 2, row, col] < LEAST_REDUNDANCY * side2:
                continue
            low, mid, high = table[k - 1, 0, row, col], table[k, 0, row, col], table[k + 1, 0, row, col]
            linear, bend = 0.5 * (high - low), 0.5 * (high + low) - mid
            t = 0.0
            for _ in range(4):  # parabola through three rungs; its bend is small
                t = -(mid + bend * t * t) / max(linear, 1e-12)
            if not abs(t) <= 1.0:
                continue
            slope = ladder[k] * np.exp(t * log_step)
            c_low = table[k - 1, 1, row, col] / table[k - 1, 2, row, col]
            c_mid = table[k, 1, row, col] / table[k, 2, row, col]
            c_high = table[k + 1, 1, row, col] / table[k + 1, 2, row, col]
            out[0, row, col] = slope
            out[1, row, col] = (linear + 2.0 * bend * t) / (slope * log_step)
            out[2, row, col] = c_mid + 0.5 * (c_high - c_low) * t + (0.5 * (c_high + c_low) - c_mid) * t * t
            out[3, row, col] = table[k, 3, row, col] / side2
            out[4, row, col] = table[k, 2, row, col]


@njit(nogil=True, cache=True)
def measure_points(
    raw, lenses, index, grid, ladder, strides, fall, limit, scale, nodes, window, points, first, last, out
):  # type: ignore[no-untyped-def]
    """Rows [first, last) of ``points`` (TF px) → columns of ``out`` (5, N), see :func:`refine`.

    ``nodes``: spacing of the search lattice in TF pixels; a point uses the search result of its nearest node.
    """
    offset = 0.5 * scale - 0.5
    sums, columns, cost, freedom, best, table, done, result = _scratch(len(ladder), 1, 1, window)
    for n in range(first, last):
        x, y = points[n, 0], points[n, 1]
        node_x, node_y = nodes * np.floor(x / nodes + 0.5), nodes * np.floor(y / nodes + 0.5)
        search(
            raw, lenses, index, grid, ladder, strides, fall, limit, scale * node_x + offset,
            scale * node_y + offset, scale * nodes, 1, 1, sums, cost, freedom, best,
        )  # fmt: skip
        refine(
            raw, lenses, index, grid, ladder, strides, fall, scale * x + offset, scale * y + offset, scale, 1, 1,
            window, best, sums, columns, table, done, result,
        )  # fmt: skip
        out[:, n] = result[:, 0, 0]


@njit(nogil=True, cache=True)
def measure_blocks(
    raw, lenses, index, grid, ladder, strides, fall, limit, scale, nodes, window, block, first, last, out
):  # type: ignore[no-untyped-def]
    """Block rows [first, last) of the TF grid → ``out`` (5, h, w), the numbers :func:`measure_points` gives there."""
    height, width = out.shape[1], out.shape[2]
    offset = 0.5 * scale - 0.5
    per_side = block // nodes + 1
    sums, columns, cost, freedom, best, table, done, result = _scratch(len(ladder), block, per_side, window)
    start = np.zeros((block, block), np.int64)
    for by in range(first, last):
        for bx in range((width + block - 1) // block):
            x0, y0 = bx * block, by * block
            nx, ny = min(block, width - x0), min(block, height - y0)
            search(
                raw, lenses, index, grid, ladder, strides, fall, limit, scale * x0 + offset, scale * y0 + offset,
                scale * nodes, per_side, per_side, sums, cost, freedom, best,
            )  # fmt: skip
            for row in range(ny):
                for col in range(nx):
                    start[row, col] = best[(2 * row + nodes) // (2 * nodes), (2 * col + nodes) // (2 * nodes)]
            refine(
                raw, lenses, index, grid, ladder, strides, fall, scale * x0 + offset, scale * y0 + offset, scale,
                nx, ny, window, start, sums, columns, table, done, result,
            )  # fmt: skip
            out[:, y0 : y0 + ny, x0 : x0 + nx] = result[:, :ny, :nx]


@njit(nogil=True, cache=True)
def _scratch(rungs, block, per_side, window):  # type: ignore[no-untyped-def]
    """Working arrays for blocks of block² samples and per_side² search nodes."""
    size = max(per_side + 2 * SEARCH_WINDOW, block + 2 * window + 2)
    return (
        np.zeros((SUMS, size, size), np.float32),
        np.zeros((4, size), np.float32),
        np.zeros((rungs, per_side, per_side), np.float32),
        np.zeros((rungs, per_side, per_side), np.float32),
        np.zeros((per_side, per_side), np.int64),
        np.zeros((rungs, 4, block, block), np.float32),
        np.zeros(rungs, np.bool_),
        np.zeros((5, block, block), np.float32),
    )
