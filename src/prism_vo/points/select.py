# SPDX-License-Identifier: Apache-2.0
"""Whose plenoptic depth is trusted, and which of the spread pixels become candidates (docs/method.md, section 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Integers, Mask
from prism_vo.compiled import njit
from prism_vo.config import SelectConfig
from prism_vo.optics.camera import FocusedView
from prism_vo.points.neighbours import about_as_many, count_near, nearest
from prism_vo.points.records import DEPTH_NONE, DEPTH_UNCERTAIN, DEPTH_USED
from prism_vo.types import PointDepth

MOST_AVERAGED = 500  # neighbours, at the most
FEW = 80  # the nearest of which are taken; of more, those in a circle
WANTED_RELATIVE_SIGMA = 0.03  # of depth; averaging goes on until it would be reached
AGREE_SIGMAS = 2.5  # neighbours further apart lie on another surface
LEAST_WINDOWS = 2  # pixels that share a matching window, at the least: windows beside each other overlap
# of the variance of a single depth, below which that of a mean is not concluded: a surface may have a relief below the
# noise. With less a camera that goes aside before a bare wall turns, with more searches along rays end at other texture
# (a parking deck), and without any limit streets come out 1 % too short
LEAST_SPREAD = 0.35


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


def smooth_depth(view: FocusedView, pixels: Integers, depth: PointDepth, window: int) -> tuple[Array, Array]:
    """Inverse virtual depth and its variance, averaged with neighbours that agree, where single ones are too coarse.

    Frames are tracked against these: with noisy depths a translation fits worse than the rotation that looks like it,
    so the camera would seem to turn instead of move. Neighbours in one matching ``window`` (px) have one error in
    common: means over few windows keep a relief, and a wall before which the camera goes aside is one it turns before.
    ρ_v is affine across a plane, so a plane keeps its slant.
    """
    rho, variance = depth.inv_virtual_depth.astype(np.float64), depth.variance.astype(np.float64)
    valid = np.flatnonzero(depth.valid)
    if len(valid) <= FEW:
        return rho, variance
    inv_depth = np.maximum(view.inv_depth_from_virtual(rho[valid]), 1e-2)
    relative = np.sqrt(variance[valid]) / np.abs(view.inv_virtual_depth_slope(inv_depth)) / inv_depth
    windows = (relative / WANTED_RELATIVE_SIGMA) ** 2
    which = np.flatnonzero(windows > 1.0)
    if len(which) == 0:
        return rho, variance
    in_window = np.asarray(count_near(pixels[valid], window // 2)[which], np.float64)
    wanted = np.ceil(np.clip(windows[which] * in_window, 1.0, MOST_AVERAGED)).astype(np.int64)
    mean, spread = rho.copy(), variance.copy()
    alike = np.maximum(in_window, LEAST_WINDOWS)
    for some, find in ((wanted <= FEW, nearest), (wanted > FEW, about_as_many)):
        coarse = valid[which[some]]
        near = find(pixels[valid], pixels[coarse], wanted[some])
        _average(rho, variance, valid, coarse, near, alike[some], mean, spread)
    return mean, spread


@njit(nogil=True, cache=True)
def _average(rho, variance, valid, coarse, near, alike, mean, spread):  # type: ignore[no-untyped-def]
    """Mean of each coarse depth and of its nearest neighbours that agree; ``near`` (M, most): among the valid ones.

    ``alike`` (M,): pixels whose errors count as one.
    """
    for m in range(len(coarse)):
        n, weight, total = coarse[m], 0.0, 0.0
        for k in range(near.shape[1]):
            if near[m, k] < 0:
                break
            other = valid[near[m, k]]
            gap = rho[other] - rho[n]
            if gap * gap < AGREE_SIGMAS**2 * (variance[other] + variance[n]):
                weight += 1.0 / variance[other]
                total += rho[other] / variance[other]
        mean[n] = total / weight
        spread[n] = min(max(alike[m] / weight, LEAST_SPREAD * variance[n]), variance[n])


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
