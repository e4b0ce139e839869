# SPDX-License-Identifier: Apache-2.0
"""The plenoptic depth of one image as the start of the search: thinned to the grid, gaps filled from around them."""

from __future__ import annotations

import cv2
import numpy as np

from prism_vo.arrays import Array, Floats
from prism_vo.dense.records import Grid, Prior

LEVELS = 7  # of halvings: gaps up to so many pixels (2^7) are bridged
FILLED_SIGMA = 2.0  # a filled depth is so much less certain than those around it
TINY = 1e-12


def prior_of(inv_depth: Floats, sigma: Floats, grid: Grid) -> Prior:
    """Of inverse depths (h, w) with σ (inf where there is none): means weighted by 1/σ² where pixels are thinned.

    σ stays that of one measurement: neighbours are correlated.
    """
    information = np.where(np.isfinite(sigma), 1.0 / np.maximum(sigma, TINY) ** 2, 0.0)
    weighted = np.where(information > 0, inv_depth, 0.0) * information
    rows, columns = grid.shape
    if grid.step > 1:
        size = (grid.step, grid.step)
        information, weighted = (
            cv2.blur(a, size, borderType=cv2.BORDER_REPLICATE) for a in (information, weighted)
        )
    information, weighted = (a[:: grid.step, :: grid.step][:rows, :columns] for a in (information, weighted))
    q, coarse = _pull_push(weighted, information, LEVELS)
    known = information > 0
    mean = np.where(known, weighted / np.maximum(information, TINY), q)
    measured, filled = (1.0 / np.sqrt(np.maximum(i, TINY)) for i in (information, coarse))
    spread = np.where(known, measured, FILLED_SIGMA * filled)
    return Prior(mean.astype(np.float32), spread.astype(np.float32))


def _pull_push(weighted: Array, information: Array, levels: int) -> tuple[Array, Array]:
    """Values and information everywhere: where there is none, those of the next coarser level."""
    known = information > 0
    if levels == 0 or min(information.shape) < 2:
        total = information.sum()
        mean = weighted.sum() / total if total > 0 else 0.0
        filled = np.where(known, weighted / np.maximum(information, TINY), mean)
        return filled, np.where(known, information, information[known].mean() if known.any() else TINY)
    half = [_halved(a) for a in (weighted, information, known.astype(np.float64))]
    count = np.maximum(half[2], TINY)
    q, coarse = _pull_push(half[0] / count, half[1] / count * (half[2] > 0), levels - 1)
    q_up, coarse_up = (_doubled(a, information.shape) for a in (q, coarse))
    return (
        np.where(known, weighted / np.maximum(information, TINY), q_up),
        np.where(known, information, coarse_up),
    )


def _halved(image: Array) -> Array:
    rows, columns = image.shape
    padded = cv2.copyMakeBorder(image, 0, rows % 2, 0, columns % 2, cv2.BORDER_CONSTANT, value=0.0)
    return padded.reshape(padded.shape[0] // 2, 2, padded.shape[1] // 2, 2).sum((1, 3))


def _doubled(image: Array, shape: tuple[int, ...]) -> Array:
    """Between the centres of what was halved; what was padded is cut off again."""
    size = 2 * image.shape[1], 2 * image.shape[0]
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_LINEAR)[: shape[0], : shape[1]])
