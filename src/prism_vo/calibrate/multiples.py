# SPDX-License-Identifier: Apache-2.0
"""Is a grid that was fitted a multiple or a fraction of the lenses' own? Both fit without leaving anything over.

Half the distance of the lenses also has a lens at every other node, twice the distance has one at every node; so the
next finer and the next coarser lattices are compared by how much of the picture has their period (dark gaps, or
content that breaks off). A lattice finer than the right one explains little, as it takes gaps for lenses; if one
explains nearly all, the grid is too coarse. A coarser one explains the same; if it explains far more, the grid is too
fine, unless the difference are kinds of lenses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prism_vo.arrays import Floats
from prism_vo.calibrate.centre import centre_grid
from prism_vo.calibrate.features import FeatureMap, edge_map, light_map
from prism_vo.calibrate.grid import CLASS_COUNT, Grid, GridUncertainError
from prism_vo.calibrate.periods import (
    LEAST_SHARE,
    MULTIPLES,
    NEARLY_ALL,
    calm_corners,
    explained_share,
    lens_lattice,
    likeness,
)

SURROUNDINGS = 4.0  # pitches: width over which brightness is evened out; also two of a grid twice as coarse
LOOK_PX = 2048  # a side of the middle part of the image that is looked at
FEWEST_CELLS = 8  # a side: with fewer, content passes for a period
# shares over that of the grid: of right ones finer lattices had at most 0.5 (tiny dark spots would have 2/3, wrong ones
# 0.89 and more), coarser ones without kinds of lenses 1.05 (wrong ones 2.1 and more)
FAR_MORE = 1.5
# with three kinds of lenses √3 times the pitch explains more, in light up to 1.5 times, its lenses alike to 0.43;
# three lens centres of which two are gaps between lenses are alike to at most 0.26
MORE_THAN_KINDS, UNLIKE = 1.7, 0.35
CLASSES = np.array([[0, 0], [1, 0], [0, 1]])  # lenses of one period of √3 pitches
FINEST_PX = 3.0  # a pitch with less has no micro-images


class GridMultipleError(GridUncertainError):
    """The images show lenses at another distance than the grid to begin with has, which is a multiple of it."""


def refuse_multiples(frames: Sequence[Floats], grid: Grid) -> None:
    """Say which pitch the images show when it is not that of a fitted grid."""
    found = lattice_shown(frames, grid)
    if found is not None:
        raise GridMultipleError(
            f"The images show micro-lenses {found.pitch:.3f} px apart, and the grid to begin with has a pitch of "
            f"{grid.pitch:.3f} px, {grid.pitch / found.pitch:.3g} times as much; correct its pitch "
            "(mla.pitch_px of a camera file), or begin without a grid."
        )


def lattice_shown(frames: Sequence[Floats], grid: Grid) -> Grid | None:
    """The lattice that the images show where it is a fraction or a multiple of the grid; None: it is the grid."""
    for make in (light_map, edge_map):
        feature, part = _middle(make(frames, SURROUNDINGS * grid.pitch), grid)
        own = explained_share(feature, part)
        finer, coarser = _relatives(part, feature.values.shape)
        of_finer, of_coarser = ([explained_share(feature, g) for g in some] for some in (finer, coarser))
        if max(own, *of_finer, *of_coarser) >= LEAST_SHARE[feature.name]:
            found = _coarser(feature, part, own, list(zip(coarser, of_coarser)))
            if found is None and own >= LEAST_SHARE[feature.name]:
                found = next((g for g, share in zip(finer, of_finer) if share >= NEARLY_ALL * own), None)
            return None if found is None else lens_lattice(feature, centre_grid(feature, found))
    return None


def _middle(feature: FeatureMap, grid: Grid) -> tuple[FeatureMap, Grid]:
    """The middle part of large images, and the grid in its pixels."""
    height, width = feature.values.shape
    top, left = max(height - LOOK_PX, 0) // 2, max(width - LOOK_PX, 0) // 2
    part = np.ascontiguousarray(feature.values[top : top + LOOK_PX, left : left + LOOK_PX])
    origin = np.asarray(grid.origin - (left, top), np.float64)
    return FeatureMap(feature.name, part), Grid(grid.layout, grid.axes, origin)


def _relatives(grid: Grid, shape: tuple[int, ...]) -> tuple[list[Grid], list[Grid]]:
    """The next finer lattices and the next coarser ones that share its mirror axes, each the finest first."""
    steps = [np.array(s, np.float64) for s in MULTIPLES[grid.layout]]
    steps = [s for s in steps if round(float(np.linalg.det(s))) in (2, 3, 4, 9)]
    finer = [Grid(grid.layout, np.linalg.inv(s) @ grid.axes, grid.origin) for s in reversed(steps)]
    coarser = [Grid(grid.layout, s @ grid.axes, grid.origin) for s in steps]
    largest = min(shape) / FEWEST_CELLS
    return [g for g in finer if g.pitch >= FINEST_PX], [g for g in coarser if g.pitch <= largest]


def _coarser(feature: FeatureMap, grid: Grid, own: float, tried: list[tuple[Grid, float]]) -> Grid | None:
    """The finest that explains far more than the grid, and nearly all that any does."""
    own = max(own, LEAST_SHARE[feature.name] / MORE_THAN_KINDS)
    far_more, of_kinds = [], own
    for lattice, share in tried:
        times = round((lattice.pitch / grid.pitch) ** 2)  # lenses of the grid in one cell
        if grid.layout == "hexagonal" and times == CLASS_COUNT:
            of_kinds = max(own, share)  # kinds of lenses show at 3 times the pitch as at √3 times
            if share >= MORE_THAN_KINDS * own and _has_gaps(feature, lattice, grid):
                far_more.append((lattice, share))
        elif share >= FAR_MORE * (of_kinds if times == CLASS_COUNT**2 else own):
            far_more.append((lattice, share))
    most = max((share for _, share in far_more), default=0.0)
    return next((lattice for lattice, share in far_more if share >= NEARLY_ALL * most), None)


def _has_gaps(feature: FeatureMap, period: Grid, grid: Grid) -> bool:
    """Whether two of the three lenses that the grid has in a period lie where three micro-images meet."""
    centred = centre_grid(feature, period)
    if likeness(feature, centred, grid, CLASSES) >= UNLIKE:
        return False
    return feature.name == "light" or not calm_corners(feature, centred)
