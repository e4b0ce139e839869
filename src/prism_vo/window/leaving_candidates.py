# SPDX-License-Identifier: Apache-2.0
"""What candidates know whose keyframe leaves before they became points (docs/method.md, section 6).

Nine tenths of them never do: the window has room for few points, spread over the newest keyframe. But each has a
measured depth, and parallax in all keyframes of the window. What is known of focus and scale hangs on the number of
measured depths, so they go into the prior as points do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from prism_vo.points.pattern import IN
from prism_vo.points.records import Points
from prism_vo.window.contents import WindowContents
from prism_vo.window.depths import solve_depths
from prism_vo.window.hidden import without_hidden

# over a candidate's own depth: without any, at the place that a single search left it at, poses learn from its errors
ITERATIONS = 1
LEAST_SEEN = 2  # keyframes beside its own that must show it: what agrees with one alone may be another place


def knowing_candidates(window: WindowContents, leaving: list[int]) -> Points | None:
    """Those hosted in keyframes that leave, as points; None: there are none that know something.

    Without depth terms they would tell poses alone, of which the points know enough.
    """
    c = window.candidates
    found = np.isfinite(c.inv_depth) & (c.failures == 0) & (c.information > 0)
    c = c.take(found & np.isin(c.host, leaving) & window.model.depth_terms)
    if len(c) == 0:
        return None
    points = Points.from_candidates(c, c.inv_depth, len(window.keyframes))
    points = without_hidden(window.plane, window.hosts, window.keyframes, points)
    terms = window.photometric(points).with_held_lens, window.depth(points)
    solved = solve_depths(*terms, window.state(points), ITERATIONS, window.least_curvature())
    seen = (solved.points.residual_status == IN).sum(1)
    use = solved.good & (seen >= LEAST_SEEN)
    if not use.any():
        return None
    known, seen = solved.points.take(use), seen[use]
    # all residuals of a candidate share one host patch, and neighbours lie on the surfaces of the points: counted as
    # often as there are residuals, so many of them would be too sure of the poses
    return replace(known, weight=(known.weight / seen[:, None]).astype(np.float32))
