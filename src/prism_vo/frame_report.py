# SPDX-License-Identifier: Apache-2.0
"""What the odometry says about a frame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from prism_vo.arrays import Array
from prism_vo.tracking.judge import Verdict
from prism_vo.tracking.track import Track
from prism_vo.window.report import MappingReport

Status = Literal["ok", "keyframe", "lost", "recovered"]


@dataclass(frozen=True)
class FrameReport:
    """Everything about one frame. Poses are of the camera: T_world_cam, metres."""

    index: int
    time: float
    status: Status
    T_world_cam: Array
    segment: int
    keyframe: int  # id of the keyframe it was tracked against, or its own if it became one
    track: Track | None
    mapping: MappingReport | None
    seconds: dict[str, float]
    problem: str | None = None  # why the frame could not be used, one sentence
    # where odometry's world lies in the map; T_map_odometry @ T_world_cam is the camera in the map, and may jump when a
    # place is seen again, while T_world_cam never does
    T_map_odometry: Array = field(default_factory=lambda: np.eye(4))
    verdict: Verdict | None = None  # how good the pose is, or what speaks against the one that was found
    covered: float = 0.0  # share of the image that shows something else than the map, or its reference did
    measured: float = float("nan")  # share of a keyframe's candidates whose depth could be measured
    shading: float = 1.0  # of its micro-images towards their rims, over that of the first frames
    copy: bool = False  # to the last bit the image of the frame before
    recognised: int | None = None  # keyframe whose place it shows; often known after the run alone

    def again(self, index: int, time: float, seconds: dict[str, float]) -> FrameReport:
        """Of a copy of its image."""
        at = replace(self, index=index, time=time, seconds=seconds, copy=True, recognised=None)
        return replace(at, status="ok", mapping=None, measured=float("nan"))

    @property
    def quality(self) -> float:
        """Of the pose, 0–1: 0 if there is none, 1 for the first of a window, which others are relative to."""
        if self.status == "lost":
            return 0.0
        return 1.0 if self.verdict is None else self.verdict.quality

    def __repr__(self) -> str:
        place = ", ".join(f"{value:.4f}" for value in self.T_world_cam[:3, 3])
        where = "" if self.status == "lost" else f", at ({place}) m, quality {self.quality:.2f}"
        why = f": {self.problem}" if self.problem else ""
        return f"FrameReport(frame {self.index}, {self.time:g} s, {self.status}{where}{why})"

    def _repr_html_(self) -> str:
        from prism_vo.notebook.html import card

        rows = [("time", f"{self.time:g} s"), ("status", self.status), ("quality", f"{self.quality:.2f}")]
        if self.status != "lost":
            rows.append(("position", ", ".join(f"{v:.4f}" for v in self.T_world_cam[:3, 3]) + " m"))
        if self.problem:
            rows.append(("problem", self.problem))
        return card(f"Frame {self.index}", rows)


def usual_depth(reports: Iterable[FrameReport]) -> float:
    """Median distance (m) of the points that were compared; 1 m if none were."""
    found = [
        r.mapping.agreement for r in reports if r.mapping is not None and r.mapping.agreement is not None
    ]
    return 1.0 / float(np.median([a.median_inv_depth for a in found])) if found else 1.0
