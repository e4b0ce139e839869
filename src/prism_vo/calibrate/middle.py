# SPDX-License-Identifier: Apache-2.0
"""The middle of large images, and the camera that sees no more than that: for the memory that the whole takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from prism_vo.optics.calibration import Calibration

LARGEST_SIDE = 2560  # px


@dataclass(frozen=True)
class MiddlePart:
    """A rectangle of the sensor."""

    calibration: Calibration  # of a sensor that is no larger; lenses keep their classes
    left: int  # px, even: a mosaic keeps its pattern
    top: int

    def of(self, image: NDArray[Any]) -> NDArray[Any]:
        """The part of an image (H, W) or (H, W, 3)."""
        sensor = self.calibration.sensor
        return image[self.top : self.top + sensor.height, self.left : self.left + sensor.width]


def middle_part(calibration: Calibration) -> MiddlePart:
    """All of a sensor with sides up to LARGEST_SIDE."""
    sensor, lens, mla = calibration.sensor, calibration.main_lens, calibration.mla
    left, top = (max(0, side - LARGEST_SIDE) // 4 * 2 for side in (sensor.width, sensor.height))
    size = {"width": sensor.width - 2 * left, "height": sensor.height - 2 * top}
    (cx, cy), (ox, oy) = lens.principal_point_px, mla.origin_px
    part = calibration.model_copy(
        update={
            "sensor": sensor.model_copy(update=size),
            "main_lens": lens.model_copy(update={"principal_point_px": (cx - left, cy - top)}),
            "mla": mla.model_copy(update={"origin_px": (ox - left, oy - top)}),
        }
    )
    return MiddlePart(part, left, top)
