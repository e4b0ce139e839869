# SPDX-License-Identifier: Apache-2.0
"""Brown's lens distortion as a vendor's file has it, turned into the distortion of camera.yaml.

Read as, about the distortion centre with y up::

    x_d = x (1 + k1 r² + k2 r⁴ + k3 r⁶) + p1 (r² + 2x²) + 2 p2 x y,    y_d likewise with p2 (r² + 2y²) + 2 p1 x y

so k1, k2 are A0, A1 and p1, −p2 are B0, B1 of eq. 11 (y points down there). Coefficients without a unit are per
pixel, like every length of such a file, unless that bends the image impossibly: then per millimetre.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import numpy as np

from prism_vo.arrays import Array
from prism_vo.bounded.files import shown
from prism_vo.errors import CalibrationError
from prism_vo.optics.vendor.xml_file import Pair, pair, to_number

Unit = Literal["px", "mm"]
UNIT_NAMES: dict[str, Unit] = {"pix": "px", "px": "px", "pixel": "px", "pixels": "px", "mm": "mm"}
NO_DISTORTION = ("", "constant", "none")
# how many numbers there are → which of (k1, k2, k3, p1, p2) they are
ORDER = {
    1: ("k1",),
    2: ("k1", "k2"),
    3: ("k1", "k2", "k3"),
    4: ("k1", "k2", "p1", "p2"),
    5: ("k1", "k2", "p1", "p2", "k3"),
}
LARGEST_SHIFT = 0.15  # of the distance from the centre, at the farthest corner; beyond it the unit is another
CENTRE_SHARE = 0.25  # of the image's size: an offset beyond it counts from the corner, not from the middle
SAMPLES = 33  # a side, over which a third radial term is fitted with two


@dataclass(frozen=True)
class BrownDistortion:
    """Coefficients as written, and the centre as written."""

    radial: tuple[float, float, float]  # k1 k2 k3
    tangential: Pair  # p1 p2
    unit: Unit | None  # None: the file does not say
    centre: Pair  # px


@dataclass(frozen=True)
class LensDistortion:
    """Distortion of camera.yaml, and what became of the file's."""

    radial: Pair  # A0 A1, mm units
    tangential: Pair  # B0 B1
    centre_px: Pair  # image axes
    unit: Unit  # the file's coefficients were read in
    largest_shift: float  # px, over the sensor
    residual: float  # px, largest difference to the file's formula: only a third radial term leaves some


def read_distortion(root: ElementTree.Element, path: Path) -> BrownDistortion | None:
    """The distortion of a micro-lens file; None where there is none."""
    node = root.find("distortion")
    if node is None:
        return None
    values, unit = _parameters(node, path)
    function = (node.findtext("function") or "").strip()
    names = f"{node.get('type', '')} {function}".lower()
    if not any(values) or ("brown" not in names and function.lower() in NO_DISTORTION and not values):
        return None
    if "brown" not in names:
        raise CalibrationError(
            f"{path}: distortion of type {shown(node.get('type', ''))} with function {shown(function)} is not "
            "understood, only 'Brown' is; leave it out with --no-distortion."
        )
    if len(values) not in ORDER:
        raise CalibrationError(
            f"{path}: Brown distortion with {len(values)} parameters; 1 to 5 are understood "
            "(k1 k2 p1 p2 k3); leave it out with --no-distortion."
        )
    named = dict(zip(ORDER[len(values)], values))
    return BrownDistortion(
        radial=(named["k1"], named.get("k2", 0.0), named.get("k3", 0.0)),
        tangential=(named.get("p1", 0.0), named.get("p2", 0.0)),
        unit=unit,
        centre=_centre(node, path),
    )


def _parameters(node: ElementTree.Element, path: Path) -> tuple[list[float], Unit | None]:
    """All numbers of the ``parameter`` elements, as many as they say, and their unit."""
    values: list[float] = []
    unit: Unit | None = None
    for element in node.iter("parameter"):
        texts = [text for text in re.split(r"[\s,;]+", " ".join(element.itertext())) if text]
        numbers = [to_number(text, "distortion/parameter", path) for text in texts]
        count = element.get("count", "").strip()
        if count.isdecimal() and len(count) < 10:
            if int(count) > len(numbers):
                raise CalibrationError(
                    f"{path}: element 'distortion/parameter' announces {count} numbers and holds {len(numbers)}."
                )
            numbers = numbers[: int(count)]
        values += numbers
        unit = unit or UNIT_NAMES.get(element.get("units", element.get("unit", "")).strip().lower())
    return values, unit


def _centre(node: ElementTree.Element, path: Path) -> Pair:
    for name in ("offset", "center", "centre"):
        if node.find(name) is not None:
            return pair(node, f"{name}", path)
    return 0.0, 0.0


def lens_distortion(brown: BrownDistortion, raw_size: tuple[int, int], pixel_um: float) -> LensDistortion:
    """The same distortion in the units and axes of camera.yaml, on images of ``raw_size`` (width, height)."""
    centre = _centre_px(brown.centre, raw_size)
    places = _sensor_places(raw_size, centre)  # px about the centre, y down
    unit = brown.unit or _likely_unit(brown, places, pixel_um)
    size = pixel_um * 1e-3 if unit == "mm" else 1.0  # of a pixel, in the file's unit
    (k1, k2, k3), (p1, p2) = brown.radial, brown.tangential
    mm = pixel_um * 1e-3 / size  # mm per unit of the file
    radial_mm = (k1 / mm**2, k2 / mm**4, k3 / mm**6)
    where = places * pixel_um * 1e-3
    a0, a1 = _two_terms(radial_mm, where)
    r2 = (where**2).sum(-1)
    k1_mm, k2_mm, k3_mm = radial_mm
    lost = np.sqrt(r2) * np.abs((k1_mm - a0) * r2 + (k2_mm - a1) * r2**2 + k3_mm * r2**3)
    shift = _brown_shift(brown.radial, (p1, -p2), places * size) / size
    return LensDistortion(
        radial=(a0, a1),
        tangential=(p1 / mm, -p2 / mm),
        centre_px=centre,
        unit=unit,
        largest_shift=float(np.hypot(*shift.T).max()),
        residual=float(lost.max()) / (pixel_um * 1e-3),
    )


def _centre_px(centre: Pair, raw_size: tuple[int, int]) -> Pair:
    """From the middle with y up like the grid's offset; a value too large for that is a pixel of the image."""
    (x, y), (width, height) = centre, raw_size
    if abs(x) > CENTRE_SHARE * width or abs(y) > CENTRE_SHARE * height:
        return x, y
    return width / 2 - 0.5 + x, height / 2 - 0.5 - y


def _sensor_places(raw_size: tuple[int, int], centre: Pair) -> Array:
    x, y = (np.linspace(0, side - 1, SAMPLES) - c for side, c in zip(raw_size, centre))
    return np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)


def _likely_unit(brown: BrownDistortion, places: Array, pixel_um: float) -> Unit:
    units: tuple[tuple[Unit, float], ...] = (("px", 1.0), ("mm", pixel_um * 1e-3))
    farthest = float(np.hypot(*places.T).max())
    for unit, size in units:
        shift = _brown_shift(brown.radial, brown.tangential, places * size) / size
        if np.hypot(*shift.T).max() < LARGEST_SHIFT * farthest:
            return unit
    raise CalibrationError(
        "The micro-lens file's Brown distortion is impossibly strong in pixels and in millimetres; name the unit in "
        'its parameter element (units="pix" or "mm"), or leave it out with --no-distortion.'
    )


def _brown_shift(radial: tuple[float, float, float], tangential: Pair, places: Array) -> Array:
    (k1, k2, k3), (t1, t2) = radial, tangential
    x, y = places.T
    r2 = x * x + y * y
    gain = r2 * (k1 + r2 * (k2 + r2 * k3))
    along_x = x * gain + t1 * (r2 + 2 * x * x) + 2 * t2 * x * y
    return np.stack([along_x, y * gain + t2 * (r2 + 2 * y * y) + 2 * t1 * x * y], -1)


def _two_terms(radial: tuple[float, float, float], where: Array) -> Pair:
    """A0, A1 that come nearest over the sensor to three radial terms; the first two themselves without a third."""
    if radial[2] == 0.0:
        return radial[:2]
    r = np.hypot(*where.T)
    wanted = radial[0] * r**3 + radial[1] * r**5 + radial[2] * r**7
    (a0, a1), *_ = np.linalg.lstsq(np.stack([r**3, r**5], -1), wanted, rcond=None)
    return float(a0), float(a1)
