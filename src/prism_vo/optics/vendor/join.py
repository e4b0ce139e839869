# SPDX-License-Identifier: Apache-2.0
"""A grid and optics become one ``camera.yaml``."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from prism_vo.errors import CalibrationError
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.vendor.brown import lens_distortion
from prism_vo.optics.vendor.grid_file import VendorGrid, grid_readings, the_only_reading
from prism_vo.optics.vendor.lifcal import LifcalModel
from prism_vo.optics.vendor.optics_of import Optics, lifcal_optics
from prism_vo.optics.vendor.raytrix import RaytrixGrid
from prism_vo.optics.vendor.reading import GridReading

LEAST_BORDER = 1.0  # px


def calibration_from_vendor(
    grid: VendorGrid, model: LifcalModel, raw_size: tuple[int, int], view: str = "central"
) -> Calibration:
    """Join a grid that needs no image and LiFCal's optics; ``raw_size`` (width, height) is in neither file."""
    scale = tf_scale(model, raw_size)
    reading = the_only_reading(grid_readings(grid, raw_size))
    brown = grid.distortion if isinstance(grid, RaytrixGrid) else None
    distortion = None if brown is None else lens_distortion(brown, raw_size, model.pixel_size_mm * 1e3)
    return join_calibration(grid, reading, lifcal_optics(model, scale, distortion), raw_size, view)


def join_calibration(
    grid: VendorGrid, reading: GridReading, optics: Optics, raw_size: tuple[int, int], view: str = "central"
) -> Calibration:
    """The calibration, or one sentence why it is not usable."""
    border = grid.lens_border if isinstance(grid, RaytrixGrid) else LEAST_BORDER
    data: dict[str, Any] = {
        "sensor": {"width": raw_size[0], "height": raw_size[1], "pixel_size_um": optics.pixel_size_um},
        "main_lens": {
            "focal_length_mm": optics.focal_length_mm,
            "mla_distance_mm": optics.mla_distance_mm,
            "principal_point_px": optics.principal_point_px,
            "distortion": {
                "radial": optics.radial,
                "tangential": optics.tangential,
                "centre_px": optics.distortion_centre_px,
            },
        },
        "mla": {
            "sensor_distance_mm": optics.sensor_distance_mm,
            "layout": reading.layout,
            "pitch_px": reading.pitch,
            "rotation_rad": reading.rotation,
            "origin_px": reading.origin,
            "border_px": max(LEAST_BORDER, border),
            "lens_types": [{"focus_virtual_depth": focus} for focus in reading.focus],
        },
        "totally_focused": {"scale": optics.scale, "view": view},
        "nominal": optics.nominal if reading.type_order else (*optics.nominal, "focus_virtual_depth"),
    }
    try:
        return Calibration.model_validate(data)
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(str(part) for part in fault["loc"])
        message = str(fault["msg"]).removeprefix("Value error, ")
        raise CalibrationError(f"The calibration is not usable: {f'{key} {message}'.strip()}.") from error


def tf_scale(model: LifcalModel, raw_size: tuple[int, int]) -> int:
    """k, the raw pixels per totally focused pixel, or one sentence why the sizes do not belong together."""
    tf_size = model.tf_size
    scale = round(raw_size[0] / tf_size[0]) if tf_size[0] > 0 else 0
    if scale < 1 or (raw_size[0] // scale, raw_size[1] // scale) != tf_size:
        named = "" if model.path is None else f"{model.path}: "
        raise CalibrationError(
            f"{named}raw size {raw_size[0]}x{raw_size[1]} is no multiple of the camera model's focused image size "
            f"{tf_size[0]}x{tf_size[1]}; give the raw size of the same camera."
        )
    return scale
