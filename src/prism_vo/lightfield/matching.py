# SPDX-License-Identifier: Apache-2.0
"""Refines the stereo slope at which the micro-images agree: the root of a score between two rungs of a fixed ladder.

Let Ī be the weighted mean over lenses of one TF sample. The cost ``C = Σ_p Σ_j w (I_j − Ī)²`` over a window has
half the derivative ``b = Σ_p ∇Ī · Σ_j w (d_j − d̄) I_j / (k h)``. Its root is the estimate. ∇Ī is the mean over lenses
of central differences taken inside each micro-image: their noise is even about the sample, so (unlike the exact
derivative of interpolated images) it does not pull the root towards pixel phases, and (unlike differences of the mean
image) it has no part from weights that change between samples.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from prism_vo.lightfield.accumulate import (
    GB,
    GI,
    GIB,
    GII,
    GX,
    GY,
    LANES,
    PAD,
    STRIDE,
    TAP,
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
)
from prism_vo.lightfield.search import LEAST_REDUNDANCY
from prism_vo.lightfield.variance import MOST_ALIKE, repeats

STEPS_WALKED = 4  # rungs the refinement may leave the search result by
GRADIENT_SHARE = 0.25  # least share of the weight that must come with a gradient
# curvature of the cost over that of the score: differences over two nodes see gradients a bit too flat. Measured while
# this was built, at matches of table_60: median 1.23, nine tenths below 1.44
BOWL = 1.23
# per node; STEEP_…: weighted with the squared gradient; BENT: squared second differences; INNER, NEXT: covariance over
# the lenses of a sample with itself and with (the mean of its four neighbours less itself)
SCORE, FREEDOM, MEAN, STEEP, STEEP_SCORE, STEEP_COST, BENT, STEEP_INNER, STEEP_NEXT = range(9)
CHANNELS = 9
CHANNEL_ROWS = (WX, W2, WI, GX, WY, GY, GB, GII, GIB)  # the sums that make room for them
RESULTS = 7
DOWN, ALONG = TAP, TAP + 2  # rows of the working array that are free after the sums over lenses


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def score(  # type: ignore[no-untyped-def]
    raw, near, where, count, radius, slope, stride, fall, x0, y0, pitch, nx, ny, window, at, work, out,
):  # fmt: skip
    """At one rung, for nx × ny nodes: window sums of the channels → ``out`` (ny, nx, CHANNELS)."""
    w = window
    mx, my = nx + 2 * w + 2, ny + 2 * w + 2  # one more sample to each side for central differences
    left, top = x0 - (w + 1) * pitch, y0 - (w + 1) * pitch
    accumulate(
        raw, near, where, count, radius, slope, stride, fall, left, top, pitch, mx, my, True, at, work,
    )  # fmt: skip
    _node_values(work, mx * my, np.float32(0.5 / (pitch * slope)))
    _window_sums(work, mx, nx, ny, 2 * w + 1, out)


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _window_sums(z, mx, nx, ny, side, out):  # type: ignore[no-untyped-def]
    """Every channel down the columns and then along the rows, in loops over whole blocks (row ends are waste)."""
    size = np.uint64
    padded = (mx * ny + LANES - 1) // LANES * LANES
    for channel in range(CHANNELS):
        first = CHANNEL_ROWS[channel] * STRIDE + PAD + mx
        if side == 5:  # one pass each for the usual window
            r0, r1, r2, r3, r4 = (
                size(first),
                size(first + mx),
                size(first + 2 * mx),
                size(first + 3 * mx),
                size(first + 4 * mx),
            )
            for t in range(padded):
                k = size(t)
                z[k + size(DOWN * STRIDE)] = (z[k + r0] + z[k + r1]) + (z[k + r2] + z[k + r3]) + z[k + r4]
            for t in range(padded):
                k = size(t) + size(DOWN * STRIDE)
                z[size(t) + size(ALONG * STRIDE)] = (
                    (z[k + size(1)] + z[k + size(2)]) + (z[k + size(3)] + z[k + size(4)]) + z[k + size(5)]
                )
        else:
            for t in range(padded):
                z[size(t) + size(DOWN * STRIDE)] = z[size(first + t)]
                z[size(t) + size(ALONG * STRIDE)] = np.float32(0.0)
            for row in range(1, side):
                start = size(first + row * mx)
                for t in range(padded):
                    z[size(t) + size(DOWN * STRIDE)] += z[start + size(t)]
            for col in range(1, side + 1):
                start = size(DOWN * STRIDE + col)
                for t in range(padded):
                    z[size(t) + size(ALONG * STRIDE)] += z[start + size(t)]
        for row in range(ny):
            for col in range(nx):
                out[row, col, channel] = z[size(ALONG * STRIDE + row * mx + col)]


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _node_values(z, count, factor):  # type: ignore[no-untyped-def]
    """Sums over lenses → the channels of :func:`score`, each in the place of a sum that is not needed any more."""
    tiny, nothing, share = np.float32(1e-6), np.float32(0.0), np.float32(GRADIENT_SHARE)
    padded = (count + LANES - 1) // LANES * LANES
    for t in range(PAD, PAD + padded):
        p = np.uint64(t)
        weight = z[p + np.uint64(W * STRIDE)]
        total = max(weight, tiny)
        mean = z[p + np.uint64(WI * STRIDE)] / total
        z[p + np.uint64(WIX * STRIDE)] -= z[p + np.uint64(WX * STRIDE)] * mean
        z[p + np.uint64(WIY * STRIDE)] -= z[p + np.uint64(WY * STRIDE)] * mean
        z[p + np.uint64(WII * STRIDE)] -= z[p + np.uint64(WI * STRIDE)] * mean
        z[p + np.uint64(W2 * STRIDE)] = weight - z[p + np.uint64(W2 * STRIDE)] / total
        z[p + np.uint64(WI * STRIDE)] = mean
    for t in range(PAD, PAD + padded):
        p = np.uint64(t)
        with_gradient = z[p + np.uint64(G * STRIDE)]
        known = with_gradient > share * z[p + np.uint64(W * STRIDE)]
        per = np.float32(1.0) / max(with_gradient, tiny) if known else nothing
        gx, gy = z[p + np.uint64(GX * STRIDE)] * per, z[p + np.uint64(GY * STRIDE)] * per
        steep = gx * gx + gy * gy
        slant = factor * (gx * z[p + np.uint64(WIX * STRIDE)] + gy * z[p + np.uint64(WIY * STRIDE)])
        z[p + np.uint64(WX * STRIDE)] = slant
        z[p + np.uint64(WY * STRIDE)] = steep * slant
        z[p + np.uint64(GX * STRIDE)] = steep * z[p + np.uint64(W2 * STRIDE)]
        z[p + np.uint64(GY * STRIDE)] = steep * z[p + np.uint64(WII * STRIDE)]
        z[p + np.uint64(G * STRIDE)], z[p + np.uint64(WIX * STRIDE)] = per, steep
    for t in range(PAD, PAD + padded):
        p = np.uint64(t)
        per, steep = z[p + np.uint64(G * STRIDE)], z[p + np.uint64(WIX * STRIDE)]
        total, bend = z[p + np.uint64(GI * STRIDE)], z[p + np.uint64(GB * STRIDE)]
        mean, mean_bend = total * per, bend * per
        z[p + np.uint64(GII * STRIDE)] = steep * (z[p + np.uint64(GII * STRIDE)] - total * mean)
        z[p + np.uint64(GIB * STRIDE)] = steep * (z[p + np.uint64(GIB * STRIDE)] - bend * mean)
        z[p + np.uint64(GB * STRIDE)] = z[p + np.uint64(W2 * STRIDE)] * mean_bend * mean_bend


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _between(table, rung, node, share, channel):  # type: ignore[no-untyped-def]
    """A window sum at a point between four nodes: the window slides smoothly."""
    (row, col), (w00, w01, w10, w11) = node, share
    upper = w00 * table[rung, row, col, channel] + w01 * table[rung, row, col + 1, channel]
    return upper + w10 * table[rung, row + 1, col, channel] + w11 * table[rung, row + 1, col + 1, channel]


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _at_root(low, high, share, bowl):  # type: ignore[no-untyped-def]
    """A residual variance between two rungs: the chord less the sag of a parabola with that difference of slopes."""
    return low + share * (high - low) - np.float32(BOWL) * bowl * share * (np.float32(1.0) - share)


@njit(nogil=True, cache=True, error_model="numpy")
def refine(  # type: ignore[no-untyped-def]
    raw, near, where, count, radius, ladder, strides, alike, fall, x0, y0, pitch, mx, my, window, gx, gy, pace,
    nx, ny, start, at, work, table, done, out,
):  # fmt: skip
    """Root of b near the rung ``start`` (negative: skip) at nx × ny samples, ``pace`` nodes apart from node (gx, gy).

    The block has mx × my nodes, ``pitch`` raw px apart from (x0, y0) on; a rung is evaluated for all of them when
    the first sample asks for it. Per lens, b grows as (h − h*)/h² (shorter baselines and smaller gradients on the TF
    grid): b h² is straight, and two rungs with the root between them suffice. ``out``: slope, db/dslope, mean grey,
    redundancy, residual variance where the gradients are, how often errors repeat (:func:`repeats`; ``alike``: least
    correlation of neighbouring residuals at each rung), and the mean square of differences over two nodes.
    """
    last = len(ladder) - 1
    done[:] = False
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
            node, one = (node_y, node_x), np.float32(1.0)
            share = ((one - fy) * (one - fx), (one - fy) * fx, fy * (one - fx), fy * fx)
            low, high, free, high_free = 0.0, 0.0, 0.0, 0.0
            for _ in range(STEPS_WALKED):
                for rung in range(k, k + 2):
                    if not done[rung]:
                        score(
                            raw, near, where, count, radius, ladder[rung], strides[rung], fall, x0, y0, pitch,
                            mx, my, window, at, work, table[rung],
                        )  # fmt: skip
                        done[rung] = True
                free = max(_between(table, k, node, share, FREEDOM), 1e-3)
                high_free = max(_between(table, k + 1, node, share, FREEDOM), 1e-3)
                low = _between(table, k, node, share, SCORE) / free * ladder[k] ** 2
                high = _between(table, k + 1, node, share, SCORE) / high_free * ladder[k + 1] ** 2
                move = -1 if low > 0.0 else (1 if high < 0.0 else 0)
                if move == 0 or k + move < 0 or k + move > last - 1:
                    break
                k += move
            if low > 0.0 or high <= 0.0 or free < LEAST_REDUNDANCY * side2:
                continue
            t, step = low / (low - high), ladder[k + 1] - ladder[k]
            slope = ladder[k] + t * step
            rise = (high - low) / (slope * slope)
            out[0, row, col] = slope
            out[1, row, col] = rise * free / step
            out[2, row, col] = _between(table, k, node, share, MEAN) / side2
            out[3, row, col] = free
            t32, step32, alike32 = np.float32(t), np.float32(step), np.float32(alike[k])
            out[4, row, col], out[5, row, col] = _edges(table, k, node, share, t32, step32, alike32, window)
            out[6, row, col] = _between(table, k, node, share, STEEP) / free


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _edges(table, k, node, share, t, step, least_alike, window):  # type: ignore[no-untyped-def]
    """Where the gradients are: residual variance at the root, and how often errors repeat."""
    one, tiny = np.float32(1.0), np.float32(1e-12)
    steep = max(_between(table, k, node, share, STEEP), tiny)
    per, high_per = one / steep, one / max(_between(table, k + 1, node, share, STEEP), tiny)
    low, high = (
        _between(table, k, node, share, STEEP_COST) * per,
        _between(table, k + 1, node, share, STEEP_COST) * high_per,
    )
    rise = (
        _between(table, k + 1, node, share, STEEP_SCORE) * high_per
        - _between(table, k, node, share, STEEP_SCORE) * per
    )
    residual = _at_root(low, high, t, rise * step)
    near = k if t < np.float32(0.5) else k + 1
    edge, per = (low, per) if t < np.float32(0.5) else (high, high_per)
    fineness = np.float32(16.0) * _between(table, near, node, share, BENT) * per
    beside = _between(table, near, node, share, STEEP_NEXT) / max(
        _between(table, near, node, share, STEEP_INNER), tiny
    )
    # what the rung adds to the root is a shift of the texture, whose neighbours agree to 1/(1 + fineness)
    left = min(max(residual, tiny) / max(edge, tiny), one)
    beside += (one - left) * fineness / (one + fineness)
    neighbours = min(max(one + beside / left, least_alike), np.float32(MOST_ALIKE))
    return residual, repeats(fineness, neighbours, window)
