# SPDX-License-Identifier: Apache-2.0
"""Cameras for the optics tests: a small fixed one, and random optics including close focus (b_L0 > f_L)."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import PlenopticCamera


def make_camera(
    *,
    f: float = 16.0,
    b0: float = 15.3,
    B: float = 0.35,
    size: tuple[int, int] = (300, 260),
    pixel_um: float = 8.0,
    principal: tuple[float, float] = (146.3, 133.8),
    pitch: float = 14.3,
    rotation: float = 0.006,
    layout: str = "hexagonal",
    types: int = 3,
    scale: int = 2,
    border: float = 1.0,
    distortion: dict[str, Any] | None = None,
) -> PlenopticCamera:
    """A camera with the given optics; lengths in mm, the rest in raw pixels."""
    data = {
        "sensor": {"width": size[0], "height": size[1], "pixel_size_um": pixel_um},
        "main_lens": {
            "focal_length_mm": f,
            "mla_distance_mm": b0,
            "principal_point_px": principal,
            "distortion": distortion or {},
        },
        "mla": {
            "sensor_distance_mm": B,
            "layout": layout,
            "pitch_px": pitch,
            "rotation_rad": rotation,
            "origin_px": (151.2, 128.4),
            "border_px": border,
            "lens_types": [{"focus_virtual_depth": 2.2 + t} for t in range(types)],
        },
        "totally_focused": {"scale": scale},
    }
    return PlenopticCamera.from_calibration(Calibration.model_validate(data))


@st.composite
def cameras(draw: st.DrawFn) -> PlenopticCamera:
    """Random optics: infinity focus, in between, and close focus with b_L0 > f_L."""
    f = draw(st.floats(8.0, 100.0))
    B = draw(st.floats(0.2, 1.0))
    gap = draw(st.floats(-25.0, 6.0))  # virtual depth of infinity
    return make_camera(
        f=f,
        b0=f - gap * B,
        B=B,
        pixel_um=draw(st.floats(2.0, 12.0)),
        scale=draw(st.integers(1, 4)),
        principal=(draw(st.floats(120.0, 180.0)), draw(st.floats(100.0, 160.0))),
    )


@st.composite
def camera_points(draw: st.DrawFn) -> tuple[PlenopticCamera, tuple[float, float, float]]:
    """A camera and a point in front of it, from 1.2 f_L to 1 km, within about 40 degrees of the axis."""
    camera = draw(cameras())
    nearest = 1.2 * camera.f_L * 1e-3
    z = nearest * (1000.0 / nearest) ** draw(st.floats(0.0, 1.0))
    slope = st.floats(-0.8, 0.8)
    return camera, (draw(slope) * z, draw(slope) * z, z)
