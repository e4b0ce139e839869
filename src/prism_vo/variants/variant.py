# SPDX-License-Identifier: Apache-2.0
"""What distinguishes the variants of the method: how a segment starts, which terms its energy has, which gauge."""

from __future__ import annotations

from abc import ABC, abstractmethod

from prism_vo.arrays import Floats
from prism_vo.optics.focus import FocusModel
from prism_vo.optics.lens import LensModel
from prism_vo.sensor import Sensor
from prism_vo.tracking.track import Track
from prism_vo.tracking.tracker import Tracker
from prism_vo.types import InputFrame, PointDepth, PosedFrame
from prism_vo.window.contents import WindowModel
from prism_vo.window.window import Window


class Variant(ABC):
    """One way to run the method (docs/method.md, section 7)."""

    name: str
    measures_depth: bool  # plenoptic depth is used: distances are metres, and the sensor must have depth
    depth_terms: bool  # the energy has depth terms, weighted by η

    def model(
        self, sensor: Sensor, focus: FocusModel | None = None, lens: LensModel | None = None
    ) -> WindowModel:
        """What the window minimises. Without depth terms nothing there knows the scale, and no camera is estimated."""
        if not self.depth_terms:
            return WindowModel(False, True, sensor.variance_power)
        return WindowModel(True, False, sensor.variance_power, focus, lens)

    @abstractmethod
    def measure(self, sensor: Sensor, frame: InputFrame, points: Floats) -> PointDepth:
        """Depth of new candidates."""

    @abstractmethod
    def begin(self, window: Window) -> None:
        """Candidates of the first keyframe of a segment become points."""

    def is_starting(self, window: Window) -> bool:
        """Whether depths are still too poor for the window to be optimised."""
        return False

    def improve_start(
        self, window: Window, tracker: Tracker, posed: PosedFrame, track: Track, last: bool
    ) -> PosedFrame:
        """Better depths from one more frame, while :meth:`is_starting`; ``last``: the next keyframe is due."""
        raise NotImplementedError(f"The variant {self.name} needs no start.")
