# SPDX-License-Identifier: Apache-2.0
"""``camera.yaml``: the strict model of a plenoptic camera's calibration file."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from prism_vo.errors import CalibrationError, InputError

Model = TypeVar("Model", bound=BaseModel)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Sensor(_Strict):
    width: int = Field(ge=16, le=65536)
    height: int = Field(ge=16, le=65536)
    pixel_size_um: float = Field(gt=0)
    bayer: Literal["RGGB", "BGGR", "GRBG", "GBRG"] | None = None


class Distortion(_Strict):
    radial: tuple[float, float] = (0.0, 0.0)
    tangential: tuple[float, float] = (0.0, 0.0)


class MainLens(_Strict):
    focal_length_mm: float = Field(gt=0)
    mla_distance_mm: float = Field(gt=0)
    principal_point_px: tuple[float, float]
    distortion: Distortion = Distortion()


class LensType(_Strict):
    focus_virtual_depth: float = Field(gt=1.0)


class MicroLenses(_Strict):
    sensor_distance_mm: float = Field(gt=0)
    layout: Literal["hexagonal", "rectangular"] = "hexagonal"
    pitch_px: float = Field(gt=3)
    rotation_rad: float = 0.0
    origin_px: tuple[float, float]
    border_px: float = Field(default=1.0, ge=0)
    lens_types: tuple[LensType, ...] = Field(min_length=1)


class TotallyFocused(_Strict):
    scale: int = Field(default=2, ge=1, le=16)
    view: Literal["central", "focal"] = "central"


class Response(_Strict):
    gamma: float = Field(default=1.0, gt=0)


class Calibration(_Strict):
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
    Path(path).write_text(yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=110))


def read_yaml(path: Path) -> Any:
    """Parse a YAML file or say in one sentence why not."""
    if not path.is_file():
        raise InputError(f"{path}: no such file.")
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        raise InputError(f"{path}: not a YAML file{where}.") from error


def parse_strict(model: type[Model], data: Any, path: Path, kind: type[InputError]) -> Model:
    """Validate ``data``; turn pydantic's list of faults into one sentence with a suggestion."""
    if not isinstance(data, dict):
        raise kind(f"{path}: expected a mapping of keys, found {type(data).__name__}.")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = _known_keys(model, first["loc"][:-1])
            close = difflib.get_close_matches(str(first["loc"][-1]), known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; known here: {', '.join(sorted(known))}."
            raise kind(f"{path}: unknown key {key!r}{hint}") from error
        if first["type"] == "missing":
            raise kind(f"{path}: key {key!r} is missing.") from error
        message = str(first["msg"]).removeprefix("Value error, ")
        where = f"key {key!r}: " if key else ""
        raise kind(f"{path}: {where}{message}.") from error


def _known_keys(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    fields = model.model_fields
    for part in location:
        if isinstance(part, int) or part not in fields:
            continue
        annotation: Any = fields[part].annotation
        arguments = [annotation, *getattr(annotation, "__args__", ())]
        inner = [a for a in arguments if isinstance(a, type) and issubclass(a, BaseModel)]
        if not inner:
            return []
        fields = inner[0].model_fields
    return list(fields)
