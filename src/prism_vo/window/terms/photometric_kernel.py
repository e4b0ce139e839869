# SPDX-License-Identifier: Apache-2.0
"""The kernel of the photometric residuals (docs/method.md, eq. 9).

    r = (I_j[x_j] − b_j) − e_ji (I_i[x_i] − b_i),      e_ji = (t_j/t_i) exp(a_j − a_i)

over an 8-pixel pattern of the host keyframe i and its warp in a target keyframe j. Its slow twin is in the tests.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Integers
from prism_vo.compiled import njit
from prism_vo.points.pattern import NONE
from prism_vo.window.keyframe import BLOCK
from prism_vo.window.terms.photometric_chunk import (
    CHUNK,
    PIXELS,
    SIZE,
    add_to_pair,
    add_to_points,
    differentiate,
    gather,
    judge,
    look_up,
    project,
    weigh,
)


class Patterns(NamedTuple):
    """Columns of N points that the kernel reads."""

    host: Integers
    u: Floats
    v: Floats
    inv_depth: Array
    color: Floats  # (N, 8)
    weight: Floats  # (N, 8)


class Limits(NamedTuple):
    """How much a residual may count."""

    huber: np.float32  # grey levels
    outlier_energy: Floats  # (K,): a target's residual that costs more is an outlier


class Found(NamedTuple):
    """What becomes of each residual, in and out."""

    status: NDArray[np.int8]  # (N, K): which residuals exist → IN / OUTLIER / OUTSIDE
    energy: Floats  # (N, K): what a residual costs that is out of view → its energy


class Sums(NamedTuple):
    """Sums that the kernel adds to; those of points have no rows where nobody asks for them."""

    h_pair: Array  # (K, K, 8, 8) of relative pose and brightness of each pair
    b_pair: Array  # (K, K, 8)
    h_cross: Array  # (N, 8K or more)
    h_points: Array  # (N,)
    b_points: Array  # (N,)

    @classmethod
    def zeros(cls, frames: int, h_cross: Array) -> Sums:
        """Room for K = ``frames`` keyframes and the points of ``h_cross``."""
        pairs = (frames, frames, BLOCK)
        count = len(h_cross)
        return cls(np.zeros((*pairs, BLOCK)), np.zeros(pairs), h_cross, np.zeros(count), np.zeros(count))

    @classmethod
    def of_poses(cls, frames: int) -> Sums:
        """Room for what pairs of keyframes need, and for no points."""
        return cls.zeros(frames, np.zeros((0, 0)))


@njit(nogil=True, cache=True, inline="always")
def _by_host(host, frames):  # type: ignore[no-untyped-def]
    """Points in the order of their hosts, and where those of each begin."""
    begin = np.zeros(frames + 1, np.int64)
    for n in range(len(host)):
        begin[host[n] + 1] += 1
    for i in range(frames):
        begin[i + 1] += begin[i]
    order, filled = np.empty(len(host), np.int64), begin[:-1].copy()
    for n in range(len(host)):
        order[filled[host[n]]] = n
        filled[host[n]] += 1
    return order, begin


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def accumulate_residuals(images, slot, intrinsics, now, first, points, limits, found, sums):  # type: ignore[no-untyped-def]
    """Accumulate JᵀWJ and JᵀWr of all photometric residuals; returns the total (limited, Huber) energy.

    ``images`` (S, h, w) float32: of each slot; ``slot`` (K,): window position → slot;
    ``now``, ``first``: PairGeometry at the current state and at first estimates. Image gradients are taken at the
    current state, geometry at the centre of the pattern at first estimates. Pair after pair of keyframes, in chunks
    that go through short loops: all but the look-up in the image vectorise.
    """
    height, width, frames = images.shape[1], images.shape[2], len(slot)
    planes = images.reshape(images.shape[0], height * width)
    order, begin = _by_host(points.host, frames)
    some = np.empty(CHUNK, np.int64)
    c, at, total = np.zeros(SIZE, np.float32), np.empty(PIXELS * CHUNK, np.int32), 0.0
    rows = c.reshape(SIZE // CHUNK, CHUNK)
    for j in range(frames):
        flat = planes[slot[j]]
        for i in range(frames):
            count = 0
            for place in range(begin[i], begin[i + 1]):
                if i != j and found.status[order[place], j] != NONE:
                    some[count] = order[place]
                    count += 1
                if count == 0 or (count < CHUNK and place + 1 < begin[i + 1]):
                    continue
                which = some[:count]
                gather(points, intrinsics, which, c)
                project(now.rotation[i, j], now.translation[i, j], intrinsics, width, height, at, c)
                look_up(flat, width, count, at, c)
                weigh(now.brightness[i, j], first.brightness[i, j], limits.huber, c)
                total += judge(found, limits.outlier_energy[j], which, j, c)
                differentiate(first.rotation[i, j], first.translation[i, j], intrinsics.focal, c)
                add_to_pair(sums.h_pair[i, j], sums.b_pair[i, j], rows)
                if len(sums.h_points) > 0:
                    add_to_points(i, j, first.adjoint[i, j], first.brightness[i, j, 0], which, sums, c)
                count = 0
    return total
