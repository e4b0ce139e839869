# SPDX-License-Identifier: Apache-2.0
"""Refines the stereo slope at which the micro-images agree: the root of a score between two rungs of a fixed ladder."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Floats, Mask
from prism_vo.compiled import njit
from prism_vo.lightfield.records import Overlay
from prism_vo.lightfield.score import (
    BENT,
    CHANNELS,
    FREEDOM,
    KNOWN,
    MEAN,
    RISE,
    SCORE,
    STEEP,
    STEEP_COST,
    STEEP_INNER,
    STEEP_NEXT,
    STEEP_SCORE,
    score,
)
from prism_vo.lightfield.search import LEAST_REDUNDANCY
from prism_vo.lightfield.variance import MOST_ALIKE, flattened, repeats
from prism_vo.lightfield.workspace import Workspace

STEPS_WALKED = 8  # rungs the refinement may leave the search result by
# rows of a result: slope; its curvature db/dslope; mean grey; redundancy; residual variance where the gradients are;
# how often errors repeat (:func:`repeats`); mean square of differences over two nodes
SLOPE, CURVATURE, GREY, REDUNDANCY, RESIDUAL, REPEATS, STEEPNESS = range(7)
RESULTS = 7
LEAST_FREEDOM = 1e-3  # divides window sums without any lens
LEAST_ALIKE = (
    0.25  # share that the rise of the score at one rung is of that at the next, where both mean something
)
LEAST_STEEPNESS = 1e-12  # grey²: divides sums without any gradient
# a wave cos(θ n) has gradients 2 sin θ over two nodes and bends (1 − cos θ)/2: tan²(θ/2) is 16 bend²/gradient²
BEND_TO_FINENESS = 16.0


class RefineScratch(NamedTuple):
    """Working arrays of one thread for m × m nodes and n × n samples, and the result."""

    workspace: Workspace
    scores: Floats  # (R, m, m, CHANNELS)
    done: Mask  # (R,): rungs whose scores are known
    start: NDArray[np.int64]  # (n, n): rung the search found; negative: nothing to refine
    result: Floats  # (RESULTS, n, n)


class Between(NamedTuple):
    """A position between four nodes: the upper left one, and the share of each."""

    row: int
    col: int
    upper_left: np.float32
    upper_right: np.float32
    lower_left: np.float32
    lower_right: np.float32


def refine_scratch(workspace: Workspace, rungs: int, nodes: int, samples: int) -> RefineScratch:
    """For nodes × nodes nodes and samples × samples samples → :class:`RefineScratch`."""
    return RefineScratch(
        workspace,
        np.zeros((rungs, nodes, nodes, CHANNELS), np.float32),
        np.zeros(rungs, np.bool_),
        np.zeros((samples, samples), np.int64),
        np.zeros((RESULTS, samples, samples), np.float32),
    )


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def refine(tables, image, lenses, nodes, samples, scratch):  # type: ignore[no-untyped-def]
    """Root of b near the rung ``scratch.start`` at each sample → ``scratch.result``; NaN where there is none.

    ``nodes``: :class:`SampleGrid` in raw px from the corner of ``lenses``; ``samples``: another one, in nodes. A rung
    is evaluated for all nodes when the first sample asks for it. Straightened (:func:`_straightened`), two
    rungs with the root between them suffice.
    """
    slopes, strides, correlation = tables.ladder
    radius, window = tables.lenses.radius, tables.sampling.window
    workspace, scores, done, start, out = scratch
    last, side2 = len(slopes) - 1, (2 * window + 1) ** 2
    done[:] = False
    for row in range(samples.ny):
        for col in range(samples.nx):
            out[SLOPE, row, col] = np.nan
            k = start[row, col]
            if k < 0:
                continue
            place = _place(samples, row, col, nodes)
            low, high, low_rise, high_rise = 0.0, 0.0, 0.0, 0.0
            for _ in range(STEPS_WALKED):
                for rung in range(k, k + 2):
                    if not done[rung]:
                        overlay = Overlay(slopes[rung], radius, strides[rung], True)
                        score(image, lenses, overlay, nodes, window, workspace, scores[rung])
                        done[rung] = True
                low, low_rise = _straightened(scores, k, place, slopes[k])
                high, high_rise = _straightened(scores, k + 1, place, slopes[k + 1])
                move = -1 if low > 0.0 else (1 if high < 0.0 else 0)
                if move == 0 or k + move < 0 or k + move > last - 1:
                    break
                k += move
            free = _between(scores, k, place, FREEDOM)
            # where saturated pixels leave a single lens at one of the rungs, nothing holds the score there
            alike = min(low_rise, high_rise) > LEAST_ALIKE * max(low_rise, high_rise)
            if low > 0.0 or high <= 0.0 or free < LEAST_REDUNDANCY * side2 or not alike:
                continue
            t, step = low / (low - high), slopes[k + 1] - slopes[k]
            out[SLOPE, row, col] = slopes[k] + t * step
            out[CURVATURE, row, col] = (high - low) / step * (low_rise + t * (high_rise - low_rise))
            out[GREY, row, col] = _between(scores, k, place, MEAN) / side2
            out[REDUNDANCY, row, col] = free
            t32, step32, least_alike = np.float32(t), np.float32(step), np.float32(correlation[k])
            residual, repeated = _edges(scores, k, place, t32, step32, least_alike, window)
            out[RESIDUAL, row, col], out[REPEATS, row, col] = residual, repeated
            out[STEEPNESS, row, col] = _between(scores, k, place, STEEP) / free


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _place(samples, row, col, nodes):  # type: ignore[no-untyped-def]
    """Where a sample lies between the nodes → :class:`Between`."""
    x, y, one = samples.x0 + samples.step * col, samples.y0 + samples.step * row, np.float32(1.0)
    node_x, node_y = min(int(x), nodes.nx - 2), min(int(y), nodes.ny - 2)
    fx, fy = np.float32(x - node_x), np.float32(y - node_y)
    return Between(node_y, node_x, (one - fy) * (one - fx), (one - fy) * fx, fy * (one - fx), fy * fx)


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _between(scores, rung, place, channel):  # type: ignore[no-untyped-def]
    """A window sum between four nodes: the window slides smoothly."""
    row, col = place.row, place.col
    upper = place.upper_left * scores[rung, row, col, channel]
    upper += place.upper_right * scores[rung, row, col + 1, channel]
    lower_left = place.lower_left * scores[rung, row + 1, col, channel]
    return upper + lower_left + place.lower_right * scores[rung, row + 1, col + 1, channel]


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _straightened(scores, rung, place, slope):  # type: ignore[no-untyped-def]
    """The score over what makes it bend, which leaves h − h* times what is the same at all rungs; and this divisor.

    b = Σ ∇Ī·S·∇T (h − h*)/(h h*) with the spread S of the baselines, which shrinks as lenses leave the window, and the
    gradient ∇T of the texture. RISE is Σ ∇Ī·S·∇Ī/h²: S is in both. ∇Ī changes with h, too: differences over two nodes
    reach farther and see a wave flatter. The root of its mean square follows it.
    """
    known = max(_between(scores, rung, place, KNOWN), LEAST_FREEDOM)
    steepness = max(_between(scores, rung, place, STEEP), LEAST_STEEPNESS)
    divisor = slope * _between(scores, rung, place, RISE) * np.sqrt(known / steepness)
    divisor = max(divisor, LEAST_STEEPNESS)
    return _between(scores, rung, place, SCORE) / divisor, divisor


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _at_root(low, high, t, bowl):  # type: ignore[no-untyped-def]
    """A residual variance between two rungs: the chord less the sag of a parabola with that difference of slopes."""
    return low + t * (high - low) - bowl * t * (np.float32(1.0) - t)


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _edges(scores, k, place, t, step, least_alike, window):  # type: ignore[no-untyped-def]
    """Where the gradients are: residual variance at the root (k + t rungs up), and how often errors repeat."""
    one, tiny = np.float32(1.0), np.float32(LEAST_STEEPNESS)
    per = one / max(_between(scores, k, place, STEEP), tiny)
    high_per = one / max(_between(scores, k + 1, place, STEEP), tiny)
    low = _between(scores, k, place, STEEP_COST) * per
    high = _between(scores, k + 1, place, STEEP_COST) * high_per
    high_score = _between(scores, k + 1, place, STEEP_SCORE) * high_per
    rise = high_score - _between(scores, k, place, STEEP_SCORE) * per
    near = k if t < np.float32(0.5) else k + 1
    edge, per = (low, per) if t < np.float32(0.5) else (high, high_per)
    fineness = np.float32(BEND_TO_FINENESS) * _between(scores, near, place, BENT) * per
    # the score's differences over two nodes see gradients too flat, the cost does not
    residual = _at_root(low, high, t, flattened(fineness) * rise * step)
    inner = max(_between(scores, near, place, STEEP_INNER), tiny)
    beside = _between(scores, near, place, STEEP_NEXT) / inner
    # what the rung adds to the root is a shift of the texture, whose neighbours agree to 1/(1 + fineness)
    left = min(max(residual, tiny) / max(edge, tiny), one)
    beside += (one - left) * fineness / (one + fineness)
    neighbours = min(max(one + beside / left, least_alike), np.float32(MOST_ALIKE))
    return residual, repeats(fineness, neighbours, window)
