# SPDX-License-Identifier: Apache-2.0
"""The score of a match at one rung: half the derivative of the matching cost by the slope, summed over windows.

Let Ī be the weighted mean over lenses of one TF sample. The cost ``C = Σ_p Σ_j w (I_j − Ī)²`` over a window has
half the derivative ``b = Σ_p ∇Ī · Σ_j w (d_j − d̄) I_j / (k h)``. ∇Ī is the mean over lenses of central differences
taken inside each micro-image: their noise is even about the sample, so (unlike the exact derivative of interpolated
images) it does not pull the root towards pixel phases, and (unlike differences of the mean image) it has no part from
weights that change between samples.
"""

from __future__ import annotations

import numpy as np

from prism_vo.compiled import njit
from prism_vo.lightfield.accumulate import accumulate
from prism_vo.lightfield.records import SampleGrid
from prism_vo.lightfield.search import LEAST_WEIGHT
from prism_vo.lightfield.workspace import (
    ALONG,
    DOWN,
    GB,
    GI,
    GIB,
    GII,
    GX,
    GY,
    NEXT,
    PAD,
    W2,
    WI,
    WII,
    WIX,
    WIY,
    WX,
    WXX,
    WXY,
    WY,
    WYY,
    G,
    W,
    whole_lanes,
)

GRADIENT_SHARE = 0.25  # least share of the weight that must come with a gradient
USUAL_SIDE = 5  # nodes of the default window, whose sums are written out
# per node; STEEP_…: weighted with the squared gradient; BENT: squared second differences; INNER, NEXT: covariance over
# the lenses of a sample with itself and with (the mean of its four neighbours less itself); RISE:
# Σ_j w (∇Ī · (d_j − d̄))² as b has it; KNOWN: the freedom of nodes with a gradient
# (NumPy's integers: each of Python's is a type of its own to Numba, which compiles anew for it what it is passed to)
CHANNELS = 11
SCORE, FREEDOM, MEAN, STEEP, STEEP_SCORE, STEEP_COST, BENT, STEEP_INNER, STEEP_NEXT, RISE, KNOWN = map(
    np.int64, range(CHANNELS)
)
CHANNEL_ROWS = (WX, W2, WI, GX, WY, GY, GB, GII, GIB, WXX, WXY)  # the sums that make room for them


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def score(image, lenses, overlay, nodes, window, workspace, out):  # type: ignore[no-untyped-def]
    """At one rung: window sums of the channels at ``nodes`` (:class:`SampleGrid`) → ``out`` (ny, nx, CHANNELS)."""
    samples = _with_margin(nodes, window + 1)  # one more sample to each side for central differences
    accumulate(image, lenses, overlay, samples, workspace)
    _node_values(workspace.work, samples.nx * samples.ny, np.float32(0.5 / (nodes.step * overlay.slope)))
    _window_sums(workspace.work, samples.nx, nodes, 2 * window + 1, out)


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _with_margin(nodes, margin):  # type: ignore[no-untyped-def]
    """``margin`` more nodes to each side."""
    beside, more = margin * nodes.step, 2 * margin
    return SampleGrid(nodes.x0 - beside, nodes.y0 - beside, nodes.step, nodes.nx + more, nodes.ny + more)


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _window_sums(work, mx, nodes, side, out):  # type: ignore[no-untyped-def]
    """Every channel down the columns and then along the rows, in loops over whole blocks (row ends are waste)."""
    size = np.uint64
    padded = whole_lanes(mx * nodes.ny)
    below = size(mx)
    for channel in range(CHANNELS):
        first = CHANNEL_ROWS[channel] + size(PAD + mx)
        if side == USUAL_SIDE:  # one pass each
            r0, r1, r2 = first, first + below, first + size(2) * below
            r3, r4 = first + size(3) * below, first + size(4) * below
            for t in range(padded):
                k = size(t)
                work[k + DOWN] = (work[k + r0] + work[k + r1]) + (work[k + r2] + work[k + r3]) + work[k + r4]
            for t in range(padded):
                k = size(t) + DOWN
                c1, c2, c3 = work[k + NEXT], work[k + size(2)], work[k + size(3)]
                work[size(t) + ALONG] = (c1 + c2) + (c3 + work[k + size(4)]) + work[k + size(5)]
        else:
            for t in range(padded):
                work[size(t) + DOWN] = work[size(t) + first]
                work[size(t) + ALONG] = np.float32(0.0)
            for row in range(1, side):
                start = first + size(row) * below
                for t in range(padded):
                    work[size(t) + DOWN] += work[size(t) + start]
            for col in range(1, side + 1):
                start = DOWN + size(col)
                for t in range(padded):
                    work[size(t) + ALONG] += work[size(t) + start]
        for row in range(nodes.ny):
            for col in range(nodes.nx):
                out[row, col, channel] = work[size(row * mx + col) + ALONG]


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _node_values(work, count, factor):  # type: ignore[no-untyped-def]
    """Sums over lenses → the channels of :func:`score`, each in the place of a sum that is not needed any more."""
    tiny, nothing, share = np.float32(LEAST_WEIGHT), np.float32(0.0), np.float32(GRADIENT_SHARE)
    padded = whole_lanes(count)
    for t in range(PAD, PAD + padded):
        p = np.uint64(t)
        weight = work[p + W]
        total = max(weight, tiny)
        mean = work[p + WI] / total
        work[p + WIX] -= work[p + WX] * mean
        work[p + WIY] -= work[p + WY] * mean
        work[p + WII] -= work[p + WI] * mean
        work[p + W2] = weight - work[p + W2] / total
        work[p + WI] = mean
    for t in range(PAD, PAD + padded):
        p = np.uint64(t)
        with_gradient = work[p + G]
        known = with_gradient > share * work[p + W]
        per = np.float32(1.0) / max(with_gradient, tiny) if known else nothing
        gx, gy = work[p + GX] * per, work[p + GY] * per
        steep = gx * gx + gy * gy
        slant = factor * (gx * work[p + WIX] + gy * work[p + WIY])
        sum_x, sum_y, per_weight = work[p + WX], work[p + WY], np.float32(1.0) / max(work[p + W], tiny)
        spread_x = work[p + WXX] - sum_x * sum_x * per_weight
        spread_xy = work[p + WXY] - sum_x * sum_y * per_weight
        spread_y = work[p + WYY] - sum_y * sum_y * per_weight
        rise = gx * (gx * spread_x + np.float32(2.0) * gy * spread_xy) + gy * gy * spread_y
        work[p + WXX] = factor * factor * rise
        work[p + WXY] = work[p + W2] if known else nothing
        work[p + WX] = slant
        work[p + WY] = steep * slant
        work[p + GX] = steep * work[p + W2]
        work[p + GY] = steep * work[p + WII]
        work[p + G], work[p + WIX] = per, steep
    for t in range(PAD, PAD + padded):
        p = np.uint64(t)
        per, steep = work[p + G], work[p + WIX]
        total, bend = work[p + GI], work[p + GB]
        mean, mean_bend = total * per, bend * per
        work[p + GII] = steep * (work[p + GII] - total * mean)
        work[p + GIB] = steep * (work[p + GIB] - bend * mean)
        work[p + GB] = work[p + W2] * mean_bend * mean_bend
