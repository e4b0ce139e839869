# SPDX-License-Identifier: Apache-2.0
"""Coarse search: the slope at which the micro-images agree best, if one stands out.

The search looks only at the few lenses nearest to a sample, on a ladder of its own: their short baselines need few
rungs and are the least ambiguous, and the refinement brings in the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.compiled import njit
from prism_vo.lightfield.accumulate import accumulate
from prism_vo.lightfield.ladders import SearchLadder
from prism_vo.lightfield.records import Overlay, SampleGrid
from prism_vo.lightfield.search_point import (
    LEAST_REDUNDANCY,
    LEAST_WEIGHT,
    NOTHING,
    SEARCH_SIDE,
    SEARCH_WINDOW,
    PointSearch,
    search_at_point,
)
from prism_vo.lightfield.workspace import PAD, W2, WI, WIDEST, WII, BlockWorkspace, W, whole_lanes

RIVAL_SIGMAS = 3.0  # a second minimum must be worse by this many standard deviations of the cost …
VALLEY_SIGMAS = 2.0  # … and the slopes beside the best one: noise alone has valleys, too
LEAST_BEND = 1e-9  # grey²: divides where three costs are equal


class SearchScratch(NamedTuple):
    """Working arrays of one thread for my × mx nodes, and the result."""

    workspace: BlockWorkspace | PointSearch
    columns: Floats  # (2, WIDEST): sums of cost and freedom down the columns of the window
    cost: Floats  # (K, my, mx): residual variance over the window at each rung
    freedom: Floats  # (K, my, mx): its degrees of freedom
    best: Array  # (my, mx): slope of least cost; NaN where lenses are too few or the minimum says nothing
    rungs: NDArray[np.int64]  # (my, mx): rung of the refinement's ladder below the best slope; −1: none


def search_scratch(
    workspace: BlockWorkspace | PointSearch, ladder: SearchLadder, nodes: int
) -> SearchScratch:
    """For nodes × nodes nodes, or for one, in a :class:`PointSearch` → :class:`SearchScratch`."""
    rungs = len(ladder.slope)
    return SearchScratch(
        workspace,
        np.zeros((2, WIDEST), np.float32),
        np.zeros((rungs, nodes, nodes), np.float32),
        np.zeros((rungs, nodes, nodes), np.float32),
        np.zeros((nodes, nodes)),
        np.zeros((nodes, nodes), np.int64),
    )


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def search(tables, image, lenses, nodes, scratch):  # type: ignore[no-untyped-def]
    """Slope of least cost at each node → ``scratch.best``.

    ``tables``: :class:`MatchTables`; ``nodes``: :class:`SampleGrid`, raw px from the corner of ``lenses``.
    """
    slopes, _, shares = tables.search_ladder
    _costs(tables.search_ladder, image, lenses, nodes, scratch)
    best = scratch.best[: nodes.ny, : nodes.nx]
    _choose(slopes, shares, scratch.cost, scratch.freedom, tables.refine_limit, best)


def _costs(ladder, image, lenses, nodes, scratch):  # type: ignore[no-untyped-def]
    """Residual variance and degrees of freedom at each rung and node → ``scratch.cost``, ``scratch.freedom``."""
    (_costs_at_point if isinstance(scratch.workspace, PointSearch) else _costs_of_block)(
        ladder, image, lenses, nodes, scratch
    )


@overload(_costs)
def _costs_in_kernels(ladder, image, lenses, nodes, scratch):  # type: ignore[no-untyped-def]
    """Which of the two is known when kernels are compiled, and the other one is not."""
    workspace = dict(zip(scratch.fields, scratch.types))["workspace"]
    kernel = _costs_at_point if workspace.instance_class is PointSearch else _costs_of_block

    def run(ladder, image, lenses, nodes, scratch):  # type: ignore[no-untyped-def]
        kernel(ladder, image, lenses, nodes, scratch)

    return run


@njit(nogil=True, cache=True, error_model="numpy")
def _costs_at_point(ladder, image, lenses, nodes, scratch):  # type: ignore[no-untyped-def]
    search_at_point(
        image, lenses, ladder, nodes, scratch.workspace, scratch.cost[:, 0, 0], scratch.freedom[:, 0, 0]
    )


@njit(nogil=True, cache=True, error_model="numpy")
def _costs_of_block(ladder, image, lenses, nodes, scratch):  # type: ignore[no-untyped-def]
    work, w = scratch.workspace.work, SEARCH_WINDOW
    mx, my = nodes.nx + 2 * w, nodes.ny + 2 * w
    samples = SampleGrid(nodes.x0 - w * nodes.step, nodes.y0 - w * nodes.step, nodes.step, mx, my)
    for rung in range(len(ladder.slope)):
        overlay = Overlay(ladder.slope[rung], ladder.radius[rung], 1, False)
        accumulate(image, lenses, overlay, samples, scratch.workspace)
        _residuals(work, mx * my)
        _window_costs(work, nodes, scratch.columns, rung, scratch.cost, scratch.freedom)


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _residuals(work, samples):  # type: ignore[no-untyped-def]
    """Sums over lenses → residual sum and degrees of freedom of each sample."""
    one, tiny = np.float32(1.0), np.float32(LEAST_WEIGHT)
    for t in range(PAD, PAD + whole_lanes(samples)):
        p = np.uint64(t)
        weight, light = work[p + W], work[p + WI]
        per = one / max(weight, tiny)
        work[p + WII] -= light * light * per
        work[p + W2] = weight - work[p + W2] * per


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _window_costs(work, nodes, columns, rung, cost, freedom):  # type: ignore[no-untyped-def]
    """Residual sums and degrees of freedom over the window about each node, down the columns and then along rows."""
    side, mx = SEARCH_SIDE, nodes.nx + SEARCH_SIDE - 1
    for row in range(nodes.ny):
        for col in range(mx):
            total, free = np.float32(0.0), np.float32(0.0)
            for dy in range(side):
                p = PAD + (row + dy) * mx + col  # signed: few, and summed in this order
                total += work[int(WII) + p]
                free += work[int(W2) + p]
            columns[0, col], columns[1, col] = total, free
        for col in range(nodes.nx):
            total, free = np.float32(0.0), np.float32(0.0)
            for dx in range(side):
                total += columns[0, col + dx]
                free += columns[1, col + dx]
            enough = free > LEAST_REDUNDANCY * side**2
            cost[rung, row, col] = total / free if enough else NOTHING
            freedom[rung, row, col] = free


@njit(nogil=True, cache=True, error_model="numpy")
def _choose(slopes, shares, cost, freedom, limit, best):  # type: ignore[no-untyped-def]
    """Least cost, unless another minimum is nearly as good or the valley is too flat to be worth refining."""
    last = len(slopes) - 1
    for row in range(best.shape[0]):
        for col in range(best.shape[1]):
            least, at = NOTHING, -1
            for k in range(last + 1):
                if cost[k, row, col] < least:
                    least, at = cost[k, row, col], k
            best[row, col] = np.nan
            if at < 0:
                continue
            slope = slopes[at]
            if 0 < at < last:  # vertex of the parabola through three costs
                left, right = cost[at - 1, row, col], cost[at + 1, row, col]
                if max(left, right) < NOTHING:
                    vertex = 0.5 * (left - right) / max(left - 2 * least + right, LEAST_BEND)
                    step = slopes[at + 1] - slopes[at] if vertex > 0 else slopes[at] - slopes[at - 1]
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
            step = slopes[min(at + 1, last)] - slopes[min(at + 1, last) - 1]
            curvature = bend * freedom[at, row, col] / (step * step * shares[at])
            noise = np.sqrt(2.0 / freedom[at, row, col])
            unclear = rival < least * (1.0 + RIVAL_SIGMAS * noise) or bend < VALLEY_SIGMAS * noise * least
            if unclear or curvature * limit < least:
                best[row, col] = np.nan
