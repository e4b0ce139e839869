# SPDX-License-Identifier: Apache-2.0
"""Any pair of base vectors of a hexagonal or square lattice: which layout, which row direction, which lens class."""

from __future__ import annotations

import math

import numpy as np

from prism_vo.arrays import Array
from prism_vo.errors import CalibrationError
from prism_vo.optics.mla import grid_axes
from prism_vo.optics.vendor.reading import Layout
from prism_vo.optics.vendor.xml_file import Pair

TOLERANCE = 5e-3  # of base vectors, in pitches
ON_A_LENS = 0.1  # pitches: an offset that lies farther from every lens is none
CLASSES: dict[Layout, tuple[int, ...]] = {"hexagonal": (1, 3), "rectangular": (1,)}


def lattice_layout(first: Pair, second: Pair) -> Layout:
    """Layout of the lattice that two base vectors (in pitches) span, whichever of its bases they are."""
    u, v = _shortest_base(np.array(first), np.array(second))
    if abs(np.hypot(*u) - 1) < TOLERANCE and abs(np.hypot(*v) - 1) < TOLERANCE:
        cosine = abs(float(u @ v))
        if abs(cosine - 0.5) < TOLERANCE:
            return "hexagonal"
        if cosine < TOLERANCE:
            return "rectangular"
    raise CalibrationError(
        f"The micro-lens grid has base vectors ({first[0]:g}, {first[1]:g}) and ({second[0]:g}, {second[1]:g}), "
        "which span neither a hexagonal nor a square grid of pitch 1."
    )


def row_angle(first: Pair, second: Pair) -> float:
    """Angle of a lens row: of the first base vector when that is one pitch long, else of the shortest vector."""
    u = (
        first
        if abs(math.hypot(*first) - 1) < TOLERANCE
        else _shortest_base(np.array(first), np.array(second))[0]
    )
    return math.atan2(u[1], u[0])


def lens_class(place: Array, layout: Layout, rotation: float, count: int) -> int | None:
    """Class (i − j) mod ``count`` of the lens at ``place`` (2,), pitches in image axes; None where there is none."""
    cell = place @ np.linalg.inv(grid_axes(layout == "hexagonal", 1.0, rotation))
    i, j = np.rint(cell)
    if max(abs(cell - (i, j))) > ON_A_LENS:
        return None
    return int(i - j) % count


def check_class_count(layout: Layout, count: int) -> None:
    """Refuse a number of lens types that classes (i − j) mod n cannot describe."""
    if count not in CLASSES[layout]:
        known = " or ".join(map(str, CLASSES[layout]))
        raise CalibrationError(
            f"The {layout} micro-lens grid has {count} lens types; {known} can be described."
        )


def _shortest_base(u: Array, v: Array) -> tuple[Array, Array]:
    """Gauss' reduction: the two shortest vectors that span the same lattice."""
    if abs(u[0] * v[1] - u[1] * v[0]) < TOLERANCE:
        return u, np.zeros(2)  # parallel: no lattice, and no end of the reduction
    while True:
        if u @ u > v @ v:
            u, v = v, u
        steps = round(float(u @ v / (u @ u)))
        if steps == 0:
            return u, v
        v = v - steps * u
        if v @ v >= u @ u:
            return u, v
