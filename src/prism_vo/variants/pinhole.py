# SPDX-License-Identifier: Apache-2.0
"""The variant without plenoptic depth: monocular, free scale."""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Floats
from prism_vo.sensor import Sensor
from prism_vo.tracking.track import Track
from prism_vo.tracking.tracker import Tracker
from prism_vo.types import InputFrame, PointDepth, PosedFrame
from prism_vo.variants.monocular_start import MonocularStart
from prism_vo.variants.variant import Variant
from prism_vo.window.window import Window

PLANE_SIGMA = 0.3  # 1/m, of the inverse depths of a plane at inverse depth 1


class Pinhole(Variant):
    """Depths come from parallax alone."""

    name = "pinhole"
    measures_depth = False
    depth_terms = False

    def measure(self, sensor: Sensor, frame: InputFrame, points: Floats) -> PointDepth:
        """A camera without depth."""
        return PointDepth.none(len(points))

    def begin(self, window: Window) -> None:
        """All candidates on a plane of inverse depth 1."""
        ones = np.ones(len(window.candidates))
        window.start_with(ones > 0, ones, PLANE_SIGMA * ones)

    def is_starting(self, window: Window) -> bool:
        """Until there is a second keyframe."""
        return len(window.keyframes) == 1

    def improve_start(
        self, window: Window, tracker: Tracker, posed: PosedFrame, track: Track, last: bool
    ) -> PosedFrame:
        """Before the first keyframe after the start the depths are settled."""
        start = MonocularStart(window, tracker)
        return start.settle(posed, track.brightness) if last else start.improve(posed)
