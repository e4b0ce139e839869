# SPDX-License-Identifier: Apache-2.0
"""How much of a recording an estimate covers: frames with a pose, and frames between poses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array
from prism_vo.evaluate.association import nearest

LARGEST_STEP = 5.0  # usual steps between poses; a longer one is a gap that nothing is known about


@dataclass(frozen=True)
class Coverage:
    """Programs that write keyframes only have few poses, and may still have followed every frame."""

    frames: int
    poses: int  # frames with a pose of their own
    spanned: int  # frames at or between poses that follow each other without a gap

    @property
    def pose_share(self) -> float:
        """Of the frames."""
        return self.poses / self.frames if self.frames else 0.0

    @property
    def spanned_share(self) -> float:
        """Of the frames."""
        return self.spanned / self.frames if self.frames else 0.0


def coverage_of(times: Array, frames: Array) -> Coverage:
    """Estimated stamps (N,) against those of all frames (M,), both ascending."""
    if len(times) == 0 or len(frames) == 0:
        return Coverage(len(frames), 0, 0)
    interval = float(np.median(np.diff(frames))) if len(frames) > 1 else 1.0
    gap = np.abs(times[nearest(times, frames)] - frames)
    with_pose = gap <= 0.5 * interval
    steps = np.diff(times)
    usual = max(float(np.median(steps)) if len(steps) else 0.0, interval)
    right = np.searchsorted(times, frames)
    inside = (right > 0) & (right < len(times))
    step = np.where(
        inside, steps[np.clip(right - 1, 0, max(len(steps) - 1, 0))] if len(steps) else np.inf, np.inf
    )
    return Coverage(
        len(frames), int(with_pose.sum()), int((with_pose | (step <= LARGEST_STEP * usual)).sum())
    )
