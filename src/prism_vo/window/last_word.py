# SPDX-License-Identifier: Apache-2.0
"""Candidates that never became points: what their depth and parallax say when their keyframe leaves."""

from __future__ import annotations

import numpy as np

from prism_vo.points.pattern import IN
from prism_vo.points.records import Points
from prism_vo.window.contents import WindowContents
from prism_vo.window.depths import solve_depths
from prism_vo.window.hidden import without_hidden

ITERATIONS = 3
LEAST_SEEN = 2


def leaving_candidates(window: WindowContents, leaving: list[int]) -> Points | None:
    c = window.candidates
    c = c.take(np.isin(c.host, leaving) & (c.information > 0) & np.isfinite(c.inv_depth) & (c.failures == 0))
    if len(c) == 0:
        return None
    points = Points.from_candidates(c, c.inv_depth, len(window.keyframes))
    points = without_hidden(window.plane, window.hosts, window.keyframes, points)
    terms = window.photometric(points).with_held_lens, window.depth(points)
    solved = solve_depths(*terms, window.state(points), ITERATIONS, window.least_curvature())
    seen = (solved.points.residual_status == IN).sum(1) >= LEAST_SEEN
    found = solved.points.take(solved.good & seen)
    return found if len(found) else None
