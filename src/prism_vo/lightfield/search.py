# SPDX-License-Identifier: Apache-2.0
"""Coarse search: the slope at which the micro-images agree best, if one stands out.

The search looks only at the few lenses nearest to a sample, on a ladder of its own: their short baselines need few
rungs and are the least ambiguous, and the refinement brings in the others.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from prism_vo.lightfield.accumulate import LANES, PAD, STRIDE, W2, WI, WII, W, accumulate

SEARCH_WINDOW = 2  # nodes to each side
SEARCH_SIDE = 2 * SEARCH_WINDOW + 1
RIVAL_SIGMAS = 3.0  # a second minimum must be worse by this many standard deviations of the cost …
VALLEY_SIGMAS = 2.0  # … and the slopes beside the best one: noise alone has valleys, too
NOTHING = np.float32(1e30)  # cost where too few lenses overlap
LEAST_REDUNDANCY = 0.35  # mean of (effective lenses − 1) per sample below which nothing is measured


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def search(  # type: ignore[no-untyped-def]
    raw, near, where, count, seek, fall, limit, x0, y0, step, nx, ny, line, at, work, cost, freedom, best,
):  # fmt: skip
    """Slope of least cost at nx × ny nodes → ``best``; NaN where lenses are too few or the minimum says nothing.

    ``seek`` (rungs, 3): slope, radius of micro-images looked at, share of the full information seen there.
    ``cost[k]`` becomes the residual variance over the window, ``freedom[k]`` its degrees of freedom. ``limit``: largest
    variance of the slope worth refining; ≤ 0: refine everything.
    """
    w, side = SEARCH_WINDOW, SEARCH_SIDE
    mx, my = nx + 2 * w, ny + 2 * w
    one, tiny = np.float32(1.0), np.float32(1e-6)
    for k in range(len(seek)):
        accumulate(
            raw, near, where, count, seek[k, 1], seek[k, 0], 1, fall,
            x0 - w * step, y0 - w * step, step, mx, my, False, at, work,
        )  # fmt: skip
        for t in range(PAD, PAD + (mx * my + LANES - 1) // LANES * LANES):
            p = np.uint64(t)
            weight, light = work[p + np.uint64(W * STRIDE)], work[p + np.uint64(WI * STRIDE)]
            per = one / max(weight, tiny)
            work[p + np.uint64(WII * STRIDE)] -= light * light * per
            work[p + np.uint64(W2 * STRIDE)] = weight - work[p + np.uint64(W2 * STRIDE)] * per
        for row in range(ny):
            for col in range(mx):
                total, free = np.float32(0.0), np.float32(0.0)
                for dy in range(side):
                    p = PAD + (row + dy) * mx + col
                    total += work[WII * STRIDE + p]
                    free += work[W2 * STRIDE + p]
                line[0, col], line[1, col] = total, free
            for col in range(nx):
                total, free = np.float32(0.0), np.float32(0.0)
                for dx in range(side):
                    total += line[0, col + dx]
                    free += line[1, col + dx]
                enough = free > LEAST_REDUNDANCY * side**2
                cost[k, row, col] = total / free if enough else NOTHING
                freedom[k, row, col] = free
    _choose(seek, cost, freedom, limit, nx, ny, best)


@njit(nogil=True, cache=True, error_model="numpy")
def _choose(seek, cost, freedom, limit, nx, ny, best):  # type: ignore[no-untyped-def]
    """Least cost, unless another minimum is nearly as good or the valley is too flat to be worth refining."""
    last = len(seek) - 1
    for row in range(ny):
        for col in range(nx):
            least, at = NOTHING, -1
            for k in range(last + 1):
                if cost[k, row, col] < least:
                    least, at = cost[k, row, col], k
            best[row, col] = np.nan
            if at < 0:
                continue
            slope = seek[at, 0]
            if 0 < at < last:  # vertex of the parabola through three costs
                left, right = cost[at - 1, row, col], cost[at + 1, row, col]
                if max(left, right) < NOTHING:
                    vertex = 0.5 * (left - right) / max(left - 2 * least + right, 1e-9)
                    step = (seek[at + 1, 0] if vertex > 0 else seek[at, 0]) - (
                        seek[at, 0] if vertex > 0 else seek[at - 1, 0]
                    )
                    slope += vertex * step
            best[row, col] = slope
            if limit <= 0.0:
                continue
            rival, bend = NOTHING, np.float32(0.0)
            for k in range(last + 1):
                c = cost[k, row, col]
                left = cost[k - 1, row, col] if k > 0 else NOTHING
                right = cost[k + 1, row, col] if k < last else NOTHING
                if k == at:
                    bend = max(left, right) - c if max(left, right) < NOTHING else min(left, right) - c
                elif abs(k - at) > 1 and c <= left and c <= right and c < rival:
                    rival = c
            step = seek[min(at + 1, last), 0] - seek[min(at + 1, last) - 1, 0]
            curvature = bend * freedom[at, row, col] / (step * step * seek[at, 2])
            noise = np.sqrt(2.0 / freedom[at, row, col])
            unclear = rival < least * (1.0 + RIVAL_SIGMAS * noise) or bend < VALLEY_SIGMAS * noise * least
            if unclear or curvature * limit < least:
                best[row, col] = np.nan
