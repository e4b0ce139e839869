# SPDX-License-Identifier: Apache-2.0
"""Images that come twice: a camera, driver or video that delivers the last image again.

No sensor takes the same image twice: photons and electronics see to that. A frame that is the one before to the last
bit says nothing about where the camera is. It may stand still (a simulation without noise, a picture shown for a
while) or it may go on unseen; which of the two, the next new image tells: out of a rest the first step is like others.
While a run goes copies have the pose of their image; at its end those of a camera that went on lose it again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.frame_report import FrameReport, usual_depth
from prism_vo.types import InputFrame

SAMPLE = 11  # every so many rows and columns are compared first: images that differ do so at once
# copies in a row, where nothing tells what the camera did: one may be that of a video of twice the rate
LEAST_UNKNOWN = 2
COMPARED = 3  # steps before and after them
LARGEST_STEP = 2.0  # times the largest of those, out of a rest; after few copies, half-way to as many steps
# of the image's motion that turning, or moving, must make up to be compared: less may be noise
LEAST_SHARE = 0.25


def is_copy(frame: InputFrame, before: InputFrame) -> bool:
    """Whether two images are the same to the last bit."""
    a, b = frame.image, before.image
    if a is b:
        return True
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    some = slice(None, None, SAMPLE)
    return bool(np.array_equal(a[some, some], b[some, some]) and np.array_equal(a, b))


def frozen_runs(reports: Sequence[FrameReport]) -> list[tuple[int, int]]:
    """First and last number of copies in a row during which the camera went on, or may have: at the end of a recording,
    or where it is lost after them, nobody knows."""
    if not any(report.copy for report in reports):
        return []
    runs, first, new = [], None, [n for n, report in enumerate(reports) if not report.copy]
    depth, had_pose = usual_depth(reports), False
    for n, report in enumerate([*reports, None]):
        has_pose = report is not None and report.status != "lost"
        if report is not None and report.copy and has_pose and had_pose:
            first = n if first is None else first
        elif first is not None:
            if _went_on(reports, new, first, n, depth):
                runs.append((first, n - 1))
            first = None
        had_pose = has_pose
    return runs


def _went_on(reports: Sequence[FrameReport], new: list[int], first: int, after: int, depth: float) -> bool:
    """Whether the step out of copies ``first`` … ``after`` − 1 is larger than those of ``new`` images, or not known."""
    copies = after - first
    out = None if after == len(reports) else _step(reports, first - 1, after)
    here = bisect_left(new, after)
    near = [*pairwise(new[max(here - 1 - COMPARED, 0) : here]), *pairwise(new[here : here + 1 + COMPARED])]
    usual = [step for step in (_step(reports, a, b) for a, b in near) if step is not None]
    if out is None or not usual:  # lost, another world, or the end
        return copies >= LEAST_UNKNOWN
    motion = out / (depth, 1.0)  # rad in the image, about
    counts = motion > LEAST_SHARE * motion.max()
    limit = min(LARGEST_STEP, np.sqrt(1.0 + copies))
    return bool(np.any(counts & (out > limit * np.max(usual, axis=0))))


def _step(reports: Sequence[FrameReport], a: int, b: int) -> Array | None:
    """Metres and radians between two frames; None: one of them has no pose in the other's world."""
    one, other = reports[a], reports[b]
    if "lost" in (one.status, other.status) or one.segment != other.segment:
        return None
    moved = se3.inverse(one.T_world_cam) @ other.T_world_cam
    return np.array([np.linalg.norm(moved[:3, 3]), se3.rotation_angle(moved[:3, :3])])
