# SPDX-License-Identifier: Apache-2.0
"""Candidates on their way into the energy of a window."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism_vo.points.activation import choose_candidates
from prism_vo.points.records import Candidates, Points
from prism_vo.window.contents import WindowContents
from prism_vo.window.depths import solve_depths
from prism_vo.window.hidden import in_covered_zones, without_hidden

ITERATIONS = 3  # over a candidate's own depth, before it may join
FEW, MANY = 0.8, 1.0  # of the wanted number of active points, at which the spacing changes
LEAST_SPACING, MOST_SPACING = 1, 12  # px
LEAST_COMPARED = 50  # points that tell how far the scale has drifted
LEAST_INV_DEPTH = 1e-3  # 1/m: what is measured farther away tells nothing about scale


@dataclass(frozen=True)
class Spacing:
    """Pixels kept between active points, adapted to hold their number near the wanted one."""

    pixels: int = 4

    def adapted(self, active: int, wanted: int) -> Spacing:
        """Closer if there are too few."""
        ratio = active / wanted
        if ratio < FEW:
            return Spacing(max(self.pixels - 1, LEAST_SPACING))
        return Spacing(min(self.pixels + 1, MOST_SPACING)) if ratio > MANY else self


def activate(window: WindowContents, spacing: Spacing) -> int:
    """Bring candidates that are ready into the energy; returns how many."""
    c = window.candidates
    plane, hosts, newest = window.plane, window.hosts, window.keyframes[-1]
    hidden = None
    if newest.covered is not None:
        hidden = in_covered_zones(plane, hosts, c, newest.pose, newest.covered)
    picked, stay = choose_candidates(
        plane, hosts, c, window.points, spacing.pixels, window.config.quality, hidden
    )
    window.candidates = c.take(stay)
    if len(picked) == 0:
        return 0
    some = c.take(picked)
    points = Points.from_candidates(some, some.inv_depth, len(window.keyframes))
    points = without_hidden(plane, hosts, window.keyframes, points)
    terms = window.photometric(points).with_held_lens, window.depth(points)
    solved = solve_depths(*terms, window.state(points), ITERATIONS, window.least_curvature())
    fresh = solved.points.take(solved.good)
    window.points = window.points.joined(fresh)
    return len(fresh)


def at_scale_of(window: WindowContents, new: Candidates) -> Candidates:
    """Without depth terms the window's scale wanders off the metre, and new depths must join it where it is."""
    s = _drift_of_scale(window)
    return replace(
        new,
        inv_depth=s * new.inv_depth,
        low=s * new.low,
        high=s * new.high,
        widest_low=s * new.widest_low,
        widest_high=s * new.widest_high,
    )


def _drift_of_scale(window: WindowContents) -> float:
    """Optimised over measured inverse depth."""
    p = window.points.take((window.points.information > 0) & (window.points.inlier_count > 0))
    measured = window.view.inv_depth_from_virtual(p.measured)
    near = measured > LEAST_INV_DEPTH
    if near.sum() < LEAST_COMPARED:
        return 1.0
    return float(np.median(p.inv_depth[near] / measured[near]))
