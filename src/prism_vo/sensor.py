# SPDX-License-Identifier: Apache-2.0
"""What the odometry sees of the camera: a totally focused image at once, depth where it asks for it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Floats
from prism_vo.config import Config
from prism_vo.errors import InputError
from prism_vo.optics.camera import FocusedView, PlenopticCamera
from prism_vo.types import DecodedFrame, PointDepth, RawFrame

Frame = RawFrame | DecodedFrame


class Sensor(Protocol):
    """Raw (or decoded) frame → totally focused image; depth at points on demand."""

    @property
    def view(self) -> FocusedView: ...

    @property
    def variance_power(self) -> float:
        """With which power of the stereo slope it found the σ² of a measurement grows; 0: not at all."""
        ...

    def focus(self, frame: Any) -> DecodedFrame: ...

    def measure(self, frame: Any, points: Floats) -> PointDepth: ...


class DecodedSensor:
    """For sequences that were decoded elsewhere: depth is looked up in their maps."""

    variance_power = (
        4.0  # as with our own decoder: lenses and squared baselines each fall with the slope squared
    )

    def __init__(self, view: FocusedView) -> None:
        self.view = view

    def focus(self, frame: DecodedFrame) -> DecodedFrame:
        """The frame itself."""
        return frame

    def measure(self, frame: DecodedFrame, points: Floats) -> PointDepth:
        """Nearest map value at each point (N, 2)."""
        if frame.inv_virtual_depth is None or frame.variance is None:
            n = len(points)
            return PointDepth(
                np.full(n, np.nan, np.float32), np.full(n, np.inf, np.float32), np.zeros(n, np.bool_)
            )
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


def default_sensor(camera: PlenopticCamera, config: Config, white: NDArray[Any] | None) -> Sensor:
    """The light-field decoder, imported when it is needed."""
    from prism_vo.lightfield import Decoder

    return Decoder(camera, config.decode, white=white)


def sensor_for(camera: PlenopticCamera, config: Config, white: NDArray[Any] | None, first: Frame) -> Sensor:
    """The decoder for raw frames, a look-up for decoded ones."""
    if isinstance(first, DecodedFrame):
        if config.variant != "pinhole" and first.inv_virtual_depth is None:
            raise InputError(
                "The sequence has focused images but no virtual depth; add virtual_depth/ or use raw images."
            )
        return DecodedSensor(first.view)
    return default_sensor(camera, config, white)
