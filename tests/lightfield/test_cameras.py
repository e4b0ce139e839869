# SPDX-License-Identifier: Apache-2.0
"""Other arrays and other focus settings: nothing in the decoder is tied to one camera."""

import numpy as np
import pytest
from light_fields import changed, render

from prism_vo.config import DecodeConfig
from prism_vo.lightfield import Decoder
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.simulate import preset_camera

MINI = preset_camera("mini")
TYPES = {"lens_types": tuple({"focus_virtual_depth": v} for v in (3.0, 4.0, 6.0))}
CASES = {
    "rectangular array": (changed(MINI, mla={"layout": "rectangular"}), 3.0, {}),
    "one lens type": (changed(MINI, mla={"lens_types": ({"focus_virtual_depth": 3.0},)}), 3.0, {}),
    "focal view": (changed(MINI, totally_focused={"view": "focal"}), 3.0, {}),
    "distorted": (changed(MINI, main_lens={"distortion": {"radial": (3e-4, 0.0), "tangential": (0.0, 0.0)}}), 3.0, {}),
    "focused nearer than infinity": (
        changed(MINI, main_lens={"focal_length_mm": 50.0, "mla_distance_mm": 52.1}, mla=TYPES), 4.0,
        {"near": 0.5, "far": 1.3},
    ),
    "70 px pitch": (changed(MINI, mla={"pitch_px": 70.0}, sensor={"pixel_size_um": 4.0}), 2.9, {"near": 0.4}),
    "virtual depth 8": (changed(MINI, main_lens={"mla_distance_mm": 15.0}), 8.0, {"near": 0.06}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_plane_is_measured_where_it_is(name: str) -> None:
    calibration, virtual_depth, settings = CASES[name]
    camera = PlenopticCamera.from_calibration(calibration)
    field = render(calibration, float(camera.depth(virtual_depth)))
    frame = Decoder(camera, DecodeConfig(**settings), field.white).dense(field.raw)
    inner = np.zeros_like(frame.valid)
    inner[20:-20, 20:-20] = True
    good = frame.valid & inner
    assert good.sum() > 0.3 * inner.sum()
    deviation = (frame.inv_virtual_depth - field.rho)[good]
    sigma = np.sqrt(frame.variance[good])
    spread = 1.4826 * np.median(np.abs(deviation))
    assert abs(np.median(deviation)) < 2e-4 + 4 * spread / np.sqrt(good.sum() / 60)
    assert 0.5 < 1.4826 * np.median(np.abs(deviation) / sigma) < 1.5
    assert np.mean((np.abs(deviation) > 5 * sigma) & (np.abs(deviation) > 0.02)) < 0.005
