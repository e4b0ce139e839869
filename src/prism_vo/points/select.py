# SPDX-License-Identifier: Apache-2.0
"""Whose plenoptic depth is trusted, and which of the spread pixels become candidates (docs/method.md, section 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Integers, Mask
from prism_vo.compiled import njit
from prism_vo.config import SelectConfig
from prism_vo.optics.camera import FocusedView
from prism_vo.points.neighbours import count_near, nearest
from prism_vo.points.records import DEPTH_NONE, DEPTH_UNCERTAIN, DEPTH_USED
from prism_vo.types import PointDepth

MOST_AVERAGED = 40  # neighbours, at the most
WANTED_RELATIVE_SIGMA = 0.03  # of depth; averaging goes on until it would be reached
AGREE_SIGMAS = 2.5  # neighbours further apart lie on another surface
NEIGHBOURS_SHARE = 2.0  # matching windows of neighbours overlap: their errors are partly the same


def classify(depth: PointDepth, config: SelectConfig) -> NDArray[np.int8]:
    """Depth used / known but too uncertain / none.

    Far depths are used like near ones, with their σ. The percentile that eq. 7 of the paper cuts them off at keeps,
    of the points about the cutoff, those whose noise points towards the camera: far points seem nearer than they are,
    which looks like a focus moved by a micrometre and costs up to 4 % of scale in a street.
    """
    kind = np.full(len(depth.valid), DEPTH_NONE, np.int8)
    kind[depth.valid] = DEPTH_UNCERTAIN
    kind[depth.valid & (depth.variance < config.largest_sigma**2)] = DEPTH_USED
    return kind


def smooth_depth(view: FocusedView, pixels: Integers, depth: PointDepth) -> tuple[Array, Array]:
    """Inverse virtual depth and its variance, averaged with neighbours that agree, where single ones are too coarse.

    Frames are tracked against these: with noisy depths a translation fits worse than the rotation that looks like it,
    so the camera would seem to turn instead of move. ρ_v is affine across a plane, so a plane keeps its slant.
    """
    rho, variance = depth.inv_virtual_depth.astype(np.float64), depth.variance.astype(np.float64)
    valid = np.flatnonzero(depth.valid)
    if len(valid) <= MOST_AVERAGED:
        return rho, variance
    inv_depth = np.maximum(view.inv_depth_from_virtual(rho[valid]), 1e-2)
    relative = np.sqrt(variance[valid]) / np.abs(view.inv_virtual_depth_slope(inv_depth)) / inv_depth
    wanted = np.clip((relative / WANTED_RELATIVE_SIGMA) ** 2, 1.0, MOST_AVERAGED)
    coarse, rho_out, variance_out = valid[wanted > 1.0], rho.copy(), variance.copy()
    if len(coarse) == 0:
        return rho_out, variance_out
    which = np.flatnonzero(wanted > 1.0)
    near = nearest(pixels[valid], which, np.ceil(wanted[which]).astype(np.int64))
    _average(rho, variance, valid, coarse, near, rho_out, variance_out)
    return rho_out, variance_out


@njit(nogil=True, cache=True)
def _average(rho, variance, valid, coarse, near, rho_out, variance_out):  # type: ignore[no-untyped-def]
    """Mean of each coarse depth and of its nearest neighbours that agree; ``near`` (M, most): among the valid ones."""
    for m in range(len(coarse)):
        n, weight, total, agreeing = coarse[m], 0.0, 0.0, 0
        for k in range(near.shape[1]):
            if near[m, k] < 0:
                break
            other = valid[near[m, k]]
            gap = rho[other] - rho[n]
            if gap * gap < AGREE_SIGMAS**2 * (variance[other] + variance[n]):
                weight += 1.0 / variance[other]
                total += rho[other] / variance[other]
                agreeing += 1
        rho_out[n] = total / weight
        if agreeing > 1:
            variance_out[n] = NEIGHBOURS_SHARE / weight


def prefer_depth(
    image: Floats, pixels: Integers, kind: NDArray[np.int8], wanted: int, bonus: float
) -> NDArray[np.intp]:
    """Thin an over-complete selection: in each cell the pixel with the largest gradient · w_d stays."""
    x, y = pixels.T
    magnitude = 0.5 * np.hypot(image[y, x + 1] - image[y, x - 1], image[y + 1, x] - image[y - 1, x])
    score = magnitude * np.where(kind == DEPTH_USED, bonus, 1.0)
    cell = max(np.sqrt(image.shape[0] * image.shape[1] / wanted), 2.0)
    order = np.argsort(-score, kind="stable")
    keys = (pixels[:, 1] / cell).astype(np.int64) * 65536 + (pixels[:, 0] / cell).astype(np.int64)
    _, first = np.unique(keys[order], return_index=True)
    best = np.sort(order[first])
    if len(best) >= wanted:
        return best
    rest = order[~np.isin(order, best)][: wanted - len(best)]
    return np.sort(np.concatenate([best, rest]))


def independent_information(pixels: Integers, depth: PointDepth, used: Mask, window: int) -> Array:
    """1/σ² of each used depth, shared by those in one matching window: together they are one measurement."""
    info = np.zeros(len(used))
    index = np.flatnonzero(used)
    if len(index) == 0:
        return info
    xy = pixels[index]
    counts = count_near(xy, window // 2)
    info[index] = 1.0 / (depth.variance[index].astype(np.float64) * counts)
    return info
