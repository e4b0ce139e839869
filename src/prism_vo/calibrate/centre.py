# SPDX-License-Identifier: Apache-2.0
"""Which point of a cell is the centre of a micro-image, and whether a lattice has one lens in a cell."""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Array, Integers
from prism_vo.calibrate.cell import fold, symmetric
from prism_vo.calibrate.features import FeatureMap
from prism_vo.calibrate.grid import Grid, Layout

BINS = 24  # a side of the cell
MIDDLE_SHARE = 0.3  # of the pitch: radius of what counts as the middle of a micro-image
COARSER: dict[Layout, tuple[tuple[tuple[int, int], tuple[int, int]], ...]] = {
    # axes of the next coarser lattices of the same layout, in axes of the lattice
    "hexagonal": (((1, 1), (-1, 2)), ((2, 0), (0, 2))),
    "rectangular": (((1, 1), (-1, 1)), ((2, 0), (0, 2))),
}
RIVAL_SHARE = 0.6  # of the best symmetry: points with at least this much may be centres


def centre_grid(feature: FeatureMap, grid: Grid) -> Grid:
    """The grid moved, by less than a cell, to where the cell has the symmetry of the grid about a bright middle.

    A hexagonal cell has a six-fold centre only in the micro-image. A rectangular one has another in the gap, and
    there the brightness (or, with vignetting removed, the lack of edges) decides.
    """
    cell = fold(feature.values, grid, BINS)
    cell -= cell.mean()
    symmetry, middle = np.empty((BINS, BINS)), np.empty((BINS, BINS))
    disc = _middle_disc(grid, BINS, np.zeros(2), MIDDLE_SHARE * grid.pitch)
    for j in range(BINS):
        for i in range(BINS):
            moved = symmetric(np.roll(cell, (-j, -i), (0, 1)), grid.layout)
            symmetry[j, i] = (moved**2).sum()
            middle[j, i] = (moved * disc).sum() / disc.sum()
    score = np.where(symmetry >= RIVAL_SHARE * symmetry.max(), symmetry, -np.inf)
    if grid.layout == "rectangular":
        sign = 1.0 if feature.name == "light" else -1.0
        score = np.where(sign * middle > 0, score, -np.inf)
        if not np.isfinite(score).any():
            return grid
    j, i = np.unravel_index(int(score.argmax()), score.shape)
    steps = np.array([i, j]) / BINS
    return Grid(grid.layout, grid.axes, grid.points(steps - np.rint(steps)))


def explained_share(feature: FeatureMap, grid: Grid) -> float:
    """Share of the feature's variance that is the mean micro-image about the grid's centres."""
    cell = symmetric(fold(feature.values, grid, BINS), grid.layout)
    return float(cell.var() / max(float(feature.values.var()), 1e-12))


def lenses_alike(feature: FeatureMap, grid: Grid) -> bool:
    """Whether every lens, and not only every second or third, has a bright (for edges: a calm) middle.

    A lattice finer than the true one also puts centres on the gaps. Split into the classes of its coarser
    sub-lattices, some classes then have dark middles.
    """
    sign = 1.0 if feature.name == "light" else -1.0
    for steps in COARSER[grid.layout]:
        coarse = Grid(grid.layout, np.array(steps, np.float64) @ grid.axes, grid.origin)
        bins = 2 * BINS
        cell = fold(feature.values, coarse, bins)
        for lens in _classes(np.array(steps)):
            disc = _middle_disc(coarse, bins, coarse.cells(grid.points(lens)), MIDDLE_SHARE * grid.pitch)
            if sign * ((cell * disc).sum() / disc.sum() - cell.mean()) <= 0:
                return False
    return True


def _classes(steps: Integers) -> Array:
    """One lens (i, j) of each class of the sub-lattice with these axes."""
    inverse = np.linalg.inv(steps)
    seen: dict[tuple[int, int], tuple[int, int]] = {}
    count = round(abs(np.linalg.det(steps)))
    for i in range(count):
        for j in range(count):
            place = np.mod(np.rint(np.array([i, j]) @ inverse * count), count).astype(int)
            seen.setdefault((int(place[0]), int(place[1])), (i, j))
    return np.array(list(seen.values()), np.float64)


def _middle_disc(grid: Grid, bins: int, about: Array, radius: float) -> Array:
    """1 within ``radius`` pixels of the lattice coordinates ``about`` (2,), else 0: (bins, bins)."""
    jj, ii = np.mgrid[0:bins, 0:bins] / bins
    steps = np.stack([ii, jj], -1) - about
    steps -= np.rint(steps)
    distance = np.min(
        [np.linalg.norm((steps - (a, b)) @ grid.axes, axis=-1) for a in (-1, 0, 1) for b in (-1, 0, 1)], axis=0
    )
    return np.asarray(distance < radius, np.float64)
