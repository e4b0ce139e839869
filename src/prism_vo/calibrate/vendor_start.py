# SPDX-License-Identifier: Apache-2.0
"""A vendor's grid as a start: what its file can mean, and which meaning the images show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.calibrate.features import edge_map, grey_frames, light_map
from prism_vo.calibrate.fit import SURROUNDINGS
from prism_vo.calibrate.grid import Grid, Layout
from prism_vo.calibrate.periods import LEAST_SHARE, explained_share
from prism_vo.calibrate.spectrum import SYMMETRY
from prism_vo.calibrate.waves import follow_waves
from prism_vo.optics.vendor import RaytrixGrid

SAME_ANGLE = 1e-3  # rad: rotations nearer than this are one
RIGHT_ANGLE = 0.05  # largest cosine between the axes of a rectangular grid


def vendor_starts(vendor: RaytrixGrid, shape: tuple[int, ...]) -> list[Grid]:
    """Grids that the file can mean on images of ``shape`` (H, W): the turn is in its bases, its rotation, or both."""
    (bx, by), (cx, cy) = vendor.lens_base_x, vendor.lens_base_y
    layout: Layout = "rectangular" if abs(bx * cx + by * cy) < RIGHT_ANGLE else "hexagonal"
    origin = (shape[1] / 2 - 0.5 + vendor.offset[0], shape[0] / 2 - 0.5 - vendor.offset[1])
    in_bases = math.atan2(by, bx)
    turns: list[float] = []
    for angle in (in_bases, -vendor.rotation, in_bases - vendor.rotation):
        if all(abs(_smallest_turn(angle - other, layout)) > SAME_ANGLE for other in turns):
            turns.append(_smallest_turn(angle, layout))
    return [Grid.regular(layout, vendor.diameter, turn, origin) for turn in turns]


def _smallest_turn(angle: float, layout: Layout) -> float:
    """The same lattice turned by as little as possible."""
    return angle - SYMMETRY[layout] * round(angle / SYMMETRY[layout])


def likeliest_start(images: Sequence[NDArray[Any]], starts: Sequence[Grid]) -> Grid:
    """The start whose lattice explains most of the light or of the edges in raw images."""
    if len(starts) == 1:
        return starts[0]
    frames = grey_frames(images)
    shares = np.zeros(len(starts))
    for make in (light_map, edge_map):
        feature = make(frames, SURROUNDINGS * starts[0].pitch)
        seen = [explained_share(feature, follow_waves(feature.values, grid)) for grid in starts]
        shares = np.maximum(shares, np.array(seen) / LEAST_SHARE[feature.name])
    return starts[int(shares.argmax())]
