# SPDX-License-Identifier: Apache-2.0
"""The lattice that goes best through the offsets of the zones, and how certain it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array
from prism_vo.calibrate.grid import Grid, GridUncertainError
from prism_vo.calibrate.zones import HUBER, MAD_TO_SIGMA, PASSES, Zones

NEIGHBOURS = 2  # zones a side that are averaged to see whether neighbouring zones err alike
FEWEST_ZONES = 3  # of known ones: fewer do not fix shift, turn and stretch with a residual to spare
SMALLEST_SIGMA = (
    0.01  # px: rims sampled by whole pixels leave about as much in a zone of noise-free white images
)


@dataclass(frozen=True)
class LatticeFit:
    """``offset + change @ (p − about)`` is the correction at p; ``parameters`` are what ``covariance`` speaks of.

    Parameters: shift x, shift y, stretch, turn; with shear also stretch difference and skew. ``excess`` is how much
    larger the residuals are than the zones' own standard deviations (1 where those hold); ``covariance`` includes it.
    """

    offset: Array  # (2,)
    change: Array  # (2, 2)
    about: Array  # (2,)
    covariance: Array  # (P, P)
    residual: Array  # (Z, 2): NaN where a zone shows nothing
    excess: float

    def centre_sigma(self, points: Array) -> Array:
        """Standard deviation (N,) of the corrected centres at points (N, 2), both axes together."""
        design = _design(np.asarray(points, np.float64) - self.about, len(self.covariance))
        variance = np.einsum("nap,pq,naq->n", design, self.covariance, design)
        return np.asarray(np.sqrt(variance), np.float64)


def fit_lattice(zones: Zones, shear: bool = False) -> LatticeFit:
    """Robust weighted fit of a shift, a turn and a stretch (with ``shear``: any affine change)."""
    known = zones.known
    count = 6 if shear else 4
    if known.sum() < FEWEST_ZONES:
        raise GridUncertainError(
            "The micro-lens grid shows in too few parts of the images; give evenly lit or more images."
        )
    points, offset = zones.centre[known], zones.offset[known]
    sigma = np.maximum(zones.sigma[known], SMALLEST_SIGMA)
    about = points.mean(0)
    design = _design(points - about, count).reshape(-1, count)
    values, spread = offset.ravel(), sigma.ravel()
    weight = np.ones_like(spread)
    for _ in range(PASSES):
        scaled = design * (np.sqrt(weight) / spread)[:, None]
        normal = scaled.T @ scaled + 1e-12 * np.eye(count)
        answer = np.linalg.solve(normal, scaled.T @ (values * np.sqrt(weight) / spread))
        ratio = (values - design @ answer) / spread
        freedom = max(len(values) - count, 1)
        excess = max(1.0, MAD_TO_SIGMA * float(np.median(np.abs(ratio))) * np.sqrt(len(values) / freedom))
        weight = 1.0 / np.maximum(np.abs(ratio) / (HUBER * excess), 1.0)
    residual = np.full(zones.offset.shape, np.nan)
    residual[known] = (values - design @ answer).reshape(-1, 2)
    shift, change = _change(np.asarray(answer, np.float64))
    excess = max(excess, _excess_of_neighbours(zones, residual, count))
    return LatticeFit(shift, change, about, np.linalg.inv(normal) * excess**2, residual, excess)


def _excess_of_neighbours(zones: Zones, residual: Array, parameters: int) -> float:
    """How much more the means of neighbouring zones scatter than they would if zones erred independently.

    Neighbours see the same content, and a lattice is fitted to all: what neighbours share counts in full.
    """
    rows, columns = zones.shape
    row, column = np.divmod(np.arange(rows * columns), columns)
    block = (row // NEIGHBOURS) * columns + column // NEIGHBOURS
    known = zones.known
    weight = np.where(known[:, None], 1.0 / np.maximum(zones.sigma, SMALLEST_SIGMA) ** 2, 0.0)
    ratios = []
    for axis in range(2):
        total = np.bincount(block, weight[:, axis])
        mean = np.bincount(block, weight[:, axis] * np.nan_to_num(residual[:, axis]))
        ratios.append(mean[total > 0] / np.sqrt(total[total > 0]))
    ratio = np.concatenate(ratios)
    if len(ratio) <= 2 * parameters:
        return 1.0
    clipped = np.minimum(np.abs(ratio), HUBER * 2.0 * MAD_TO_SIGMA * np.median(np.abs(ratio)) + 1e-9)
    return float(np.sqrt((clipped**2).sum() / (len(ratio) - parameters)))


def _design(points: Array, count: int) -> Array:
    """Derivative (N, 2, P) of the correction at points about the centre by the parameters."""
    x, y = points[:, 0], points[:, 1]
    one, zero = np.ones_like(x), np.zeros_like(x)
    in_x, in_y = [one, zero, x, -y, x, y], [zero, one, y, x, -y, x]
    return np.stack([np.stack(in_x[:count], -1), np.stack(in_y[:count], -1)], 1)


def _change(answer: Array) -> tuple[Array, Array]:
    stretch, turn = answer[2:4]
    difference, skew = answer[4:6] if len(answer) == 6 else (0.0, 0.0)
    change = np.array([[stretch + difference, skew - turn], [skew + turn, stretch - difference]])
    return answer[:2].copy(), change


def corrected(grid: Grid, fit: LatticeFit) -> Grid:
    """The grid after the correction."""
    return grid.moved(fit.offset, fit.change, fit.about)
