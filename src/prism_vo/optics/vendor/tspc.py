# SPDX-License-Identifier: Apache-2.0
"""Micro-lens XML with root ``TSPCCalibData``: diameter, rotation, and the centres of the lenses in the corners."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prism_vo.errors import CalibrationError
from prism_vo.optics.vendor.reading import NOMINAL_FOCUS, GridReading, check_pitch, smallest_turn
from prism_vo.optics.vendor.xml_file import Pair, expect_root, number, optional, pair

TSPC_ROOT = "TSPCCalibData"
CORNERS = (("ltop", "left_top"), ("rtop", "right_top"), ("lbot", "left_bottom"), ("rbot", "right_bottom"))
FEWEST_CORNERS = 3
Complexes = NDArray[np.complexfloating]
SECOND_AXIS = cmath.exp(1j * math.pi / 3)  # of a hexagonal grid, in pitches, the first one being 1
PASSES = 5  # of numbering the corner lenses and fitting the grid to them
CLEARLY_BETTER = 0.6  # residual of the better orientation over that of the other
LARGEST_RESIDUAL = 0.15  # pitches: corners that lie farther off do not belong to such a grid


@dataclass(frozen=True)
class TspcGrid:
    """The file: image axes, pixel centres at integer coordinates."""

    diameter: float  # px
    rotation: float  # rad
    corners: tuple[Pair, ...]  # px, lens centres in the corners of the sensor


@dataclass(frozen=True)
class _CornerFit:
    first_axis: complex  # px
    origin: complex  # px, a lens
    residual: float  # pitches, root mean square


def read_tspc_grid(path: Path) -> TspcGrid:
    """Read the XML; three of the four corners are enough."""
    root = expect_root(path, TSPC_ROOT, "a micro-lens calibration by four corner lenses")
    corners = []
    for names in CORNERS:
        found = next((name for name in names if root.find(f"centers/{name}") is not None), None)
        if found is not None:
            corners.append(pair(root, f"centers/{found}", path))
    if len(corners) < FEWEST_CORNERS:
        raise CalibrationError(
            f"{path}: {len(corners)} corner centres; at least {FEWEST_CORNERS} are needed."
        )
    return TspcGrid(number(root, "diameter", path), optional(root, "rotation", path), tuple(corners))


def tspc_readings(grid: TspcGrid) -> tuple[GridReading, ...]:
    """The hexagonal grid through the corners: its rows along the rotation, or across it.

    The file does not say which direction of the grid its rotation means. The corner lenses tell as far as whole
    numbers of lenses lie between them in one case and not in the other.
    """
    check_pitch(grid.diameter)
    along = _reading(grid, grid.rotation, "its rotation is that of the lens rows")
    across = _reading(grid, grid.rotation + math.pi / 2, "its lens rows run across its rotation")
    (better, residual), (worse, other) = sorted((along, across), key=lambda pair: pair[1])
    if residual > LARGEST_RESIDUAL:
        raise CalibrationError(
            f"The corner lenses miss a hexagonal grid of pitch {grid.diameter:g} px by {residual:.2f} pitches; "
            "check the diameter and the centres."
        )
    clear = residual < CLEARLY_BETTER * other
    return better, replace(worse, likely=not clear)


def _reading(grid: TspcGrid, rotation: float, meaning: str) -> tuple[GridReading, float]:
    fit = _fit_corners(np.array(grid.corners) @ (1.0, 1j), cmath.rect(grid.diameter, rotation))
    reading = GridReading(
        meaning=meaning,
        layout="hexagonal",
        pitch=abs(fit.first_axis),
        rotation=smallest_turn(cmath.phase(fit.first_axis), "hexagonal"),
        origin=(fit.origin.real, fit.origin.imag),
        focus=(NOMINAL_FOCUS,),
        misfit=fit.residual * abs(fit.first_axis),
    )
    return reading, fit.residual


def _fit_corners(corners: Complexes, axis: complex) -> _CornerFit:
    """Least squares for one similarity from whole lens numbers to the corners, as complex numbers x + iy."""
    origin = complex(corners[0])
    for _ in range(PASSES):
        lenses = _nearest_lenses((corners - origin) / axis)
        design = np.stack([lenses, np.ones_like(lenses)], -1)
        (first, start), *_ = np.linalg.lstsq(design, corners, rcond=None)
        axis, origin = complex(first), complex(start)
        if abs(axis) == 0:
            raise CalibrationError("The corner lenses of the micro-lens grid coincide; check the centres.")
    missed = np.abs(corners - origin - lenses * axis)
    return _CornerFit(axis, origin, float(np.sqrt(np.mean(missed**2))) / abs(axis))


def _nearest_lenses(places: Complexes) -> Complexes:
    """The lens i + j·e^{iπ/3} nearest to each place (N,), in pitches."""
    j = places.imag / SECOND_AXIS.imag
    i = places.real - j * SECOND_AXIS.real
    steps = np.array([(a, b) for a in (0, 1) for b in (0, 1)])
    around = (np.floor(i)[:, None] + steps[:, 0]) + (np.floor(j)[:, None] + steps[:, 1]) * SECOND_AXIS
    nearest = np.abs(around - places[:, None]).argmin(1)
    return np.asarray(around[np.arange(len(places)), nearest])
