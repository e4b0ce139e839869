# SPDX-License-Identifier: Apache-2.0
"""What the odometry sees of the camera: a totally focused image at once, depth where it asks for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from prism_vo.arrays import Floats
from prism_vo.optics.camera import FocusedView
from prism_vo.types import DecodedFrame, PointDepth


class Sensor(ABC):
    """A frame of a recording → totally focused image, and depth at points on demand.

    A sensor of your own defines ``view``, ``focus`` and ``measure``; what else the program asks for has a default.
    """

    view: FocusedView
    # With which power of the stereo slope the σ² of a measurement grows; 0: it does not depend on it
    variance_power: float = 0.0
    # Share of the points looked at that must have a depth for a map to begin with a frame
    least_depth_share: float = 0.0

    @abstractmethod
    def focus(self, frame: Any) -> DecodedFrame:
        """The totally focused image of a frame; depth need not be measured."""

    @abstractmethod
    def measure(self, frame: Any, points: Floats) -> PointDepth:
        """Inverse virtual depth at pixels (N, 2) of the focused image, x first."""

    def focus_at(self, frame: Any, slope: float) -> Floats:
        """The image focused at one stereo slope (h, w); by default ``focus``, which is sharp everywhere."""
        del slope
        return self.focus(frame).image

    def problem(self, frame: Any) -> str | None:
        """Why a frame must not be used, one sentence; None: nothing speaks against it. Asked once a frame, in order."""
        del frame  # nothing is known of any
        return None

    def begins_anew(self) -> bool:
        """Whether the frame that ``problem`` was asked about last shows that those before it must not be used."""
        return False

    def shading(self, frame: Any) -> float:
        """How strongly light falls off inside the micro-images of a frame, over that of the first ones; 1: alike."""
        del frame  # without micro-images none does
        return 1.0

    def remarks(self) -> list[str]:
        """What a user should know of the frames or of what came with them, one sentence each."""
        return []

    def without_bands(self, frame: Any, focused: DecodedFrame) -> tuple[Any, DecodedFrame] | None:
        """A frame and its focused image without the bands of a flickering lamp; both as they are where the rows are
        evenly lit; None: this image alone cannot tell."""
        del frame, focused  # without micro-images nothing is seen twice
        return None

    def memory(self) -> Any:
        """What ``focus`` carries from frame to frame, as it is after the last one; part of a checkpoint."""
        return None

    def rest(self) -> None:
        """No frame is expected for now: what can be made again need not stay in memory."""
        return

    def learned(self) -> Any:
        """What was learnt once from the first frames; part of a checkpoint."""
        return None

    def unlearn(self) -> None:
        """The frame measured last was not good enough to begin with, nor is what was learnt from it."""
        return

    def remember(self, memory: Any, learned: Any) -> None:
        """Go on as if those frames had been seen."""
        del memory, learned  # nothing is carried from frame to frame

    def dense(self, frame: Any) -> DecodedFrame:
        """The focused image with depth at every pixel, for pictures; by default ``measure`` everywhere."""
        focused = self.focus(frame)
        h, w = focused.image.shape
        y, x = np.mgrid[:h, :w].reshape(2, -1)
        found = self.measure(frame, np.stack([x, y], -1).astype(np.float32))
        return replace(
            focused,
            inv_virtual_depth=found.inv_virtual_depth.reshape(h, w),
            variance=found.variance.reshape(h, w),
            valid=found.valid.reshape(h, w),
        )


class DecodedSensor(Sensor):
    """For sequences that were decoded elsewhere: depth is looked up in their maps."""

    variance_power = (
        4.0  # as with our own decoder: lenses and squared baselines both fall with the slope squared
    )

    def __init__(self, view: FocusedView) -> None:
        self.view = view

    def focus(self, frame: DecodedFrame) -> DecodedFrame:
        """The frame itself."""
        return frame

    def measure(self, frame: DecodedFrame, points: Floats) -> PointDepth:
        """Nearest map value at each point (N, 2)."""
        if frame.inv_virtual_depth is None or frame.variance is None:
            return PointDepth.none(len(points))
        x, y = np.rint(points[:, 0]).astype(int), np.rint(points[:, 1]).astype(int)
        rho, variance = frame.inv_virtual_depth[y, x], frame.variance[y, x]
        valid = np.isfinite(rho) & np.isfinite(variance) & (variance > 0)
        if frame.valid is not None:
            valid &= frame.valid[y, x]
        return PointDepth(
            np.where(valid, rho, np.nan).astype(np.float32),
            np.where(valid, variance, np.inf).astype(np.float32),
            valid,
        )

    def dense(self, frame: DecodedFrame) -> DecodedFrame:
        """The frame itself."""
        return frame
