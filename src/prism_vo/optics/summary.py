# SPDX-License-Identifier: Apache-2.0
"""What a camera can measure, in the numbers people ask for: field of view, range, depth error, lenses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array
from prism_vo.optics.calibration import LARGEST_VIRTUAL_DEPTH
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.mla import MicroLensArray
from prism_vo.optics.visibility import lenses_seeing

TYPICAL_SIGMA = 0.002  # σ(ρ_v) the decoder reaches on well textured points
SAMPLES = 9  # points a side over which lenses are counted
HEXAGONAL_DENSITY = np.pi / (2 * np.sqrt(3.0))  # micro-images per pitch-sized disc: 0.907
RECTANGULAR_DENSITY = np.pi / 4


@dataclass(frozen=True)
class DepthRow:
    """What is to be expected of a point at one distance; NaN: it has no virtual image to measure."""

    depth: float  # m
    virtual_depth: float
    sigma: float  # m, at TYPICAL_SIGMA
    lenses: float  # mean number that see it


@dataclass(frozen=True)
class OpticsSummary:
    """The optics in plain numbers."""

    field_of_view: tuple[float, float]  # degrees, horizontal and vertical
    nearest: float  # m, of the measurable range
    farthest: float  # m, may be inf
    lens_count: int
    lens_types: int
    rows: tuple[DepthRow, ...]


def summarise(camera: PlenopticCamera, depths: tuple[float, ...] = (0.3, 1.0, 3.0, 10.0)) -> OpticsSummary:
    """Describe a camera; depths in metres."""
    array = MicroLensArray.of(camera)
    nearest, farthest = measurable_range(camera)
    return OpticsSummary(
        field_of_view=_field_of_view(camera),
        nearest=nearest,
        farthest=farthest,
        lens_count=len(array),
        lens_types=len(camera.calibration.mla.lens_types),
        rows=tuple(_row(camera, array, z) for z in depths),
    )


def least_virtual_depth(camera: PlenopticCamera) -> float:
    """v at which a point is seen by two lenses on average (density · v² · (1 − 2 border/D)² = 2)."""
    mla = camera.calibration.mla
    density = HEXAGONAL_DENSITY if mla.layout == "hexagonal" else RECTANGULAR_DENSITY
    return float(np.sqrt(2.0 / density) / (1.0 - 2.0 * mla.border_px / mla.pitch_px))


def measurable_range(camera: PlenopticCamera) -> tuple[float, float]:
    """Depths (m) at which at least two lenses see a point and disparity is not lost: (nearest, farthest)."""
    nearest = float(camera.depth(LARGEST_VIRTUAL_DEPTH))
    farthest = float(camera.depth(least_virtual_depth(camera)))
    return nearest, farthest if np.isfinite(farthest) else float("inf")


def _field_of_view(camera: PlenopticCamera) -> tuple[float, float]:
    view = camera.view("central")
    edges = ((view.cx, view.width), (view.cy, view.height))
    horizontal, vertical = (
        float(np.degrees(sum(np.arctan2([c + 0.5, side - 0.5 - c], view.focal_px)))) for c, side in edges
    )
    return horizontal, vertical


def _row(camera: PlenopticCamera, array: MicroLensArray, depth: float) -> DepthRow:
    v = float(camera.virtual_depth(depth))
    if np.isnan(v):
        return DepthRow(depth, v, float("nan"), 0.0)
    lenses = len(lenses_seeing(camera, array, _points(camera, depth), v).rows) / SAMPLES**2
    return DepthRow(depth, v, float(camera.depth_sigma(depth, TYPICAL_SIGMA)), lenses)


def _points(camera: PlenopticCamera, depth: float) -> Array:
    """Virtual points x_V spread over the middle of the field of view at one depth."""
    view = camera.view("central")
    x, y = (np.linspace(0.25, 0.75, SAMPLES) * side for side in (view.width, view.height))
    pixels = np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)
    return camera.project_virtual(view.unproject(pixels, np.full(len(pixels), depth)))[0]
