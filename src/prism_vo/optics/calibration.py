# SPDX-License-Identifier: Apache-2.0
"""``camera.yaml``: the strict model of a plenoptic camera's calibration file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, model_validator

from prism_vo.errors import CalibrationError
from prism_vo.yaml_files import StrictModel, parse_strict, read_yaml, write_text_atomically


class Sensor(StrictModel):
    width: int = Field(ge=16, le=65536)
    height: int = Field(ge=16, le=65536)
    pixel_size_um: float = Field(gt=0)
    bayer: Literal["RGGB", "BGGR", "GRBG", "GBRG"] | None = None


class Distortion(StrictModel):
    radial: tuple[float, float] = (0.0, 0.0)
    tangential: tuple[float, float] = (0.0, 0.0)


class MainLens(StrictModel):
    focal_length_mm: float = Field(gt=0)
    mla_distance_mm: float = Field(gt=0)
    principal_point_px: tuple[float, float]
    distortion: Distortion = Distortion()


class LensType(StrictModel):
    focus_virtual_depth: float = Field(gt=1.0)


class MicroLenses(StrictModel):
    sensor_distance_mm: float = Field(gt=0)
    layout: Literal["hexagonal", "rectangular"] = "hexagonal"
    pitch_px: float = Field(gt=3)
    rotation_rad: float = 0.0
    origin_px: tuple[float, float]
    border_px: float = Field(default=1.0, ge=0)
    lens_types: tuple[LensType, ...] = Field(min_length=1)


class TotallyFocused(StrictModel):
    scale: int = Field(default=2, ge=1, le=16)
    view: Literal["central", "focal"] = "central"


class Response(StrictModel):
    gamma: float = Field(default=1.0, gt=0)


class Calibration(StrictModel):
    """The whole ``camera.yaml``."""

    format: Literal["prism-vo/camera/1"] = "prism-vo/camera/1"
    sensor: Sensor
    main_lens: MainLens
    mla: MicroLenses
    totally_focused: TotallyFocused = TotallyFocused()
    response: Response = Response()
    uncertainty: dict[str, Any] | None = None
    frame_rate: float = Field(default=10.0, gt=0)

    @model_validator(mode="after")
    def _possible_optics(self) -> Calibration:
        lens, mla = self.main_lens, self.mla
        if self.sensor.width < 3 * mla.pitch_px or self.sensor.height < 3 * mla.pitch_px:
            raise ValueError("mla.pitch_px: the sensor holds fewer than three micro-lenses a side")
        if mla.border_px * 2 >= mla.pitch_px - 2:
            raise ValueError("mla.border_px: the border leaves nothing of a micro-image")
        if lens.mla_distance_mm + 2.0 * mla.sensor_distance_mm <= lens.focal_length_mm * (1 + 1e-6):
            # virtual depth 2 is the least at which two lenses see a point; it must lie at a finite, positive depth
            # or beyond infinity; below that, nothing in front of the camera has a usable virtual image
            far_limit = (lens.focal_length_mm - lens.mla_distance_mm) / mla.sensor_distance_mm
            if far_limit > 20:
                raise ValueError(
                    "main_lens.mla_distance_mm: so far in front of the focal plane that every point has a virtual "
                    f"depth above {far_limit:.0f}; no depth in front of the camera can be measured"
                )
        return self


def load_calibration(path: Path | str) -> Calibration:
    """Read and check a ``camera.yaml``; every fault is one sentence naming file and key."""
    path = Path(path)
    return parse_strict(Calibration, read_yaml(path), path, CalibrationError)


def save_calibration(calibration: Calibration, path: Path | str) -> None:
    """Write a ``camera.yaml`` that loads back to an equal object."""
    data = calibration.model_dump(mode="json")
    text = yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=110)
    write_text_atomically(Path(path), text)
