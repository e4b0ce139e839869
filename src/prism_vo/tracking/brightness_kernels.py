# SPDX-License-Identifier: Apache-2.0
"""Kernels of the brightness measurement: it is made three times a frame, of some thousand pixels."""

from __future__ import annotations

import numpy as np

from prism_vo.compiled import njit

TRIM = 3.0  # robust σ
ROBUST_SIGMA = 1.4826  # σ of normal numbers over the median of their sizes
LEAST_DEVIATION = 1e-3  # grey levels
ROUNDS = 4  # of fitting and trimming
LEAST_SEEN = 50  # reference pixels in view
LEAST_SPREAD = 1.0  # grey levels of the reference, below which a gain means nothing


@njit(nogil=True, cache=True)
def zone_sums(zone, a, b, zones):  # type: ignore[no-untyped-def]
    """Rows of sums over the pixels (N,) of each zone: their number, a, b, a², b², ab → (6, zones)."""
    out = np.zeros((6, zones))
    for n in range(len(zone)):
        z = zone[n]
        out[0, z] += 1.0
        out[1, z] += a[n]
        out[2, z] += b[n]
        out[3, z] += a[n] * a[n]
        out[4, z] += b[n] * b[n]
        out[5, z] += a[n] * b[n]
    return out


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
