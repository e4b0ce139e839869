# SPDX-License-Identifier: Apache-2.0
"""Depth measured again: what the images of later keyframes say about points that are known already.

Where the camera sees the same things for long, the points of its first keyframe stay and hardly a new one is wanted: of
36 keyframes of a room with a thousand measured depths each, those of the first alone knew the scale (to 1 %). A new
keyframe measures depth beside the points that it sees; that is one more measurement of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from prism_vo.arrays import Array, Mask
from prism_vo.optics.pinhole import Pinhole
from prism_vo.optics.view import FocusedView
from prism_vo.points.pattern import IN
from prism_vo.points.projection import project_into
from prism_vo.points.records import Candidates, HostFrames, Points
from prism_vo.window.terms.depth import information_at_estimate

NEAR = 0.01  # of the image's width between a point and a pixel that shows the same surface: about a matching window
NEIGHBOURS = 3  # points about it, within twice that, which must lie on one surface
SMOOTH = 0.05  # of their distance
LARGEST_RELATIVE_SIGMA = 0.05  # of a point's own depth, for others to be compared with it
DEVIATIONS = 3.0  # σ beyond which a pixel shows something else
LEAST_COUNT = 20  # measurements that tell whether they agree as a whole
DISAGREE = 5.0  # σ of their common factor: another focus, or something before the scene


@dataclass(frozen=True)
class _Repeated:
    """Points (N,) that were measured again, and what that says of ρ_v in their hosts."""

    point: NDArray[np.intp]
    rho: Array
    information: Array


def measured_again(
    view: FocusedView,
    plane: Pinhole,
    hosts: HostFrames,
    points: Points,
    variance: Array,
    usable: Mask,
    new: Candidates,
    power: float,
) -> Points:
    """Points with what the candidates of the newest keyframe add.

    The candidates keep theirs: beside a point hardly one is ever activated, and frames are tracked against them.

    ``variance``: of the points' inverse depths; ``usable`` (N,): whose depths mean the same focus as the new ones;
    ``power`` of the stereo slope that the variance of a depth grows with.
    """
    position = len(hosts) - 1
    seen = project_into(plane, hosts, position, points)
    sure = variance < (LARGEST_RELATIVE_SIGMA * points.inv_depth) ** 2
    good = usable & sure & (points.information > 0) & (points.residual_status[:, position] == IN)
    good &= seen.inside(plane, 0) & (points.host != position) & (points.inv_depth > 0)
    offered = np.flatnonzero(new.information > 0)
    these = np.flatnonzero(good)
    if min(len(these), len(offered)) < LEAST_COUNT:
        return points
    tree = cKDTree(np.column_stack([seen.x[these], seen.y[these]]))
    places = np.column_stack([new.u[offered], new.v[offered]])
    distance, nearest = tree.query(places, k=NEIGHBOURS, distance_upper_bound=2.0 * NEAR * plane.width)
    near = (distance[:, 0] < NEAR * plane.width) & np.isfinite(distance[:, -1])
    offered, nearest = offered[near], these[nearest[near]]
    smooth = _is_smooth(seen.inv_depth[nearest])
    found = _in_hosts(view, points, seen.inv_depth, new, offered[smooth], nearest[smooth, 0], power)
    return _joined(view, points, found, power) if _agree(view, points, found) else points


def _is_smooth(inv_depth: Array) -> Mask:
    """Whether neighbours (N, K) lie on one surface: at a rim, the match is of one side and the point on the other."""
    middle = inv_depth.mean(1)
    return np.asarray(np.ptp(inv_depth, axis=1) < SMOOTH * middle)


def _in_hosts(
    view: FocusedView,
    points: Points,
    inv_depth_here: Array,
    new: Candidates,
    candidate: NDArray[np.intp],
    point: NDArray[np.intp],
    power: float,
) -> _Repeated:
    """What is measured here is a factor of the distance, and the same factor in the host.

    Each weighs as much as a measurement where the point is believed to be: those that err towards near would win.
    """
    q, here = points.inv_depth[point], inv_depth_here[point]
    slope, slope_here = view.inv_virtual_depth_slope(q), view.inv_virtual_depth_slope(here)
    # to first order: Δρ/(q ∂ρ/∂q) is the relative change of the distance in either
    ratio = (q * slope) / (here * slope_here)
    off = new.measured[candidate] - view.inv_virtual_depth(here)
    information = information_at_estimate(view, replace(new.take(candidate), inv_depth=here), power)
    fits = off**2 * information < DEVIATIONS**2
    rho = view.inv_virtual_depth(q) + ratio * off
    return _Repeated(point[fits], rho[fits], (information / ratio**2)[fits])


def _agree(view: FocusedView, points: Points, found: _Repeated) -> bool:
    """Whether they mean the same distances as the map, as a whole."""
    if len(found.point) < LEAST_COUNT:
        return False
    q = points.inv_depth[found.point]
    row = q * view.inv_virtual_depth_slope(q)
    off = found.rho - view.inv_virtual_depth(q)
    known = float((found.information * row**2).sum())
    return abs(float((found.information * row * off).sum())) < DISAGREE * np.sqrt(known)


def _joined(view: FocusedView, points: Points, found: _Repeated, power: float) -> Points:
    """Means by information."""
    count, known = len(points), information_at_estimate(view, points, power)
    added = np.bincount(found.point, found.information, count)
    total = np.bincount(found.point, found.information * found.rho, count)
    touched = added > 0
    information = known + added
    with np.errstate(invalid="ignore"):
        mean = (known * points.measured + total) / np.maximum(information, 1e-300)
    joined = replace(
        points,
        measured=np.where(touched, mean, points.measured),
        information=np.where(touched, information, points.information),
    )
    # information is kept as if stated where it was measured
    stated = information**2 / np.maximum(information_at_estimate(view, joined, power), 1e-300)
    return replace(joined, information=np.where(touched, stated, points.information))
