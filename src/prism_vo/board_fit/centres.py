# SPDX-License-Identifier: Apache-2.0
"""The regular grid through micro-image centres that are numbered by column and row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array
from prism_vo.calibrate.grid import Grid, Layout
from prism_vo.errors import InputError

FEWEST = 12
LARGEST_MISS = 0.15  # of the pitch, RMS: beyond it the numbers do not belong to the centres


@dataclass(frozen=True)
class CentresFit:
    """A grid and how the numbered lenses lie on it."""

    grid: Grid
    shifted: float  # columns by which every second row stands aside: +½, −½, or 0 (rectangular)
    rms: float  # raw px, both axes together
    affine_rms: float  # what any sheared and stretched grid would leave

    def cells(self, numbers: Array) -> Array:
        """Lattice coordinates (N, 2) of lenses by column and row (N, 2)."""
        return _cells(np.asarray(numbers, np.float64), self.shifted)

    def points(self, numbers: Array) -> Array:
        """Centres (N, 2) of lenses by column and row (N, 2), raw px."""
        return self.grid.points(self.cells(numbers))


def fit_centres(numbers: Array, places: Array, name: str) -> CentresFit:
    """Pitch, rotation and origin from columns and rows (N, 2) and centres (N, 2); ``name`` is for the error."""
    if len(numbers) < FEWEST:
        raise InputError(f"{name}: {len(numbers)} centres of micro-images are too few for a grid.")
    found = [_fit(numbers, places, shifted) for shifted in (0.5, -0.5, 0.0)]
    best = min(found, key=lambda fit: fit.rms)
    if not best.rms < LARGEST_MISS * best.grid.pitch:
        raise InputError(
            f"{name}: columns and rows of the lenses do not lie on a hexagonal or rectangular grid; give the centres "
            "as k, l, u, v with k along the rows."
        )
    return best


def _cells(numbers: Array, shifted: float) -> Array:
    """Rows of a hexagonal grid lean by half a column each; every second row is numbered half a column aside."""
    column, row = numbers.T
    if shifted == 0.0:
        return numbers
    return np.stack([column + shifted * np.mod(row, 2) - 0.5 * row, row], -1)


def _fit(numbers: Array, places: Array, shifted: float) -> CentresFit:
    """Least squares of a turn, a stretch and a shift."""
    layout: Layout = "rectangular" if shifted == 0.0 else "hexagonal"
    cells = _cells(np.asarray(numbers, np.float64), shifted)
    unit = Grid.regular(layout, 1.0).points(cells)
    about, middle = unit.mean(0), places.mean(0)
    away, seen = unit - about, places - middle
    size = float((away**2).sum())
    along = float((away * seen).sum()) / size
    across = float((away[:, 0] * seen[:, 1] - away[:, 1] * seen[:, 0]).sum()) / size
    pitch, angle = float(np.hypot(along, across)), float(np.arctan2(across, along))
    grid = Grid.regular(layout, max(pitch, 1e-6), angle)
    origin = (places - grid.points(cells)).mean(0)
    grid = Grid(layout, grid.axes, origin)
    design = np.column_stack([cells, np.ones(len(cells))])
    left = places - design @ np.linalg.lstsq(design, places, rcond=None)[0]
    return CentresFit(grid, shifted, _rms(places - grid.points(cells)), _rms(left))


def _rms(left: Array) -> float:
    return float(np.sqrt((left**2).sum(1).mean()))
