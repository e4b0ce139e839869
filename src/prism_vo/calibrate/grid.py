# SPDX-License-Identifier: Apache-2.0
"""A micro-lens grid: layout, two axes and an origin, apart from everything else a camera has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from prism_vo.arrays import Array, Integers
from prism_vo.errors import DegenerateError
from prism_vo.optics.calibration import MicroLenses
from prism_vo.optics.mla import grid_axes

Layout = Literal["hexagonal", "rectangular"]
CLASS_COUNT = 3  # lens types of a multi-focus array; a lens (i, j) belongs to class (i − j) mod 3


class GridUncertainError(DegenerateError):
    """The images do not show where the micro-lenses are."""


@dataclass(frozen=True)
class Lenses:
    """Lenses of a grid that lie on a sensor."""

    index: Integers  # (N, 2): i, j
    centres: Array  # (N, 2): x, y in raw pixels


@dataclass(frozen=True)
class Grid:
    """Micro-image centres ``origin + i·axes[0] + j·axes[1]`` in raw pixels.

    The second axis is the first one turned by +60° (hexagonal) or +90° (rectangular) in image axes; a grid fitted
    with shear deviates from that by a little.
    """

    layout: Layout
    axes: Array  # (2, 2): rows a1, a2
    origin: Array  # (2,)

    @classmethod
    def regular(
        cls, layout: Layout, pitch: float, rotation: float = 0.0, origin: tuple[float, float] = (0.0, 0.0)
    ) -> Grid:
        """A grid without shear: pitch in raw pixels, rotation in radians (image axes, y down)."""
        return cls(layout, grid_axes(layout == "hexagonal", pitch, rotation), np.array(origin, np.float64))

    @classmethod
    def of(cls, mla: MicroLenses) -> Grid:
        """The grid that a camera.yaml describes."""
        return cls.regular(mla.layout, mla.pitch_px, mla.rotation_rad, mla.origin_px)

    @property
    def pitch(self) -> float:
        """Distance of neighbours; of the regular grid with cells of the same area when there is shear."""
        cell = np.sqrt(0.75) if self.layout == "hexagonal" else 1.0
        return float(np.sqrt(abs(np.linalg.det(self.axes)) / cell))

    @property
    def rotation(self) -> float:
        """Angle of the first axis, of the nearest regular grid when there is shear."""
        regular = grid_axes(self.layout == "hexagonal", 1.0, 0.0)
        change = np.linalg.solve(regular, self.axes)  # rows: where the image axes go
        return float(np.arctan2(change[0, 1] - change[1, 0], change[0, 0] + change[1, 1]))

    @property
    def cell_radius(self) -> float:
        """Distance from a centre to the farthest point that no other centre is nearer to."""
        return self.pitch / np.sqrt(3.0 if self.layout == "hexagonal" else 2.0)

    def cells(self, points: Array) -> Array:
        """Lattice coordinates (…, 2) of points (…, 2): whole numbers at the centres."""
        return (np.asarray(points, np.float64) - self.origin) @ np.linalg.inv(self.axes)

    def points(self, cells: Array) -> Array:
        """Raw pixels (…, 2) of lattice coordinates (…, 2)."""
        return self.origin + np.asarray(cells, np.float64) @ self.axes

    def moved(self, offset: Array, change: Array, about: Array) -> Grid:
        """The grid whose every point p goes to ``p + offset + change @ (p − about)``."""
        origin = self.origin + offset + change @ (self.origin - about)
        return Grid(self.layout, self.axes + self.axes @ change.T, origin)

    def lenses(self, shape: tuple[int, ...], margin: float) -> Lenses:
        """Lenses whose centres lie at least ``margin`` pixels inside an image of ``shape`` (H, W)."""
        height, width = shape[:2]
        corners = np.array([[0, 0], [width, 0], [0, height], [width, height]], np.float64)
        reach = self.cells(corners)
        (i0, j0), (i1, j1) = np.floor(reach.min(0)).astype(int), np.ceil(reach.max(0)).astype(int)
        jj, ii = np.mgrid[j0 : j1 + 1, i0 : i1 + 1]
        index = np.stack([ii.ravel(), jj.ravel()], -1)
        centres = self.points(index)
        x, y = centres[:, 0], centres[:, 1]
        inside = (x >= margin) & (y >= margin) & (x <= width - 1 - margin) & (y <= height - 1 - margin)
        return Lenses(index[inside].astype(np.int32), np.ascontiguousarray(centres[inside]))


def nearest_equal_grid(grid: Grid, wanted: Grid) -> Grid:
    """The same lattice, named by the axes and the origin lens that lie nearest to those of ``wanted``."""
    steps = np.rint(wanted.axes @ np.linalg.inv(grid.axes))
    axes = steps @ grid.axes if abs(abs(np.linalg.det(steps)) - 1.0) < 1e-6 else grid.axes
    turned = Grid(grid.layout, axes, grid.origin)
    return Grid(grid.layout, axes, turned.points(np.rint(turned.cells(wanted.origin))))


def centre_distance(first: Grid, second: Grid, shape: tuple[int, ...]) -> Array:
    """Distances (N,) between the centres of two grids with the same indices, for lenses on the sensor."""
    lenses = first.lenses(shape, 0.0)
    difference: Array = second.points(lenses.index.astype(np.float64)) - lenses.centres
    return np.asarray(np.hypot(difference[:, 0], difference[:, 1]), np.float64)
