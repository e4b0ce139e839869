# SPDX-License-Identifier: Apache-2.0
"""LiFCal's ``CameraModel.xml``: the optics, without the micro-lens grid."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from prism_vo.bounded.files import shown
from prism_vo.errors import CalibrationError
from prism_vo.optics.vendor.xml_file import Pair, expect_root, number, optional, pair, positive

MODEL_ROOT = "Root"


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
    path: Path | None = None  # for messages


def read_lifcal_model(path: Path) -> LifcalModel:
    """Read a LiFCal ``CameraModel.xml`` (root ``Root``, model ``Plenoptic``)."""
    root = expect_root(path, MODEL_ROOT, "a LiFCal camera model")
    model = (root.findtext("CalibrationModel") or "").strip()
    if model != "Plenoptic":
        raise CalibrationError(
            f"{path}: CalibrationModel is {shown(model)}; only 'Plenoptic' describes this camera."
        )
    if any(
        number(root, f"RadialDistortion/{node.tag}", path) for node in root.findall("RadialDistortion/*")[2:]
    ):
        raise CalibrationError(f"{path}: more than two radial distortion terms; run LiFCal again with two.")
    width, height = pair(root, "ImageSize", path, "Width", "Height")
    return LifcalModel(
        tf_size=(int(width), int(height)),
        pixel_size_mm=positive(root, "PixelSize", path),
        principal_point=pair(root, "PrincipalPoint", path),
        focal_length=number(root, "FocalLength", path),
        mla_distance=number(root, "MainLensMlaDistance", path),
        sensor_distance=number(root, "SensorMlaDistance", path),
        radial=(optional(root, "RadialDistortion/A0", path), optional(root, "RadialDistortion/A1", path)),
        tangential=(
            optional(root, "TangentialDistortion/B0", path),
            optional(root, "TangentialDistortion/B1", path),
        ),
        centres_adjusted=(root.findtext("MicroLensCenterAdjustment") or "true").strip().lower() == "true",
        path=path,
    )
