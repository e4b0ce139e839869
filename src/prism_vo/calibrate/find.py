# SPDX-License-Identifier: Apache-2.0
"""Find the micro-lens grid in images of a camera nothing is known about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_vo.calibrate.centre import centre_grid
from prism_vo.calibrate.features import FeatureMap, edge_map, grey_frames, light_map
from prism_vo.calibrate.fit import SURROUNDINGS, GridFit, fit_feature
from prism_vo.calibrate.grid import Grid, GridUncertainError
from prism_vo.calibrate.periods import (
    HOPELESS,
    LEAST_SHARE,
    NEARLY_ALL,
    calm_corners,
    explained_share,
    full_period,
    lens_lattice,
)
from prism_vo.calibrate.spectrum import LARGEST_PITCH, SMALLEST_PITCH, SYMMETRY, candidates, spectral_peaks
from prism_vo.calibrate.waves import follow_waves

MOST_TRIED = 6  # lattices that are looked at more closely
LOOK_PX = 1024  # a side of the middle part of the image in which they are compared
BLOCK_PX, BLOCK_TOLERANCE = (
    8,
    0.02,
)  # side of compression blocks, and how nearly an axis consists of whole ones
FEWEST_LENSES = 4  # a side
_REFUSAL = (
    f"No micro-lens grid with a pitch of {SMALLEST_PITCH:.0f}–{LARGEST_PITCH:.0f} px shows clearly in these images; "
    "give a white image, more images with texture and light everywhere, or a grid to start with."
)


class _Tried(NamedTuple):
    grid: Grid
    explained: float


def find_grid(images: Sequence[NDArray[Any]] | NDArray[Any], *, shear: bool = False) -> GridFit:
    """Find layout, pitch, rotation and origin of the micro-lens grid in raw images, (H, W) or (H, W, 3).

    The rotation is the smallest that describes the grid (within ±30° or ±45°), the origin the lens nearest to the
    middle of the image: which lens type is which cannot be known. Refuses where it cannot tell.
    """
    frames = grey_frames(images)
    if min(frames[0].shape) < FEWEST_LENSES * SMALLEST_PITCH:
        raise GridUncertainError("The images are too small to show a micro-lens grid; give whole raw images.")
    for make in (light_map, edge_map):
        start = likeliest_grid(make(frames, SURROUNDINGS * LARGEST_PITCH))
        if start is None:
            continue
        try:
            fit = fit_feature(make(frames, SURROUNDINGS * start.pitch), start, shear)
        except GridUncertainError:
            continue
        if SMALLEST_PITCH <= fit.grid.pitch <= LARGEST_PITCH:
            return fit
    raise GridUncertainError(_REFUSAL)


def likeliest_grid(feature: FeatureMap) -> Grid | None:
    """The lattice of the lenses among those that the spectrum suggests; None where nothing stands out."""
    middle = _middle(feature)
    tried = []
    for candidate in candidates(spectral_peaks(feature.values, feature.name == "edges"))[:MOST_TRIED]:
        grid = follow_waves(middle.values, candidate.grid(middle.values.shape))
        if feature.name == "edges" and _compression_blocks(grid):
            continue
        tried.append(_Tried(grid, explained_share(middle, grid)))
    most = max((t.explained for t in tried), default=0.0)
    if most < HOPELESS * LEAST_SHARE[feature.name]:
        return None
    finest = min((t for t in tried if t.explained >= NEARLY_ALL * most), key=lambda t: t.grid.pitch).grid
    period = centre_grid(middle, full_period(middle, finest))
    if feature.name == "edges" and period.layout == "rectangular" and calm_corners(middle, period):
        return None  # no micro-images meet in its corners
    grid = lens_lattice(middle, period)
    return _in_whole_image(centre_grid(middle, grid), feature, middle)


def _compression_blocks(grid: Grid) -> bool:
    """Whether a lattice consists of corners of 8 × 8 blocks."""
    steps = grid.axes / BLOCK_PX
    return grid.layout == "rectangular" and bool(np.abs(steps - np.rint(steps)).max() < BLOCK_TOLERANCE)


def _middle(feature: FeatureMap) -> FeatureMap:
    height, width = (min(side, LOOK_PX) for side in feature.values.shape)
    top, left = (feature.values.shape[0] - height) // 2, (feature.values.shape[1] - width) // 2
    part = np.ascontiguousarray(feature.values[top : top + height, left : left + width])
    return FeatureMap(feature.name, part)


def _in_whole_image(grid: Grid, feature: FeatureMap, part: FeatureMap) -> Grid:
    """The grid of the middle part in pixels of the whole image, with its origin near the middle."""
    rows, columns = ((whole - some) // 2 for whole, some in zip(feature.values.shape, part.values.shape))
    turn = SYMMETRY[grid.layout]
    rotation = grid.rotation - turn * round(grid.rotation / turn)
    corner = (float(grid.origin[0] + columns), float(grid.origin[1] + rows))
    moved = Grid.regular(grid.layout, grid.pitch, rotation, corner)
    middle = np.array([feature.values.shape[1], feature.values.shape[0]]) / 2 - 0.5
    return Grid(grid.layout, moved.axes, moved.points(np.rint(moved.cells(middle))))
