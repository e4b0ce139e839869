# SPDX-License-Identifier: Apache-2.0
"""Images that come again but are not the same to the last bit: frozen pictures that were coded anew.

One such image cannot be told from one of a camera that stands still. But a camera does not stop from one frame to the
next, rest, and then make up for the whole way in a single step: then it went on unseen, as with copies
(:mod:`~prism_vo.copies`). It may have, too, where it is lost right after such a rest. A rest at the end of a recording
is believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.copies import COMPARED, LARGEST_STEP, LEAST_UNKNOWN
from prism_vo.frame_report import FrameReport, usual_depth

AT_REST = 0.1  # of the least of the steps before: what is left is noise
# where the motion of the image is looked at, in focal lengths from its centre
PLACES = np.array([(x, y, 1.0) for x in (-0.2, 0.0, 0.2) for y in (-0.2, 0.0, 0.2)])


def repeated_runs(reports: Sequence[FrameReport]) -> list[tuple[int, int]]:
    """First and last number of frames in a row that show the same, while the camera went on, or may have."""
    steps = _steps(reports)
    runs, n = [], COMPARED + 1
    while n < len(reports):
        before = steps[n - COMPARED : n]
        after = n
        if np.isfinite(before).all():
            while after < len(reports) and steps[after] < AT_REST * before.min():
                after += 1
        if after - n >= LEAST_UNKNOWN and _went_on(steps, n, after):
            runs.append((n, after - 1))
        n = max(after, n + 1)
    return runs


def _steps(reports: Sequence[FrameReport]) -> Array:
    """Motion of the image from the frame before to each (N,), in focal lengths; NaN: one of them has no pose there, or
    is a copy."""
    out, depth = np.full(len(reports), np.nan), usual_depth(reports)
    for n, (a, b) in enumerate(pairwise(reports), 1):
        if "lost" not in (a.status, b.status) and a.segment == b.segment and not b.copy:
            out[n] = _image_motion(se3.inverse(b.T_world_cam) @ a.T_world_cam, depth)
    return out


def _image_motion(T: Array, depth: float) -> float:
    """Root mean square over the image, of things at a depth (m): a step and a turn that look alike cancel."""
    p = PLACES @ T[:3, :3].T + T[:3, 3] / depth
    return float(np.sqrt(((p[:, :2] / np.maximum(p[:, 2:], 0.1) - PLACES[:, :2]) ** 2).sum(1).mean()))


def _went_on(steps: Array, first: int, after: int) -> bool:
    """Whether the step out of a rest is larger than those before and after it, or not known."""
    if after == len(steps):
        return False
    if not np.isfinite(steps[after]):  # lost, or another world
        return True
    near = np.concatenate([steps[first - COMPARED : first], steps[after + 1 : after + 1 + COMPARED]])
    limit = min(LARGEST_STEP, np.sqrt(1.0 + after - first))
    return bool(steps[after] > limit * np.nanmax(near))
