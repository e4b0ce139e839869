# SPDX-License-Identifier: Apache-2.0
"""Points with three numbers each, eliminated one after the other: what a point couples is small and dense.

A kernel of its own, in one order: a threaded matrix product would not give the same bytes on every machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.batch.numbers import COUNT
from prism_vo.compiled import njit

POSE, POINT = 6, 3


class Rows(NamedTuple):
    """Weighted residuals and derivatives of N observations, sorted by point; point p has rows first[p]:first[p+1]."""

    value: Array  # (N, 3)
    by_camera: Array  # (N, 3, COUNT)
    by_pose: Array  # (N, 3, 6)
    by_point: Array  # (N, 3, 3)
    keyframe: NDArray[np.intp]  # (N,)
    first: NDArray[np.intp]  # (P + 1,)


class Coupling(NamedTuple):
    """Derivatives between a point and what is no point."""

    camera: Array  # (P, 3, COUNT)
    pose: Array  # (N, 3, 6), with the keyframe of each observation


@njit(nogil=True, cache=True, error_model="numpy")
def accumulate(rows, h, b, h_points, b_points, by_camera, by_pose):  # type: ignore[no-untyped-def]
    """Add all rows to the normal equations; everything given is zero before."""
    for p in range(len(rows.first) - 1):
        for n in range(rows.first[p], rows.first[p + 1]):
            at = COUNT + POSE * rows.keyframe[n]
            for r in range(3):
                camera, pose, point = rows.by_camera[n, r], rows.by_pose[n, r], rows.by_point[n, r]
                value = rows.value[n, r]
                for i in range(COUNT):
                    b[i] += camera[i] * value
                    for j in range(COUNT):
                        h[i, j] += camera[i] * camera[j]
                    for j in range(POSE):
                        h[i, at + j] += camera[i] * pose[j]
                for i in range(POSE):
                    b[at + i] += pose[i] * value
                    for j in range(POSE):
                        h[at + i, at + j] += pose[i] * pose[j]
                for i in range(POINT):
                    b_points[p, i] += point[i] * value
                    for j in range(POINT):
                        h_points[p, i, j] += point[i] * point[j]
                    for j in range(COUNT):
                        by_camera[p, i, j] += point[i] * camera[j]
                    for j in range(POSE):
                        by_pose[n, i, j] += point[i] * pose[j]
    for i in range(COUNT):
        for j in range(COUNT, h.shape[0]):
            h[j, i] = h[i, j]


@njit(nogil=True, cache=True, error_model="numpy")
def eliminate(rows, coupling, inverse, b_points, h, b):  # type: ignore[no-untyped-def]
    """Take Wᵀ V⁻¹ W and Wᵀ V⁻¹ b_p of every point off ``h`` and ``b``; ``inverse`` (P, 3, 3) is V⁻¹."""
    weighted = np.empty((POINT, COUNT))
    ahead = np.empty((POINT, POSE))
    for p in range(len(rows.first) - 1):
        v, w = inverse[p], coupling.camera[p]
        for i in range(POINT):
            for j in range(COUNT):
                weighted[i, j] = v[i, 0] * w[0, j] + v[i, 1] * w[1, j] + v[i, 2] * w[2, j]
        for i in range(COUNT):
            b[i] -= (
                weighted[0, i] * b_points[p, 0]
                + weighted[1, i] * b_points[p, 1]
                + weighted[2, i] * b_points[p, 2]
            )
            for j in range(COUNT):
                h[i, j] -= weighted[0, i] * w[0, j] + weighted[1, i] * w[1, j] + weighted[2, i] * w[2, j]
        for n in range(rows.first[p], rows.first[p + 1]):
            at, own = COUNT + POSE * rows.keyframe[n], coupling.pose[n]
            for i in range(POINT):
                for j in range(POSE):
                    ahead[i, j] = v[i, 0] * own[0, j] + v[i, 1] * own[1, j] + v[i, 2] * own[2, j]
            for i in range(POSE):
                b[at + i] -= (
                    ahead[0, i] * b_points[p, 0] + ahead[1, i] * b_points[p, 1] + ahead[2, i] * b_points[p, 2]
                )
                for j in range(COUNT):
                    h[at + i, j] -= ahead[0, i] * w[0, j] + ahead[1, i] * w[1, j] + ahead[2, i] * w[2, j]
            for m in range(rows.first[p], rows.first[p + 1]):
                to, other = COUNT + POSE * rows.keyframe[m], coupling.pose[m]
                for i in range(POSE):
                    for j in range(POSE):
                        h[at + i, to + j] -= (
                            ahead[0, i] * other[0, j] + ahead[1, i] * other[1, j] + ahead[2, i] * other[2, j]
                        )
    for i in range(COUNT):
        for j in range(COUNT, h.shape[0]):
            h[i, j] = h[j, i]


def inverted_blocks(blocks: Array, damping: float) -> Array:
    """(V + μ diag V)⁻¹ of symmetric 3×3 blocks (P, 3, 3); zero where one knows nothing."""
    diagonal = np.einsum("pii->pi", blocks)
    known = (diagonal > 0).all(1)
    scale = np.where(known[:, None], 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
    unit = blocks * scale[:, :, None] * scale[:, None, :]
    unit[:, range(POINT), range(POINT)] = 1.0 + damping + LEAST_PIVOT
    return np.asarray(np.linalg.inv(unit) * scale[:, :, None] * scale[:, None, :])


LEAST_PIVOT = 1e-12  # a point seen once has no depth from parallax; it keeps the one it has
