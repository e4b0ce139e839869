# SPDX-License-Identifier: Apache-2.0
"""Camera presets of the simulator, and cameras with fewer pixels and lenses behind the same main lens."""

from __future__ import annotations

from dataclasses import dataclass

from prism_vo.errors import ConfigError
from prism_vo.optics.calibration import Calibration


@dataclass(frozen=True)
class Preset:
    """The figures of a camera from which its calibration is laid out."""

    size: tuple[int, int]
    pixel_um: float
    pitch_px: float
    f_L: float  # mm
    b_L0: float  # mm
    B: float  # mm
    focus: tuple[float, ...]
    summary: str


PRESETS = {
    "r5": Preset(
        (2048, 2048), 5.5, 23.4, 16.0, 15.30, 0.35, (2.2, 3.0, 4.2), "Raytrix R5, 16 mm: rooms and tables"
    ),
    "r5-35mm": Preset(
        (2048, 2048), 5.5, 23.4, 35.0, 34.30, 0.35, (2.1, 2.6, 3.6), "Raytrix R5, 35 mm: outdoors"
    ),
    "r32": Preset(
        (6464, 4852), 3.45, 37.0, 25.0, 24.3875, 0.35, (2.3, 3.2, 5.0), "Raytrix R32, 25 mm: close range"
    ),
    "r32-half": Preset((3232, 2426), 6.9, 18.5, 25.0, 24.3875, 0.35, (2.3, 3.2, 5.0), "R32 with 2×2 binning"),
    "small": Preset((640, 640), 16.0, 13.4, 16.0, 15.00, 0.42, (2.5, 3.0, 3.9), "quick experiments"),
    "mini": Preset((384, 384), 22.0, 12.2, 16.0, 14.875, 0.45, (2.6, 3.1, 3.9), "tests"),
}


def preset_camera(name: str) -> Calibration:
    """The calibration of a preset: principal point, array rotation and origin off the ideal, as in real cameras."""
    if name not in PRESETS:
        raise ConfigError(
            f"There is no camera preset '{name}'; choose one of {', '.join(PRESETS)}, or a camera.yaml."
        )
    p = PRESETS[name]
    (w, h), mm = p.size, p.pixel_um * 1e-3
    return Calibration.model_validate(
        {
            "sensor": {"width": w, "height": h, "pixel_size_um": p.pixel_um},
            "main_lens": {
                "focal_length_mm": p.f_L,
                "mla_distance_mm": p.b_L0,
                "principal_point_px": (w / 2 - 0.5 - 0.0275 / mm, h / 2 - 0.5 + 0.0319 / mm),
            },
            "mla": {
                "sensor_distance_mm": p.B,
                "pitch_px": p.pitch_px,
                "rotation_rad": 0.004,
                "origin_px": (w / 2 - 0.1, h / 2 - 1.3),
                "lens_types": tuple({"focus_virtual_depth": v} for v in p.focus),
            },
        }
    )


def scaled_camera(calibration: Calibration, scale: float) -> Calibration:
    """The same main lens and field of view with ``scale`` times the pixels and micro-lenses a side.

    Micro-images keep their size in pixels, so pixels, lenses and B grow by 1/scale; the array moves away from the
    focal plane as B does, which keeps the virtual depth of infinity and the f-number.
    """
    if not 0.0 < scale <= 4.0:
        raise ConfigError(f"--scale must lie between 0 and 4, not {scale}.")
    if scale == 1.0:
        return calibration
    data = calibration.model_dump()
    sensor, lens, mla = data["sensor"], data["main_lens"], data["mla"]
    sensor["width"], sensor["height"] = (
        max(2, 2 * round(sensor[k] * scale / 2)) for k in ("width", "height")
    )
    sensor["pixel_size_um"] /= scale
    for owner, key in ((lens, "principal_point_px"), (mla, "origin_px"), (lens["distortion"], "centre_px")):
        if owner[key] is not None:
            owner[key] = tuple((x + 0.5) * scale - 0.5 for x in owner[key])
    gap = lens["focal_length_mm"] - lens["mla_distance_mm"]
    mla["sensor_distance_mm"] /= scale
    lens["mla_distance_mm"] = lens["focal_length_mm"] - gap / scale
    if lens["mla_distance_mm"] <= 0 or min(sensor["width"], sensor["height"]) < 4 * mla["pitch_px"]:
        raise ConfigError(
            f"--scale {scale} leaves too few pixels for this camera's micro-lenses; use a larger scale."
        )
    data["uncertainty"] = None
    return Calibration.model_validate(data)
