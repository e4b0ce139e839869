# SPDX-License-Identifier: Apache-2.0
"""The variants with plenoptic depth: metric from the second frame on."""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Floats
from prism_vo.points.records import DEPTH_USED
from prism_vo.sensor import Sensor
from prism_vo.types import InputFrame, PointDepth
from prism_vo.variants.variant import Variant
from prism_vo.window.window import Window

LEAST_SIGMA = 1e-6  # 1/m


class _Measured(Variant):
    """Points start at their measured depth."""

    measures_depth = True

    def measure(self, sensor: Sensor, frame: InputFrame, points: Floats) -> PointDepth:
        """What the sensor says."""
        return sensor.measure(frame, points)

    def begin(self, window: Window) -> None:
        """Points with a usable depth start there; no parallax is needed."""
        c = window.candidates
        used = c.kind == DEPTH_USED
        sigma = np.maximum((c.high - c.low)[used] / 4.0, LEAST_SIGMA)  # the interval is ± 2σ
        window.start_with(used, c.inv_depth[used], sigma)


class Full(_Measured):
    """Everything: depth terms hold the scale."""

    name = "full"
    depth_terms = True


class Plenoptic(_Measured):
    """Depth starts points and tracking, but is no term of the energy."""

    name = "plenoptic"
    depth_terms = False
