# SPDX-License-Identifier: Apache-2.0
"""Correct a grid that is nearly right: measure by zones how far it is off, move it, and look again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.calibrate.cell import cell_bins, fold_parts, mean_cell, symmetric, tabulate
from prism_vo.calibrate.centre import centre_grid
from prism_vo.calibrate.features import FeatureMap, FeatureName, edge_map, grey_frames, light_map
from prism_vo.calibrate.grid import Grid, GridUncertainError, centre_distance, nearest_equal_grid
from prism_vo.calibrate.lattice import LatticeFit, corrected, fit_lattice
from prism_vo.calibrate.multiples import refuse_multiples
from prism_vo.calibrate.offsets import lens_offsets
from prism_vo.calibrate.periods import HOPELESS, LEAST_SHARE, LEAST_SYMMETRY, chessboard, explained_share
from prism_vo.calibrate.waves import follow_waves
from prism_vo.calibrate.zones import ZONES, Zones, zone_offsets

SURROUNDINGS = 2.0  # pitches: width over which brightness and edges are evened out
MOST_STEPS = 20
STILL_PX = 0.001  # the grid stands when no centre on the sensor moves by more
RESTLESS_PX = 0.02  # a grid that still moves by more after all steps is not found
RECOGNISED = (
    0.7  # share of lenses that must show the mean micro-image of other zones; without a grid it is one half
)
SAMPLING_PX: dict[FeatureName, float] = {
    "light": 0.05,  # a rim in whole pixels, each the mean over its area
    "edges": 12**-0.5,  # an edge lies anywhere between two pixels
}
LARGEST_SIGMA = 0.05  # pitches: a grid known worse than this is not known


@dataclass(frozen=True)
class GridFit:
    """A grid found in images, and how well it is known.

    ``zones`` are measured against ``grid`` itself, so their offsets are what the lattice leaves over.
    """

    grid: Grid
    start: Grid
    feature: FeatureName  # what showed the grid: "light" (dark gaps) or "edges" (vignetting removed)
    zones: Zones
    lattice: LatticeFit
    recognised: float  # share of visible lenses that show the mean micro-image of other zones
    steps: int
    image_shape: tuple[int, int]

    @property
    def pitch_error(self) -> float:
        """Pitch of the start over the fitted one, minus 1."""
        return self.start.pitch / self.grid.pitch - 1.0

    @property
    def rotation_error(self) -> float:
        """Rotation of the start minus the fitted one, radians."""
        return float(np.angle(np.exp(1j * (self.start.rotation - self.grid.rotation))))

    @property
    def pitch_sigma(self) -> float:
        """Standard deviation of the fitted pitch, raw pixels."""
        return float(np.sqrt(self.lattice.covariance[2, 2])) * self.grid.pitch

    @property
    def rotation_sigma(self) -> float:
        """Standard deviation of the fitted rotation, radians."""
        return float(np.sqrt(self.lattice.covariance[3, 3]))

    @property
    def centre_sigma(self) -> float:
        """Root mean square over the sensor of the standard deviation of the fitted centres, raw pixels."""
        centres = self.grid.lenses(self.image_shape, 0.0).centres
        fitted = float(np.mean(self.lattice.centre_sigma(centres) ** 2))
        # where pitch and pixels are in step, all lenses are sampled alike and the error of sampling stays
        in_step = np.abs(np.exp(2j * np.pi * centres).mean(0))
        return float(np.sqrt(fitted + (SAMPLING_PX[self.feature] ** 2 * in_step**2).sum()))

    @property
    def residual_rms(self) -> float:
        """Root mean square over zones and axes of what the lattice leaves over, raw pixels."""
        return float(np.sqrt(np.nanmean(self.zones.offset**2)))

    @property
    def start_offsets(self) -> Array:
        """Measured minus predicted centre (Z, 2) of the START grid by zone: what a check of a camera shows."""
        cells = self.start.cells(self.zones.centre)
        return self.grid.points(cells) - self.zones.centre + self.zones.offset


def fit_grid(images: Sequence[NDArray[Any]] | NDArray[Any], start: Grid, *, shear: bool = False) -> GridFit:
    """Find the micro-lens grid in raw images, beginning with a grid whose pitch is right to a per cent or two.

    ``images``: one or several of one camera, (H, W) or (H, W, 3), 8 or 16 bit; a white image is one of them.
    ``shear`` also lets the two axes differ in length and angle. Lens (0, 0) of the result is the one nearest to the
    start's, so lens types keep their names when the start is off by less than half a pitch there. A start that is a
    multiple or a fraction of the lenses' grid is refused, with the pitch that the images show.
    """
    frames = grey_frames(images)
    for make in (light_map, edge_map):
        feature = make(frames, SURROUNDINGS * start.pitch)
        try:
            fit = fit_feature(feature, start, shear)
        except GridUncertainError:
            continue
        refuse_multiples(frames, fit.grid)
        return fit
    raise GridUncertainError(
        f"No micro-lens grid with a pitch near {start.pitch:.2f} px shows in these images; check that grid and images "
        "belong to the same camera, or give more images with texture and light everywhere."
    )


def fit_feature(feature: FeatureMap, start: Grid, shear: bool = False) -> GridFit:
    """The fit on one feature map; refuses where that does not show a grid."""
    grid = nearest_equal_grid(centre_grid(feature, follow_waves(feature.values, start)), start)
    if explained_share(feature, grid) < HOPELESS * LEAST_SHARE[feature.name]:
        raise GridUncertainError("These images show no micro-lens grid; give a white image or more images.")
    shape = feature.values.shape
    steps = 0
    while steps < MOST_STEPS:
        steps += 1
        measured = lens_offsets(feature, grid, mean_cell(feature.values, grid))
        zones = zone_offsets(measured, shape, grid.pitch)
        lattice = fit_lattice(zones, shear)
        better = corrected(grid, lattice)
        moved = float(centre_distance(grid, better, shape).max(initial=0.0))
        grid = better
        if moved < STILL_PX:
            break
    fit = GridFit(
        grid,
        start,
        feature.name,
        zones,
        lattice,
        recognised_share(feature, grid),
        steps,
        (shape[0], shape[1]),
    )
    share, even = explained_share(feature, grid), explained_share(feature, grid, with_symmetry=True)
    _refuse_the_uncertain(fit, moved, share if even > LEAST_SYMMETRY * share else 0.0)
    return fit


def recognised_share(feature: FeatureMap, grid: Grid) -> float:
    """Share of the visible lenses that show the mean micro-image folded from the OTHER colour of a chessboard of zones.

    A mean micro-image fits the lenses it was made of even when there is no grid; on others it then fails by half.
    """
    colours = chessboard()
    halves = fold_parts(feature.values, grid, cell_bins(grid.pitch), colours)
    height, width = feature.values.shape
    seen = shown = 0
    for half in (0, 1):
        measured = lens_offsets(feature, grid, tabulate(symmetric(halves[half], grid.layout), grid.axes))
        row, column = (measured.lenses.centres[:, (1, 0)] * ZONES // (height, width)).astype(int).T
        others = measured.visible & (colours[row, column] != half)
        seen += int(others.sum())
        shown += int((measured.strength[others] > 0).sum())
    return shown / max(seen, 1)


def _refuse_the_uncertain(fit: GridFit, moved: float, explained: float) -> None:
    shown = fit.recognised >= RECOGNISED and explained >= LEAST_SHARE[fit.feature]
    if not shown or moved > RESTLESS_PX or fit.centre_sigma > LARGEST_SIGMA * fit.grid.pitch:
        raise GridUncertainError(
            f"The micro-lens grid is not clear in these images (recognised in {fit.recognised:.0%} of the lenses); "
            "give a white image, or more images with texture and light everywhere."
        )
