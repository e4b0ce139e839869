# SPDX-License-Identifier: Apache-2.0
"""All that raw images tell about the micro-lenses of a camera: grid, kinds of lenses, micro-images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.calibrate.find import find_grid
from prism_vo.calibrate.fit import GridFit, fit_grid
from prism_vo.calibrate.grid import Grid
from prism_vo.calibrate.lens_classes import LensClassSharpness, lens_type_sharpness
from prism_vo.calibrate.micro_image import MicroImageProfile, micro_image_profile

RIM_HALF_WIDTH = 0.65  # px: a sharp rim is smeared over whole pixels by so much to both sides
LEAST_BORDER = 1.0  # px, as of cameras about whose micro-images nothing is known
FOREIGN_ORIGIN = (
    0.35  # pitches: beyond it the lens nearest to the start's origin may be another one than it means
)
PARTS = 3  # a side, of the coarse table of offsets
Say = Callable[[str], None]


@dataclass(frozen=True)
class GridFindings:
    """The grid with its uncertainty, kinds of lenses, and the mean micro-image."""

    fit: GridFit
    kinds: LensClassSharpness | None  # None for rectangular grids, which have one kind only
    profile: MicroImageProfile
    from_start: bool  # False: nothing was known before, and ``fit.start`` means nothing

    @property
    def border(self) -> float:
        """Raw pixels between half the pitch and the circle inside which micro-images are evenly lit."""
        if self.profile.radius is None:
            return LEAST_BORDER
        return max(LEAST_BORDER, self.fit.grid.pitch / 2 - self.profile.radius + RIM_HALF_WIDTH)

    @property
    def origin_shift(self) -> float:
        """Distance between the start's origin and the lens nearest to it, raw pixels."""
        return float(np.hypot(*(self.fit.grid.origin - self.fit.start.origin)))

    @property
    def types_certain(self) -> bool:
        """Whether lens (0, 0) is surely the one that the start means, so that its lens types hold."""
        return self.from_start and self.origin_shift < FOREIGN_ORIGIN * self.fit.grid.pitch


def look_at_grid(
    images: Sequence[NDArray[Any]], start: Grid | None = None, say: Say = lambda words: None
) -> GridFindings:
    """Find or (with ``start``) correct the grid in raw images (H, W) or (H, W, 3), then look at its micro-images.

    ``say`` hears what is being done. Refuses where the images do not show a grid.
    """
    say("looking for the grid" if start is None else "comparing the grid with the images")
    fit = find_grid(images) if start is None else fit_grid(images, start)
    say("comparing the kinds of lenses")
    hexagonal = fit.grid.layout == "hexagonal"
    kinds = lens_type_sharpness(images, fit.grid) if hexagonal else None
    say("averaging the micro-images")
    return GridFindings(fit, kinds, micro_image_profile(images, fit.grid), start is not None)


def by_parts(fit: GridFit, vectors: Array) -> Array:
    """Mean (3, 3, 2) of offsets (Z, 2) of the zones over thirds of the sensor; NaN where no zone shows anything."""
    height, width = fit.image_shape
    mean = np.full((PARTS, PARTS, 2), np.nan)
    known = np.isfinite(vectors).all(-1)
    column, row = (fit.zones.centre[known] * PARTS // (width, height)).astype(int).clip(0, PARTS - 1).T
    for r, c in {*zip(row.tolist(), column.tolist())}:
        mean[r, c] = vectors[known][(row == r) & (column == c)].mean(0)
    return mean
