# SPDX-License-Identifier: Apache-2.0
"""Is a lattice the lattice of the lenses, or a multiple or a fraction of it?

A lattice too coarse explains as much as the true one; one too fine explains less. So the finest that explains
nearly all is the period of the picture. With three lens types that period holds three lenses, and the lattice of the
lenses explains less, but its micro-images are alike in shape; centres of a lattice too fine also lie on gaps, whose
surroundings look different.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.calibrate.cell import cell_bins, fold, fold_parts, symmetric
from prism_vo.calibrate.features import FeatureMap, FeatureName
from prism_vo.calibrate.grid import CLASS_COUNT, Grid, Layout
from prism_vo.calibrate.spectrum import LARGEST_PITCH
from prism_vo.calibrate.zones import ZONES

PATCH = 13  # samples a side of a micro-image whose shape is compared
NEARLY_ALL = (
    0.8  # of the largest explained share: a lattice that explains this much misses nothing of the period
)
MULTIPLES: dict[Layout, tuple[tuple[tuple[int, int], tuple[int, int]], ...]] = {
    # axes of the next coarser lattices of the same layout, in axes of the lattice, the finest first
    "hexagonal": (
        ((1, 1), (-1, 2)),
        ((2, 0), (0, 2)),
        ((2, 1), (-1, 3)),
        ((3, -1), (1, 2)),
        ((3, 0), (0, 3)),
    ),
    "rectangular": (
        ((1, 1), (-1, 1)),
        ((2, 0), (0, 2)),
        ((2, 1), (-1, 2)),
        ((2, -1), (1, 2)),
        ((3, 0), (0, 3)),
    ),
}
LEAST_SHARE: dict[FeatureName, float] = {
    # of the variance of the feature that must have the grid's period; grids showed at least 0.3 and 0.013,
    # the light of images with vignetting removed at most 0.002
    "light": 0.02,
    "edges": 0.002,
}
LEAST_SYMMETRY = 0.5  # of that share: stripes in one direction have a third, micro-images nearly all
HOPELESS = 0.25  # of that share, with a grid that is right to a pixel: no step will help
LARGEST_MULTIPLE = 3.0 * LARGEST_PITCH  # px: of which a wrong lattice may be a fraction
LEAST_LIKENESS = 0.55  # correlation of the micro-images of two classes


def chessboard() -> NDArray[np.uint8]:
    """0 and 1 for the zones (ZONES, ZONES) of the two colours."""
    return np.asarray(np.indices((ZONES, ZONES)).sum(0) % 2, np.uint8)


def explained_share(feature: FeatureMap, grid: Grid, with_symmetry: bool = False) -> float:
    """Share of the feature's variance that has the period of the grid.

    The product of two mean cells, from the two colours of a chessboard of zones: noise and content average to
    nothing in it, however many bins the cell has. ``with_symmetry`` counts only what also has the grid's symmetry.
    """
    one, other = fold_parts(feature.values, grid, cell_bins(grid.pitch), chessboard())
    if with_symmetry:
        one, other = symmetric(one, grid.layout), symmetric(other, grid.layout)
    share = float(((one - one.mean()) * (other - other.mean())).mean())
    return share / max(float(feature.values.var()), 1e-12)


def full_period(feature: FeatureMap, grid: Grid) -> Grid:
    """The finest multiple of a lattice that explains nearly all that any multiple of it does."""
    share = explained_share(feature, grid)
    while True:
        coarser = [
            Grid(grid.layout, np.array(steps) @ grid.axes, grid.origin) for steps in MULTIPLES[grid.layout]
        ]
        shares = [explained_share(feature, c) if c.pitch <= LARGEST_MULTIPLE else 0.0 for c in coarser]
        if share >= NEARLY_ALL * max(shares):
            return grid
        most = max(shares)
        share, grid = next((s, c) for s, c in zip(shares, coarser) if s >= NEARLY_ALL * most)


def lens_lattice(feature: FeatureMap, period: Grid) -> Grid:
    """The lattice of the lenses within a period of the picture about a lens: three lenses a side or a cell, or one."""
    if period.layout == "hexagonal":
        # a1 and a2 of the period are a1 + a2 and −a1 + 2 a2 of the lenses
        axes = np.linalg.solve(np.array([[1.0, 1.0], [-1.0, 2.0]]), period.axes)
        classes = np.array([[0, 0], [1, 0], [0, 1]])
    else:
        axes = period.axes / CLASS_COUNT
        classes = np.argwhere(np.ones((CLASS_COUNT, CLASS_COUNT)))
    finer = Grid(period.layout, axes, period.origin)
    alike = likeness(feature, period, finer, classes) > LEAST_LIKENESS
    blurred_apart = feature.name == "edges" and period.layout == "hexagonal" and calm_corners(feature, period)
    return finer if alike or blurred_apart else period


def calm_corners(feature: FeatureMap, period: Grid) -> bool:
    """Whether the cell of an edge map has fewer edges at its corners than in the middle of its sides.

    Three or four micro-images meet in a corner, two in a side, so a corner has more; unless another lens sits there.
    That tells three types of lenses apart whose blur differs so much that they are not alike.
    """
    bins = 6 * max(cell_bins(period.pitch) // 6, 2)  # corners and sides fall on bins
    cell = symmetric(fold(feature.values, period, bins), period.layout)
    corner = bins // 3 if period.layout == "hexagonal" else bins // 2
    return bool(cell[corner, corner] < cell[0, bins // 2])


def likeness(feature: FeatureMap, period: Grid, finer: Grid, classes: Array) -> float:
    """Least correlation between the surroundings of the centres of two classes."""
    bins = cell_bins(period.pitch)
    cell = fold(feature.values, period, bins)
    ticks = np.linspace(-1, 1, PATCH) * finer.cell_radius
    offsets = np.stack(np.meshgrid(ticks, ticks), -1).reshape(-1, 2)
    offsets = offsets[np.hypot(*offsets.T) <= finer.cell_radius]
    patches = []
    for lens in classes:
        place = np.rint(period.cells(finer.points(lens) + offsets) * bins).astype(int) % bins
        patches.append(cell[place[:, 1], place[:, 0]])
    pairs = [np.corrcoef(one, other)[0, 1] for one, other in combinations(patches, 2)]
    return float(np.nan_to_num(np.min(pairs), nan=-1.0))
