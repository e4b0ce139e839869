# SPDX-License-Identifier: Apache-2.0
"""A decoder that searches every slope that can be measured: what one has before the optics are known."""

from __future__ import annotations

from dataclasses import replace

from prism_vo.arrays import Floats
from prism_vo.batch.numbers import CameraNumbers, W
from prism_vo.config import Config
from prism_vo.lightfield import Decoder
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import PlenopticCamera

LEAST_W, NEAREST = (
    1.62,
    1e-3,
)  # virtual depth of the farthest, and metres of the nearest, that a first look covers


def wide_decoder(numbers: CameraNumbers, calibration: Calibration, white: Floats | None) -> Decoder:
    """A decoder that searches every slope that can be measured."""
    values = numbers.values.copy()
    values[W] = LEAST_W
    camera = PlenopticCamera(CameraNumbers(values, numbers.pixel_mm).calibration(calibration))
    return Decoder(camera, replace(Config().decode, near=NEAREST, view="central"), white=white)
