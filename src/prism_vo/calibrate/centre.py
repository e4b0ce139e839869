# SPDX-License-Identifier: Apache-2.0
"""Which point of a cell is the centre of a micro-image, when only the lattice is known."""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Array
from prism_vo.calibrate.cell import fold, symmetric
from prism_vo.calibrate.features import FeatureMap
from prism_vo.calibrate.grid import Grid

BINS = 24  # a side of the cell
MIDDLE_SHARE = 0.3  # of the pitch: radius of what counts as the middle of a micro-image


def centre_grid(feature: FeatureMap, grid: Grid) -> Grid:
    """The grid moved, by less than a cell, to where the cell has the symmetry of the grid about a bright middle.

    A hexagonal cell has a six-fold centre only in the micro-image. A rectangular one has another in the gap, and
    there the brightness (or, with vignetting removed, the lack of edges) decides.
    """
    cell = fold(feature.values, grid, BINS)
    cell -= cell.mean()
    disc = _middle_disc(grid)
    sign = 1.0 if feature.name == "light" else -1.0
    best, steps = -np.inf, np.zeros(2)
    for j in range(BINS):
        for i in range(BINS):
            moved = symmetric(np.roll(cell, (-j, -i), (0, 1)), grid.layout)
            symmetry = float((moved**2).sum())
            allowed = grid.layout == "hexagonal" or sign * float((moved * disc).sum()) > 0
            if allowed and symmetry > best:
                best, steps = symmetry, np.array([i, j]) / BINS
    return Grid(grid.layout, grid.axes, grid.points(steps - np.rint(steps)))


def _middle_disc(grid: Grid) -> Array:
    """1 in the middle of the cell about index 0, else 0: (BINS, BINS)."""
    jj, ii = np.mgrid[0:BINS, 0:BINS] / BINS
    steps = np.stack([ii, jj], -1)
    corners = [np.linalg.norm((steps - (a, b)) @ grid.axes, axis=-1) for a in (0, 1) for b in (0, 1)]
    return np.asarray(np.min(corners, axis=0) < MIDDLE_SHARE * grid.pitch, np.float64)
