# SPDX-License-Identifier: Apache-2.0
"""Coarse search: the rung of the slope ladder at which the micro-images agree best, if one stands out."""

from __future__ import annotations

import numpy as np
from numba import njit

from prism_vo.lightfield.accumulate import W2, WI, WII, W, accumulate

SEARCH_WINDOW = 2  # nodes to each side
RUNGS_SKIPPED = 2  # the search looks at every second rung
RIVAL_SIGMAS = 3.0  # a second minimum must be worse by this many standard deviations of the cost
NOTHING = np.float32(1e30)  # cost where too few lenses overlap
LEAST_REDUNDANCY = 0.35  # mean of (effective lenses − 1) per sample below which nothing is measured


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def search(  # type: ignore[no-untyped-def]
    raw, near, where, count, radius, ladder, strides, fall, limit, x0, y0, step, nx, ny, line, taps, at, sums, cost,
    freedom, best,
):  # fmt: skip
    """Rung of least cost at nx × ny nodes → ``best``; −1 where lenses are too few or the minimum says nothing.

    Works on every second rung. ``cost[k]`` becomes the residual variance over the window, ``freedom[k]`` its
    degrees of freedom. ``limit``: largest variance of the slope worth refining; ≤ 0: refine everything.
    """
    w = SEARCH_WINDOW
    mx, my = nx + 2 * w, ny + 2 * w
    for k in range(0, len(ladder), RUNGS_SKIPPED):
        accumulate(
            raw, near, where, count, radius, ladder[k], strides[0, k], fall,
            x0 - w * step, y0 - w * step, step, mx, my, False, taps, at, sums,
        )  # fmt: skip
        for p in range(mx * my):
            weight = max(sums[W, p], np.float32(1e-6))
            sums[WII, p] -= sums[WI, p] * sums[WI, p] / weight
            sums[W2, p] = sums[W, p] - sums[W2, p] / weight
        for row in range(ny):
            for col in range(mx):
                total, free = np.float32(0.0), np.float32(0.0)
                for dy in range(2 * w + 1):
                    total += sums[WII, (row + dy) * mx + col]
                    free += sums[W2, (row + dy) * mx + col]
                line[0, col], line[1, col] = total, free
            for col in range(nx):
                total, free = np.float32(0.0), np.float32(0.0)
                for dx in range(2 * w + 1):
                    total += line[0, col + dx]
                    free += line[1, col + dx]
                enough = free > LEAST_REDUNDANCY * (2 * w + 1) ** 2
                cost[k, row, col] = total / free if enough else NOTHING
                freedom[k, row, col] = free
    _choose(ladder, cost, freedom, limit, nx, ny, best)


@njit(nogil=True, cache=True, error_model="numpy")
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
            if where < 0:
                continue
            if 0 < where < last:  # rung nearest to the vertex of the parabola through three costs
                left, right = cost[where - skip, row, col], cost[where + skip, row, col]
                if max(left, right) < NOTHING:
                    best[row, col] += int(
                        np.rint(skip * 0.5 * (left - right) / max(left - 2 * least + right, 1e-9))
                    )
            if limit <= 0.0:
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
