# SPDX-License-Identifier: Apache-2.0
"""Images that come twice: a camera, driver or video that delivers the last image again.

No sensor takes the same image twice: photons and electronics see to that. A frame that is the one before to the last
bit says nothing about where the camera is. It may stand still (a simulation without noise, a picture shown for a
while) or it may go on unseen; which of the two, the next new image tells: out of a rest the first step is like others.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.frame_report import FrameReport
from prism_vo.types import InputFrame

SAMPLE = 11  # every so many rows and columns are compared first: images that differ do so at once
LEAST_COPIES = 2  # in a row: one may be that of a video of twice the rate
COMPARED = 3  # steps before and after them
LARGEST_STEP = 2.0  # times the largest of those, out of a rest


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
    runs, first, new = [], None, [n for n, report in enumerate(reports) if not report.copy]
    for n, report in enumerate([*reports, None]):
        if report is not None and report.copy and report.status != "lost":
            first = n if first is None else first
        elif first is not None:
            if n - first >= LEAST_COPIES and _went_on(reports, new, first, n):
                runs.append((first, n - 1))
            first = None
    return runs


def _went_on(reports: Sequence[FrameReport], new: list[int], first: int, after: int) -> bool:
    """Whether the step out of copies ``first`` … ``after`` − 1 is larger than those of ``new`` images, or not known."""
    if after == len(reports):
        return True
    out = _step(reports, first - 1, after)
    if out is None:
        return True  # lost, or another world
    here = bisect_left(new, after)
    near = [*pairwise(new[max(here - 1 - COMPARED, 0) : here]), *pairwise(new[here : here + 1 + COMPARED])]
    usual = [step for step in (_step(reports, a, b) for a, b in near) if step is not None]
    if not usual:
        return True
    return bool(np.any(out > LARGEST_STEP * np.max(usual, axis=0)))


def _step(reports: Sequence[FrameReport], a: int, b: int) -> Array | None:
    """Metres and radians between two frames; None: one of them has no pose in the other's world."""
    one, other = reports[a], reports[b]
    if "lost" in (one.status, other.status) or one.segment != other.segment:
        return None
    moved = se3.inverse(one.T_world_cam) @ other.T_world_cam
    return np.array([np.linalg.norm(moved[:3, 3]), se3.rotation_angle(moved[:3, :3])])
