# SPDX-License-Identifier: Apache-2.0
"""Depth of a keyframe refined by other views: the plenoptic depth is the start, neighbours hand good surfaces on.

At each pixel of the grid a few surface elements are compared (:mod:`~prism_vo.dense.photoconsistency`): its own, those
of two neighbours that were just visited continued to this pixel, and random changes that become smaller. The sweeps
alternate in direction, so a good surface travels as far as it fits. Depths further than ``SEARCH`` σ from the plenoptic
one are not looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_vo.arrays import Floats
from prism_vo.compiled import njit
from prism_vo.dense.photoconsistency import FAST, MOST_VIEWS, SAMPLES, Views, load_patch, surface_cost
from prism_vo.dense.records import Planes, Prior

SEARCH = np.float32(3.0)  # σ
PRIOR_WEIGHT = np.float32(0.02)  # cost of a depth one σ off the plenoptic one
LEAST_COST = 0.002  # no patches agree better: a perfect match says little about its noise
ENDLESS = np.float32(np.inf)
CHANGES = 3  # random changes tried in a visit
STEEPEST = np.float32(
    3.0
)  # largest relative change of q over F pixels: surfaces seen at a glance are not matched


class Stage(NamedTuple):
    """Sweeps with some of the views, sorted from the nearest to the farthest."""

    views: int  # how many of them
    best: int  # how many of those count
    change: float  # size of the first random changes of depth, in σ of the prior
    sweeps: int


class Matched(NamedTuple):
    """What the sweeps ended with."""

    planes: Planes
    cost: Floats
    sigma: Floats


def refine(
    image: Floats, views: Views, prior: Prior, step: int, focal_px: float, stages: list[Stage]
) -> Matched:
    """Surface elements at every ``step``-th pixel of ``image``, and how certain their depth is."""
    q = np.ascontiguousarray(prior.inv_depth)
    planes = Planes(q.copy(), np.zeros_like(q), np.zeros_like(q))
    cost = np.full_like(q, np.inf)
    tilt = np.float32(1.0 / focal_px)
    for stage in stages:
        cost[:] = np.inf  # those of fewer views do not compare
        for sweep in range(stage.sweeps):
            change = np.float32(stage.change / 2**sweep)
            _sweep(
                image,
                views,
                prior,
                planes,
                cost,
                step,
                tilt,
                stage.views,
                stage.best,
                change,
                sweep % 2 == 1,
                sweep,
            )
    sigma = np.full_like(q, np.inf)
    last = stages[-1]
    _settle(image, views, prior, planes, cost, sigma, step, last.views, last.best)
    return Matched(planes, cost, sigma)


@njit(nogil=True, cache=True, inline="always")
def _random(state):  # type: ignore[no-untyped-def]
    """The next state of a small generator (xorshift), which has 32 bits."""
    state ^= (state << np.uint64(13)) & np.uint64(0xFFFFFFFF)
    state ^= state >> np.uint64(17)
    state ^= (state << np.uint64(5)) & np.uint64(0xFFFFFFFF)
    return state


@njit(nogil=True, cache=True, inline="always")
def _between(state):  # type: ignore[no-untyped-def]
    """A number from −1 to 1."""
    return np.float32(np.float64(state) / 2147483648.0 - 1.0)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _sweep(image, views, prior, planes, cost, step, tilt, count, best, change, backwards, number):  # type: ignore[no-untyped-def]
    rows, columns = cost.shape
    patch, weight = np.empty(SAMPLES, np.float32), np.empty(SAMPLES, np.float32)
    costs = np.empty(MOST_VIEWS, np.float32)
    behind = 1 if backwards else -1
    for m in range(rows):
        row = rows - 1 - m if backwards else m
        for n in range(columns):
            column = columns - 1 - n if backwards else n
            x, y = column * step, row * step
            variance = load_patch(image, x, y, patch, weight)
            fx, fy = np.float32(x), np.float32(y)
            middle, sigma = prior.inv_depth[row, column], prior.sigma[row, column]
            q, dx, dy = planes.inv_depth[row, column], planes.dx[row, column], planes.dy[row, column]
            lowest = cost[row, column]
            if not np.isfinite(lowest):
                lowest = surface_cost(
                    views, count, best, fx, fy, q, dx, dy, patch, weight, variance, costs, ENDLESS
                )
                lowest += PRIOR_WEIGHT * ((q - middle) / sigma) ** 2
            state = np.uint64((row * columns + column) * 8 + number + 1) * np.uint64(2654435761) & np.uint64(
                0xFFFFFFFF
            )
            state |= np.uint64(1)
            for attempt in range(2 + CHANGES):
                if attempt < 2:  # of a neighbour
                    r, c = (row, column + behind) if attempt == 0 else (row + behind, column)
                    if not (0 <= r < rows and 0 <= c < columns):
                        continue
                    tx, ty = planes.dx[r, c], planes.dy[r, c]
                    tq = (
                        planes.inv_depth[r, c]
                        + tx * np.float32((column - c) * step)
                        + ty * np.float32((row - r) * step)
                    )
                else:
                    state = _random(state)
                    tq = q + change * sigma * _between(state) if attempt != 3 else q
                    tx, ty = dx, dy
                    if attempt > 2:
                        state = _random(state)
                        tx = dx + change * tilt * q * _between(state)
                        state = _random(state)
                        ty = dy + change * tilt * q * _between(state)
                away = (tq - middle) / sigma
                steepest = STEEPEST * tilt * tq
                if abs(away) > SEARCH or tq <= 0 or abs(tx) > steepest or abs(ty) > steepest:
                    continue
                worse = PRIOR_WEIGHT * away * away
                tried = surface_cost(
                    views, count, best, fx, fy, tq, tx, ty, patch, weight, variance, costs, lowest - worse
                )
                tried += worse
                if tried < lowest:
                    lowest, q, dx, dy = tried, tq, tx, ty
            planes.inv_depth[row, column], planes.dx[row, column], planes.dy[row, column] = q, dx, dy
            cost[row, column] = lowest


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _settle(image, views, prior, planes, cost, sigma, step, count, best):  # type: ignore[no-untyped-def]
    """The depth at the bottom of the cost between three samples, its cost without the prior, and its σ.

    With E = 2 S (1 − r) the sum of squares of N residuals about a contrast S, noise E/N and curvature E''/2, the
    information of the depth is N (1 − r)''/(2 (1 − r)).
    """
    rows, columns = cost.shape
    patch, weight = np.empty(SAMPLES, np.float32), np.empty(SAMPLES, np.float32)
    costs = np.empty(MOST_VIEWS, np.float32)
    for row in range(rows):
        for column in range(columns):
            x, y = column * step, row * step
            variance = load_patch(image, x, y, patch, weight)
            effective = np.float32(0.0)
            for n in range(SAMPLES):
                effective += weight[n] * weight[n]
            fx, fy = np.float32(x), np.float32(y)
            q, dx, dy = planes.inv_depth[row, column], planes.dx[row, column], planes.dy[row, column]
            # a change of q that moves the middle of the used views by half a pixel
            moved = np.float32(0.0)
            for k in range(count):
                far = views.shift[k, 2]
                moved += np.sqrt((views.shift[k, 0] - far * fx) ** 2 + (views.shift[k, 1] - far * fy) ** 2)
            h = np.float32(0.5) * np.float32(count) / max(moved, np.float32(1e-6))
            low = surface_cost(
                views, count, best, fx, fy, q - h, dx, dy, patch, weight, variance, costs, ENDLESS
            )
            high = surface_cost(
                views, count, best, fx, fy, q + h, dx, dy, patch, weight, variance, costs, ENDLESS
            )
            here = surface_cost(
                views, count, best, fx, fy, q, dx, dy, patch, weight, variance, costs, ENDLESS
            )
            bend = low + high - np.float32(2.0) * here
            cost[row, column] = here
            share = np.float32(best) / (np.float32(2.0) * effective * max(here, np.float32(LEAST_COST)))
            information = max(bend, np.float32(0.0)) * share / (h * h)
            sigma[row, column] = 1 / np.sqrt(information + 1 / prior.sigma[row, column] ** 2)
            if bend > np.float32(1e-4):
                offset = np.float32(0.5) * (low - high) / bend
                planes.inv_depth[row, column] = q + h * min(max(offset, np.float32(-1.0)), np.float32(1.0))
