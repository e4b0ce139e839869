# SPDX-License-Identifier: Apache-2.0
"""``camera.yaml``: the strict model of a plenoptic camera's calibration file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, model_validator

from prism_vo.atomic import write_text_atomically
from prism_vo.errors import CalibrationError, expect
from prism_vo.yaml_files import StrictModel, parse_strict, read_yaml

MOST_PIXELS = 128 << 20
LARGEST_VIRTUAL_DEPTH = 20.0  # beyond it the disparity between micro-images is lost in noise
LARGEST_FIELD_SHIFT = 5.0  # virtual depths at the farthest corner: beyond it nothing could be measured there
LARGEST_DISTORTION_SLOPE = 0.5  # the fixed-point inversion converges below 1
Place = Annotated[float, Field(ge=-1e6, le=1e6)]  # px
LONGEST_SIDES = 8  # of a sensor, one over the other: tables of lens indices grow with it
MOST_LENSES = 1_000_000
Coefficient = Annotated[float, Field(ge=-1e6, le=1e6)]
NominalKey = Literal[
    "focal_length_mm", "mla_distance_mm", "sensor_distance_mm", "principal_point_px", "focus_virtual_depth"
]


class Sensor(StrictModel):
    width: int = Field(ge=16, le=65536)
    height: int = Field(ge=16, le=65536)
    pixel_size_um: float = Field(ge=0.1, le=1000)
    bayer: Literal["RGGB", "BGGR", "GRBG", "GBRG"] | None = None
    bits: int | None = Field(default=None, ge=8, le=16)  # of a number in 16-bit files; None: found from them


class Distortion(StrictModel):
    radial: tuple[Coefficient, Coefficient] = (0.0, 0.0)
    tangential: tuple[Coefficient, Coefficient] = (0.0, 0.0)
    centre_px: tuple[Place, Place] | None = None  # raw pixels; None: the principal point


class ImageField(StrictModel):
    """How the surface that the lens focuses on departs from a plane, in virtual depths (eq. 11a)."""

    tilt: tuple[Coefficient, Coefficient] = (0.0, 0.0)  # per mm, right and down
    curvature: Coefficient = 0.0  # per mm²


class MainLens(StrictModel):
    focal_length_mm: float = Field(ge=0.1, le=10_000)
    mla_distance_mm: float = Field(ge=0.01, le=10_000)
    principal_point_px: tuple[Place, Place]
    distortion: Distortion = Distortion()
    field: ImageField = ImageField()

    @property
    def distortion_centre_px(self) -> tuple[float, float]:
        """Where the distortion is centred, raw pixels."""
        return self.distortion.centre_px or self.principal_point_px


class LensType(StrictModel):
    focus_virtual_depth: float = Field(gt=1.0, le=1000)


class MicroLenses(StrictModel):
    sensor_distance_mm: float = Field(ge=0.001, le=1000)
    layout: Literal["hexagonal", "rectangular"] = "hexagonal"
    pitch_px: float = Field(gt=3, le=10_000)
    rotation_rad: float = Field(default=0.0, ge=-7, le=7)
    origin_px: tuple[Place, Place]
    border_px: float = Field(default=1.0, ge=0, le=10_000)
    lens_types: tuple[LensType, ...] = Field(min_length=1, max_length=64)


class TotallyFocused(StrictModel):
    scale: int = Field(default=2, ge=1, le=16)
    view: Literal["central", "focal"] = "central"


class Response(StrictModel):
    gamma: float = Field(default=1.0, ge=0.05, le=20)


class Calibration(StrictModel):
    """The whole ``camera.yaml``."""

    format: Literal["prism-vo/camera/1"] = "prism-vo/camera/1"
    sensor: Sensor
    main_lens: MainLens
    mla: MicroLenses
    totally_focused: TotallyFocused = TotallyFocused()
    response: Response = Response()
    uncertainty: dict[str, Any] | None = None
    nominal: tuple[
        NominalKey, ...
    ] = ()  # what was not measured; with optics among it distances are not metric
    frame_rate: float = Field(default=10.0, ge=1e-6, le=1e6)

    @model_validator(mode="after")
    def _possible_optics(self) -> Calibration:
        lens, mla = self.main_lens, self.mla
        if self.sensor.width * self.sensor.height > MOST_PIXELS:
            raise ValueError(f"sensor.width: more than {MOST_PIXELS >> 20} million pixels are not worked on")
        short, long = sorted((self.sensor.width, self.sensor.height))
        if long > LONGEST_SIDES * short:
            raise ValueError(f"sensor.width: one side is more than {LONGEST_SIDES} times the other")
        if self.sensor.width * self.sensor.height > MOST_LENSES * mla.pitch_px**2:
            raise ValueError(f"mla.pitch_px: the sensor would hold more than {MOST_LENSES:,} micro-lenses")
        if self.sensor.width < 3 * mla.pitch_px or self.sensor.height < 3 * mla.pitch_px:
            raise ValueError("mla.pitch_px: the sensor holds fewer than three micro-lenses a side")
        if mla.border_px * 2 >= mla.pitch_px - 2:
            raise ValueError("mla.border_px: the border leaves nothing of a micro-image")
        # the virtual depth falls with distance: a point at infinity has the least
        least = (lens.focal_length_mm - lens.mla_distance_mm) / mla.sensor_distance_mm
        if least > LARGEST_VIRTUAL_DEPTH:
            raise ValueError(
                f"main_lens.mla_distance_mm: every point has a virtual depth above {least:.0f}, "
                "so no depth in front of the camera can be measured"
            )
        self._check_distortion()
        r, field = self._reach_mm(lens.principal_point_px), lens.field
        if abs(field.curvature) * r**2 + max(map(abs, field.tilt)) * r > LARGEST_FIELD_SHIFT:
            raise ValueError(
                f"main_lens.field: more than {LARGEST_FIELD_SHIFT:g} virtual depths at the corner of the sensor; "
                "the coefficients are in units of mm"
            )
        return self

    def _reach_mm(self, centre_px: tuple[float, float]) -> float:
        """Distance of the farthest corner, mm."""
        sides = (self.sensor.width, self.sensor.height)
        reach = [max(abs(c), abs(side - 1 - c)) for c, side in zip(centre_px, sides)]
        return float((reach[0] ** 2 + reach[1] ** 2) ** 0.5 * self.sensor.pixel_size_um * 1e-3)

    def _check_distortion(self) -> None:
        """The distortion must not fold the image: its slope at the farthest corner stays small."""
        lens = self.main_lens
        r = self._reach_mm(lens.distortion_centre_px)
        (a0, a1), (b0, b1) = lens.distortion.radial, lens.distortion.tangential
        slope = abs(3 * a0 * r**2 + 5 * a1 * r**4) + 6 * r * max(abs(b0), abs(b1))
        if slope > LARGEST_DISTORTION_SLOPE:
            raise ValueError(
                "main_lens.distortion: so strong that it cannot be inverted over the sensor; "
                "the coefficients are in units of mm"
            )


def load_calibration(path: Path | str) -> Calibration:
    """Read and check a ``camera.yaml``; every fault is one sentence naming file and key."""
    expect(path, (str, Path), "path")
    path = Path(path)
    return parse_strict(Calibration, read_yaml(path), path, CalibrationError)


def save_calibration(calibration: Calibration, path: Path | str) -> None:
    """Write a ``camera.yaml`` that loads back to an equal object; rare keys only where they say something."""
    expect(calibration, Calibration, "calibration")
    data = calibration.model_dump(mode="json")
    if calibration.sensor.bits is None:  # not known: nothing to write down
        del data["sensor"]["bits"]
    if not calibration.nominal:
        del data["nominal"]
    if calibration.main_lens.distortion.centre_px is None:
        del data["main_lens"]["distortion"]["centre_px"]
    if calibration.main_lens.field == ImageField():
        del data["main_lens"]["field"]
    text = yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=110)
    write_text_atomically(Path(path), text)
