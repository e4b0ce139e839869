# SPDX-License-Identifier: Apache-2.0
"""Write what other programs read: LiFCal's ``CameraModel.xml`` and a Raytrix micro-lens XML."""

from __future__ import annotations

from xml.etree import ElementTree

from prism_vo.errors import CalibrationError
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.vendor.lifcal import MODEL_ROOT
from prism_vo.optics.vendor.raytrix import MLA_ROOT

BASES = {"hexagonal": ((1.0, 0.0), (0.5, 0.75**0.5)), "rectangular": ((1.0, 0.0), (0.0, 1.0))}
OFFSETS = ((0.0, 0.0), (1.0, 0.0), (-1.0, 0.0))  # a lens of each class (i − j) mod 3, in pitches
NEAR, FAR = 0.8, 4.0 / 3.0  # of the focused virtual depth: a range whose harmonic mean it is
MM = 1e-3


def lifcal_xml(calibration: Calibration) -> str:
    """The optics as LiFCal writes them; the principal point is that of the focused image."""
    lens, sensor, scale = calibration.main_lens, calibration.sensor, calibration.totally_focused.scale
    if lens.distortion.centre_px is not None:
        raise CalibrationError("The distortion has a centre of its own, which a CameraModel.xml cannot say.")
    root = ElementTree.Element(MODEL_ROOT)
    _text(root, "CalibrationModel", "Plenoptic")
    _group(root, "ImageSize", {"Width": sensor.width // scale, "Height": sensor.height // scale})
    _text(root, "PixelSize", sensor.pixel_size_um * MM)
    x, y = ((c + 0.5) / scale - 0.5 for c in lens.principal_point_px)
    _group(root, "PrincipalPoint", {"x": x, "y": y})
    _text(root, "FocalLength", lens.focal_length_mm)
    _text(root, "MainLensMlaDistance", lens.mla_distance_mm)
    _text(root, "SensorMlaDistance", calibration.mla.sensor_distance_mm)
    _group(root, "RadialDistortion", dict(zip(("A0", "A1"), lens.distortion.radial)))
    _group(root, "TangentialDistortion", dict(zip(("B0", "B1"), lens.distortion.tangential)))
    _text(root, "MicroLensCenterAdjustment", "true")
    return _document(root)


def raytrix_xml(calibration: Calibration) -> str:
    """The grid as Raytrix writes it: base vectors unturned, rotation counter-clockwise, offset with y up."""
    mla, sensor = calibration.mla, calibration.sensor
    root = ElementTree.Element(MLA_ROOT, {"version": "1.0"})
    x, y = mla.origin_px
    _group(root, "offset", {"x": x - (sensor.width / 2 - 0.5), "y": (sensor.height / 2 - 0.5) - y})
    _text(root, "diameter", mla.pitch_px)
    _text(root, "rotation", -mla.rotation_rad)
    _text(root, "lens_border", mla.border_px)
    for name, base in zip(("lens_base_x", "lens_base_y"), BASES[mla.layout]):
        _group(root, name, dict(zip("xy", base)))
    for number, (kind, offset) in enumerate(zip(mla.lens_types, OFFSETS)):
        node = ElementTree.SubElement(root, "lens_type", {"id": str(number)})
        _group(node, "offset", dict(zip("xy", offset)))
        focus = kind.focus_virtual_depth
        _group(node, "depth_range", {"min": NEAR * focus, "max": FAR * focus})
    return _document(root)


def _text(parent: ElementTree.Element, name: str, value: object) -> None:
    ElementTree.SubElement(parent, name).text = value if isinstance(value, str) else repr(value)


def _group(parent: ElementTree.Element, name: str, values: dict[str, float]) -> None:
    node = ElementTree.SubElement(parent, name)
    for key, value in values.items():
        _text(node, key, value)


def _document(root: ElementTree.Element) -> str:
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
