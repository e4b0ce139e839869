# SPDX-License-Identifier: Apache-2.0
"""Raytrix micro-lens XML (root ``RayCalibData``): the file, and the grids it can mean."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from prism_vo.arrays import Array
from prism_vo.bounded.files import shown
from prism_vo.errors import CalibrationError
from prism_vo.optics.vendor.brown import BrownDistortion, read_distortion
from prism_vo.optics.vendor.lattice import check_class_count, lattice_layout, lens_class, row_angle
from prism_vo.optics.vendor.reading import (
    NOMINAL_FOCUS,
    GridReading,
    Layout,
    check_pitch,
    smallest_turn,
)
from prism_vo.optics.vendor.xml_file import Pair, expect_root, number, optional, pair

MLA_ROOT = "RayCalibData"
LONGEST_ID = 9  # digits
SAME_ANGLE = 1e-6  # rad: the files hold single-precision numbers
UNTURNED = 1e-3  # rad: base vectors within this of an unturned grid are not turned
NEARLY = 0.05  # rad: base vectors this near to the rotation may have been turned by it


@dataclass(frozen=True)
class RaytrixLensType:
    """One of the interleaved lens types: where one lens of it sits, in pitches, and its sharp range."""

    offset: Pair
    depth_range: Pair  # virtual depths
    number: int = 0  # the id in the file


@dataclass(frozen=True)
class RaytrixGrid:
    """The micro-lens grid as the vendor writes it.

    The offset of the grid has its y axis UP. Base vectors and offsets of lens types are in image axes, y DOWN: in
    images of a camera whose lens rows run upwards, only so the sharp lenses are those the file says.
    """

    offset: Pair  # px, of one lens from the image centre
    diameter: float  # px
    rotation: float  # rad, counter-clockwise
    lens_border: float  # px
    lens_base_x: Pair
    lens_base_y: Pair
    lens_types: tuple[RaytrixLensType, ...]
    least_virtual_depth: float | None = None  # ``tcp``: where micro-images begin to cover a plane completely
    distortion: BrownDistortion | None = None


def read_raytrix_grid(path: Path, *, distortion: bool = True) -> RaytrixGrid:
    """Read a Raytrix MLA XML; without ``distortion`` that part of the file is not looked at."""
    root = expect_root(path, MLA_ROOT, "a Raytrix micro-lens calibration")
    types = [_lens_type(node, path) for node in root.findall("lens_type")]
    return RaytrixGrid(
        offset=pair(root, "offset", path),
        diameter=number(root, "diameter", path),
        rotation=optional(root, "rotation", path),
        lens_border=optional(root, "lens_border", path, 1.0),
        lens_base_x=pair(root, "lens_base_x", path),
        lens_base_y=pair(root, "lens_base_y", path),
        lens_types=tuple(sorted(types, key=lambda kind: kind.number)),
        least_virtual_depth=None if root.find("tcp") is None else number(root, "tcp", path),
        distortion=read_distortion(root, path) if distortion else None,
    )


def _lens_type(node: ElementTree.Element, path: Path) -> RaytrixLensType:
    name = node.get("id", "0")
    if not name.strip().isdecimal() or len(name) > LONGEST_ID:
        raise CalibrationError(f"{path}: a lens_type has the id {shown(name)}, not a number.")
    return RaytrixLensType(
        pair(node, "offset", path), pair(node, "depth_range", path, "min", "max"), int(name)
    )


def raytrix_readings(grid: RaytrixGrid, raw_size: tuple[int, int]) -> tuple[GridReading, ...]:
    """What the file can mean on images of ``raw_size`` (width, height), the likelier reading first.

    ``rotation`` turns the base vectors unless they are turned already: files of both kinds exist. Vectors of an
    unturned grid, or turned by another angle, cannot be turned already; else only an image can tell.
    """
    check_pitch(grid.diameter)
    layout = lattice_layout(grid.lens_base_x, grid.lens_base_y)
    base = row_angle(grid.lens_base_x, grid.lens_base_y)
    if abs(smallest_turn(grid.rotation, layout)) < SAME_ANGLE:
        return (_reading(grid, layout, raw_size, base, grid.rotation, "it can mean one grid only"),)
    turned = _reading(grid, layout, raw_size, base, grid.rotation, "its rotation turns the base vectors")
    as_written = _reading(grid, layout, raw_size, base, 0.0, "its base vectors are turned already")
    unturned = abs(smallest_turn(base, layout)) < UNTURNED
    alike = abs(smallest_turn(base - grid.rotation, layout)) < NEARLY
    return turned, replace(as_written, likely=alike and not unturned)


def _reading(
    grid: RaytrixGrid, layout: Layout, raw_size: tuple[int, int], base: float, turn: float, meaning: str
) -> GridReading:
    rotation = smallest_turn(base - turn, layout) + 0.0  # no −0; counter-clockwise is negative with y down
    order, focus = _types_by_class(grid, layout, rotation, turn)
    width, height = raw_size
    return GridReading(
        meaning=meaning,
        layout=layout,
        pitch=grid.diameter,
        rotation=rotation,
        origin=(width / 2 - 0.5 + grid.offset[0], height / 2 - 0.5 - grid.offset[1]),
        focus=focus,
        type_order=order,
    )


def _types_by_class(
    grid: RaytrixGrid, layout: Layout, rotation: float, turn: float
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The file's type ids, and their focus (harmonic mean of the sharp range), by our lens class."""
    count = len(grid.lens_types)
    if count == 0:
        return (), (NOMINAL_FOCUS,)
    check_class_count(layout, count)
    classes = _classes(grid, layout, rotation, turn)
    if len(set(classes)) != count:
        raise CalibrationError("Two lens types of the micro-lens grid share one offset.")
    by_class = dict(zip(classes, grid.lens_types))
    kinds = [by_class[c] for c in range(count)]
    return tuple(kind.number for kind in kinds), tuple(_focus(kind) for kind in kinds)


def _classes(grid: RaytrixGrid, layout: Layout, rotation: float, turn: float) -> list[int]:
    """Our class of each lens type: its offset is a vector in pitches or, if no lens is there, in base vectors."""
    bases = np.array([grid.lens_base_x, grid.lens_base_y])
    offsets = np.array([kind.offset for kind in grid.lens_types])
    for vectors in (offsets, offsets @ bases):
        found = [lens_class(v, layout, rotation, len(offsets)) for v in _turned(vectors, turn)]
        classes = [c for c in found if c is not None]
        if len(classes) == len(found):
            return classes
    raise CalibrationError("A lens type of the micro-lens grid has an offset where the grid has no lens.")


def _turned(vectors: Array, turn: float) -> Array:
    """Vectors (N, 2) with y down, turned counter-clockwise as the eye sees it."""
    c, s = math.cos(turn), math.sin(turn)
    return np.asarray(vectors @ np.array([[c, -s], [s, c]]))


def _focus(kind: RaytrixLensType) -> float:
    near, far = kind.depth_range
    if near <= 0 or far <= 0:
        raise CalibrationError("A lens type has a depth_range that is not positive.")
    return 2.0 / (1.0 / near + 1.0 / far)
