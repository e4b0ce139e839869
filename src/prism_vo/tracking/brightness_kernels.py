# SPDX-License-Identifier: Apache-2.0
"""Kernels of the brightness measurement: it is made three times a frame, of some thousand pixels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_vo.compiled import njit

TRIM = 3.0  # robust σ
ROBUST_SIGMA = 1.4826  # σ of normal numbers over the median of their sizes
LEAST_DEVIATION = 1e-3  # grey levels
ROUNDS = 4  # of fitting and trimming
LEAST_SEEN = 50  # reference pixels in view
NEAREST = 1e-3  # of the depth in the reference
FLAT = 1e-3  # grey²: product of the spreads of two images, of which one is flat
LEAST_SPREAD = 1.0  # grey levels of the reference, below which a gain means nothing


class PlaneNumbers(NamedTuple):
    """A pinhole image as these kernels take it."""

    focal: float
    cx: float
    cy: float
    right: float  # px from which on a place is out of view
    bottom: float
    margin: float  # px before which it is


@njit(nogil=True, cache=True)
def in_view(rays, inv_depth, pose, plane, x, y, depth, which):  # type: ignore[no-untyped-def]
    """Pixels (N,) that a frame at a pose shows: where, how much farther away than in the reference, and which they are.

    Returns how many; the rest of the arrays (N,) is not used.
    """
    count = 0
    for n in range(len(inv_depth)):
        a, b, c, q = rays[n, 0], rays[n, 1], rays[n, 2], inv_depth[n]
        px = a * pose[0, 0] + b * pose[0, 1] + c * pose[0, 2] + pose[0, 3] * q
        py = a * pose[1, 0] + b * pose[1, 1] + c * pose[1, 2] + pose[1, 3] * q
        pz = max(a * pose[2, 0] + b * pose[2, 1] + c * pose[2, 2] + pose[2, 3] * q, NEAREST)
        u, v = plane.focal * px / pz + plane.cx, plane.focal * py / pz + plane.cy
        if u >= plane.margin and u < plane.right and v >= plane.margin and v < plane.bottom:
            x[count], y[count], depth[count], which[count] = u, v, pz, n
            count += 1
    return count


@njit(nogil=True, cache=True)
def zone_sums(x, y, width, height, zones, a, b):  # type: ignore[no-untyped-def]
    """Rows of sums over the pixels (N,) of each of zones × zones parts of an image: their number, a, b, a², b², ab."""
    out = np.zeros((6, zones * zones))
    for n in range(len(x)):
        column = min(max(int(x[n] * zones / width), 0), zones - 1)
        row = min(max(int(y[n] * zones / height), 0), zones - 1)
        z = row * zones + column
        out[0, z] += 1.0
        out[1, z] += a[n]
        out[2, z] += b[n]
        out[3, z] += a[n] * a[n]
        out[4, z] += b[n] * b[n]
        out[5, z] += a[n] * b[n]
    return out


@njit(nogil=True, cache=True)
def correlation(a, b):  # type: ignore[no-untyped-def]
    """Pearson's r of numbers (N,); 0 where one of the two is flat."""
    count, mean_a, mean_b = len(a), 0.0, 0.0
    for n in range(count):
        mean_a += a[n]
        mean_b += b[n]
    mean_a, mean_b = mean_a / max(count, 1), mean_b / max(count, 1)
    aa, bb, ab = 0.0, 0.0, 0.0
    for n in range(count):
        aa += (a[n] - mean_a) ** 2
        bb += (b[n] - mean_b) ** 2
        ab += (a[n] - mean_a) * (b[n] - mean_b)
    spread = np.sqrt(aa * bb)
    return ab / spread if spread > FLAT * count else 0.0


@njit(nogil=True, cache=True)
def trimmed_axis(a, b, gain, offset):  # type: ignore[no-untyped-def]
    """Reduced major axis ``b ≈ gain · a + offset`` of the pixels (N,) that lie near it → (gain, offset, whether known).

    Begins with a gain and an offset; what is far from them is left out, then what is far from the new ones.
    """
    count = len(a)
    deviation, work, kept = np.empty(count), np.empty(count), np.zeros(count, np.bool_)
    for _ in range(ROUNDS):
        for n in range(count):
            deviation[n] = work[n] = b[n] - gain * a[n] - offset
        middle = _median(work)
        for n in range(count):
            deviation[n] = work[n] = abs(deviation[n] - middle)
        limit = TRIM * (ROBUST_SIGMA * _median(work) + LEAST_DEVIATION)
        same, number, mean_a, mean_b = True, 0, 0.0, 0.0
        for n in range(count):
            keep = deviation[n] < limit
            same = same and keep == kept[n]
            kept[n] = keep
            if keep:
                number += 1
                mean_a += a[n]
                mean_b += b[n]
        if same:
            break
        if number < LEAST_SEEN:
            return gain, offset, False
        mean_a, mean_b = mean_a / number, mean_b / number
        spread_a, spread_b = 0.0, 0.0
        for n in range(count):
            if kept[n]:
                spread_a += (a[n] - mean_a) ** 2
                spread_b += (b[n] - mean_b) ** 2
        if spread_a < LEAST_SPREAD**2 * number:
            return gain, offset, False
        gain = np.sqrt(spread_b / spread_a)
        offset = mean_b - gain * mean_a
    return gain, offset, True


@njit(nogil=True, cache=True)
def _median(values):  # type: ignore[no-untyped-def]
    """Of (N,), whose order changes; NaN if there are none. NumPy's takes Numba over a second to compile."""
    if len(values) == 0:
        return np.nan
    half = len(values) // 2
    low, high = 0, len(values) - 1
    while low < high:  # until all before ``half`` are not larger, all after it not smaller
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        low = low if half <= j else (i if half >= i else high)
        high = j if half <= j else high
    middle = values[half]
    if len(values) % 2 == 1:
        return middle
    below = values[0]
    for n in range(1, half):
        below = max(below, values[n])
    return (below + middle) / 2
