# SPDX-License-Identifier: Apache-2.0
"""Calibration files users already have: Raytrix micro-lens XML and LiFCal ``CameraModel.xml``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from pydantic import ValidationError

from prism_vo.errors import CalibrationError, InputError
from prism_vo.optics.calibration import Calibration

MLA_ROOT, MODEL_ROOT = "RayCalibData", "Root"
HEXAGONAL_ROW = math.sqrt(3.0) / 2.0  # row distance of a hexagonal grid, in pitches
Pair = tuple[float, float]


@dataclass(frozen=True)
class RaytrixLensType:
    """One of the interleaved lens types: where one lens of it sits, in base vectors, and its sharp range."""

    offset: Pair
    depth_range: Pair  # virtual depths


@dataclass(frozen=True)
class RaytrixGrid:
    """The micro-lens grid as the vendor writes it: y up, about the image centre, base vectors in pitches."""

    offset: Pair  # px
    diameter: float  # px
    rotation: float  # rad, counter-clockwise
    lens_border: float  # px
    lens_base_x: Pair
    lens_base_y: Pair
    lens_types: tuple[RaytrixLensType, ...]


@dataclass(frozen=True)
class LifcalModel:
    """A LiFCal camera model: lengths in mm, principal point and size on the totally focused image."""

    tf_size: tuple[int, int]
    pixel_size_mm: float  # of a RAW pixel
    principal_point: Pair
    focal_length: float
    mla_distance: float
    sensor_distance: float
    radial: Pair
    tangential: Pair
    centres_adjusted: bool


def root_name(path: Path) -> str:
    """Name of the root element of an XML file, to tell the two kinds apart."""
    return _parse(path).tag


def read_raytrix_grid(path: Path) -> RaytrixGrid:
    """Read a Raytrix MLA XML (root ``RayCalibData``)."""
    root = _root(path, MLA_ROOT, "a Raytrix micro-lens calibration")
    types = sorted(root.findall("lens_type"), key=lambda node: int(node.get("id", "0")))
    if not types:
        raise CalibrationError(f"{path}: element 'lens_type' is missing.")
    return RaytrixGrid(
        offset=_pair(root, "offset", path),
        diameter=_number(root, "diameter", path),
        rotation=_number(root, "rotation", path),
        lens_border=_number(root, "lens_border", path),
        lens_base_x=_pair(root, "lens_base_x", path),
        lens_base_y=_pair(root, "lens_base_y", path),
        lens_types=tuple(
            RaytrixLensType(_pair(t, "offset", path), _pair(t, "depth_range", path, "min", "max"))
            for t in types
        ),
    )


def read_lifcal_model(path: Path) -> LifcalModel:
    """Read a LiFCal ``CameraModel.xml`` (root ``Root``, model ``Plenoptic``)."""
    root = _root(path, MODEL_ROOT, "a LiFCal camera model")
    model = (root.findtext("CalibrationModel") or "").strip()
    if model != "Plenoptic":
        raise CalibrationError(
            f"{path}: CalibrationModel is {model!r}; only 'Plenoptic' describes this camera."
        )
    if any(
        _number(root, f"RadialDistortion/{node.tag}", path) for node in root.findall("RadialDistortion/*")[2:]
    ):
        raise CalibrationError(f"{path}: more than two radial distortion terms; run LiFCal again with two.")
    width, height = _pair(root, "ImageSize", path, "Width", "Height")
    return LifcalModel(
        tf_size=(int(width), int(height)),
        pixel_size_mm=_number(root, "PixelSize", path),
        principal_point=_pair(root, "PrincipalPoint", path),
        focal_length=_number(root, "FocalLength", path),
        mla_distance=_number(root, "MainLensMlaDistance", path),
        sensor_distance=_number(root, "SensorMlaDistance", path),
        radial=(_optional(root, "RadialDistortion/A0", path), _optional(root, "RadialDistortion/A1", path)),
        tangential=(
            _optional(root, "TangentialDistortion/B0", path),
            _optional(root, "TangentialDistortion/B1", path),
        ),
        centres_adjusted=(root.findtext("MicroLensCenterAdjustment") or "true").strip().lower() == "true",
    )


def calibration_from_vendor(
    grid: RaytrixGrid, model: LifcalModel, raw_size: tuple[int, int], view: str = "central"
) -> Calibration:
    """Join both files; ``raw_size`` (width, height) is in neither of them."""
    scale = tf_scale(model.tf_size, raw_size)
    _check_hexagonal(grid)
    to_raw = [scale * (c + 0.5) - 0.5 for c in model.principal_point]
    width, height = raw_size
    data = {
        "sensor": {"width": width, "height": height, "pixel_size_um": round(model.pixel_size_mm * 1e3, 9)},
        "main_lens": {
            "focal_length_mm": model.focal_length,
            "mla_distance_mm": model.mla_distance,
            "principal_point_px": to_raw,
            "distortion": {"radial": model.radial, "tangential": model.tangential},
        },
        "mla": {
            "sensor_distance_mm": model.sensor_distance,
            "layout": "hexagonal",
            "pitch_px": grid.diameter,
            "rotation_rad": -grid.rotation,  # the vendor's y axis points up
            "origin_px": [width / 2 - 0.5 + grid.offset[0], height / 2 - 0.5 - grid.offset[1]],
            "border_px": max(1.0, grid.lens_border),
            "lens_types": [{"focus_virtual_depth": focus} for focus in _focus_by_class(grid)],
        },
        "totally_focused": {"scale": scale, "view": view},
    }
    try:
        return Calibration.model_validate(data)
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(str(part) for part in fault["loc"])
        raise CalibrationError(f"The calibration is not usable: {key} {fault['msg']}.") from error


def tf_scale(tf_size: tuple[int, int], raw_size: tuple[int, int]) -> int:
    """k, the raw pixels per totally focused pixel, or one sentence why the sizes do not belong together."""
    scale = round(raw_size[0] / tf_size[0])
    if scale < 1 or (raw_size[0] // scale, raw_size[1] // scale) != tf_size:
        raise CalibrationError(
            f"Raw size {raw_size[0]}x{raw_size[1]} is no multiple of the camera model's focused image size "
            f"{tf_size[0]}x{tf_size[1]}; give the raw size of the same camera."
        )
    return scale


def _check_hexagonal(grid: RaytrixGrid) -> None:
    (bx, by), (cx, cy) = grid.lens_base_x, grid.lens_base_y
    if abs(bx - 1) > 1e-3 or abs(by) > 1e-3 or abs(cx - 0.5) > 1e-3 or abs(cy - HEXAGONAL_ROW) > 1e-3:
        raise CalibrationError(
            f"The micro-lens grid has base vectors ({bx:g}, {by:g}) and ({cx:g}, {cy:g}); "
            "only (1, 0) and (0.5, 0.866) are understood."
        )


def _focus_by_class(grid: RaytrixGrid) -> list[float]:
    """Focus (harmonic mean of the sharp range) ordered by our lens class ``(i − j) mod n``.

    A lens m·base_x + n·base_y of the vendor (y up) has i = m + n, j = −n: class (m + 2n) ≡ (m − n) mod 3.
    """
    count = len(grid.lens_types)
    if count not in (1, 3):
        raise CalibrationError(f"The micro-lens grid has {count} lens types; 1 or 3 are understood.")
    by_class = {}
    for lens_type in grid.lens_types:
        m, n = lens_type.offset
        near, far = lens_type.depth_range
        if near <= 0 or far <= 0:
            raise CalibrationError("A lens type has a depth_range that is not positive.")
        by_class[round(m - n) % count] = 2.0 / (1.0 / near + 1.0 / far)
    if len(by_class) != count:
        raise CalibrationError("Two lens types of the micro-lens grid share one offset.")
    return [by_class[c] for c in range(count)]


def _parse(path: Path) -> ElementTree.Element:
    if not path.is_file():
        raise InputError(f"{path}: no such file.")
    try:
        return ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, UnicodeDecodeError, ValueError) as error:
        raise InputError(f"{path}: not an XML file.") from error


def _root(path: Path, expected: str, what: str) -> ElementTree.Element:
    root = _parse(path)
    if root.tag != expected:
        raise CalibrationError(f"{path}: root element is {root.tag!r}, not {expected!r}; is it {what}?")
    return root


def _number(node: ElementTree.Element, name: str, path: Path) -> float:
    text = node.findtext(name)
    if text is None:
        raise CalibrationError(f"{path}: element {name!r} is missing.")
    try:
        value = float(text)
    except ValueError as error:
        raise CalibrationError(f"{path}: element {name!r} holds {text.strip()!r}, not a number.") from error
    if not math.isfinite(value):
        raise CalibrationError(f"{path}: element {name!r} is not finite.")
    return value


def _optional(node: ElementTree.Element, name: str, path: Path) -> float:
    return 0.0 if node.find(name) is None else _number(node, name, path)


def _pair(node: ElementTree.Element, name: str, path: Path, first: str = "x", second: str = "y") -> Pair:
    return _number(node, f"{name}/{first}", path), _number(node, f"{name}/{second}", path)
