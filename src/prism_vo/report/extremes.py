# SPDX-License-Identifier: Apache-2.0
"""Pictures at the extremes of η: in which scenes plenoptic depth weighed least and most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prism_vo.report.pictures import Image, thumbnail
from prism_vo.report.snapshots import to_bytes

if TYPE_CHECKING:
    from prism_vo.odometry import FrameReport
    from prism_vo.types import DecodedFrame


@dataclass(frozen=True)
class Extreme:
    """A frame and the η after its mapping."""

    frame: int
    eta: float
    picture: Image


@dataclass
class EtaExtremes:
    """The smallest and the largest η so far."""

    least: Extreme | None = None
    most: Extreme | None = None

    def offer(self, report: FrameReport, frame: DecodedFrame) -> None:
        """One keyframe."""
        if report.mapping is None:
            return
        eta = report.mapping.eta
        if self.least is None or eta < self.least.eta:
            self.least = _extreme(report, frame, eta)
        if self.most is None or eta > self.most.eta:
            self.most = _extreme(report, frame, eta)


def _extreme(report: FrameReport, frame: DecodedFrame, eta: float) -> Extreme:
    image = frame.color if frame.color is not None else to_bytes(frame.image)
    return Extreme(report.index, eta, thumbnail(image, 300))
