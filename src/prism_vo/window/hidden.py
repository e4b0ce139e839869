# SPDX-License-Identifier: Apache-2.0
"""Points of the window that something hides in a frame: it covers whole zones of the image, and leaves others whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Mask
from prism_vo.linear.quantile import quantile
from prism_vo.optics.pinhole import Pinhole
from prism_vo.points.pattern import IN, NONE, is_in_view
from prism_vo.points.projection import project_into
from prism_vo.points.records import Candidates, HostFrames, Points
from prism_vo.tracking.brightness import SURE, ZONES, ZoneAgreement, zone_of
from prism_vo.window.keyframe import Keyframe

LEAST_OF_ZONE = 10  # points that a zone is judged by
GOOD_ZONES = (
    0.75  # quantile of the zones' shares of points that fit: a quarter of the image may be all there is
)
WORSE_ZONE = 0.5  # times that: a zone that shows something else
PLACE_KNOWN = 1.0  # px, at SURE σ: a pattern that lies farther beside its place does not fit there


def in_covered_zones(
    plane: Pinhole,
    hosts: HostFrames,
    points: Points | Candidates,
    T_view_world: Array,
    covered: ZoneAgreement,
) -> Mask:
    """Which points (N,) lie in a covered zone of a frame at a pose."""
    x, y = _places(plane, hosts, points, T_view_world)
    return np.asarray(~covered.uncovered(x, y, plane))


def hidden_residuals(
    plane: Pinhole, hosts: HostFrames, keyframes: Sequence[Keyframe], points: Points
) -> Mask:
    """Which residuals (N, K) of points lie in covered zones of the window's keyframes."""
    hidden = np.zeros((len(points), len(keyframes)), np.bool_)
    for n, keyframe in enumerate(keyframes):
        if keyframe.covered is not None:
            hidden[:, n] = in_covered_zones(plane, hosts, points, keyframe.pose, keyframe.covered)
    return hidden


def without_hidden(
    plane: Pinhole, hosts: HostFrames, keyframes: Sequence[Keyframe], points: Points
) -> Points:
    """Points that have no residual where something covers them."""
    if not len(points) or all(k.covered is None for k in keyframes):
        return points
    hidden = hidden_residuals(plane, hosts, keyframes, points)
    return replace(points, residual_status=np.where(hidden, NONE, points.residual_status))


def zones_that_do_not_fit(
    plane: Pinhole,
    hosts: HostFrames,
    points: Points,
    T_view_world: Array,
    status: NDArray[np.int8],
    sigma: Callable[[], Array],
    least_good: float = 0.0,
) -> ZoneAgreement | None:
    """Zones of a frame in which far fewer points fit than in the good ones; None: there are none.

    ``sigma``: (N,) of their inverse depths; a zone whose points may lie elsewhere for that is not called covered.
    ``least_good``: share of points that fit in the good ones; below it the pose is wrong, and nothing is covered.
    A reference keyframe that was covered itself says nothing of those zones; the points of older keyframes do.
    """
    judged = is_in_view(status)
    x, y = _places(plane, hosts, points, T_view_world)
    zone = zone_of(x[judged], y[judged], plane)
    count = np.bincount(zone, minlength=ZONES**2)
    fitting = np.bincount(zone, status[judged] == IN, ZONES**2) / np.maximum(count, 1)
    enough = count >= LEAST_OF_ZONE
    if not enough.any():
        return None
    good = quantile(fitting[enough], GOOD_ZONES)
    if good < least_good:
        return None
    covered = enough & (fitting < WORSE_ZONE * good)
    if not covered.any():
        return None
    elsewhere = _places(
        plane, hosts, replace(points, inv_depth=points.inv_depth + SURE * sigma()), T_view_world
    )
    sure = np.hypot(elsewhere[0] - x, elsewhere[1] - y)[judged] < PLACE_KNOWN
    found = ZoneAgreement(float(1.0 - covered.sum() / enough.sum()), covered)
    return found.only(2 * np.bincount(zone, sure, ZONES**2) >= count)


def _places(
    plane: Pinhole, hosts: HostFrames, points: Points | Candidates, T_view_world: Array
) -> tuple[Array, Array]:
    poses = np.concatenate([hosts.T_view_world, T_view_world[None]])
    seen = project_into(plane, replace(hosts, T_view_world=poses), -1, points)
    return np.nan_to_num(seen.x), np.nan_to_num(seen.y)
