# SPDX-License-Identifier: Apache-2.0
"""Which other keyframes refine the depth of one: those that see the same from a little further on each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.dense.photoconsistency import MOST_VIEWS, Views
from prism_vo.dense.records import DenseFrame, Grid
from prism_vo.optics.view import FocusedView

WANTED = 5  # views
LEAST_OVERLAP = 0.55  # share of the host's surface that must lie in the other image
LARGEST_PARALLAX = 0.2  # rad: beyond it patches look too different
LEAST_PARALLAX = 0.25  # px beside which a view says nothing about depth
SPREAD = 12  # grid samples along either side that overlap is judged by


@dataclass(frozen=True)
class Neighbour:
    """A keyframe beside a host."""

    place: int  # among the keyframes
    parallax: float  # rad, of the host's surface, about
    overlap: float


def neighbours(host: int, frames: Sequence[DenseFrame], grid: Grid) -> list[Neighbour]:
    """At most :data:`WANTED`, evenly spread over the parallax there is, the least first."""
    rows, columns = (np.linspace(0, n - 1, SPREAD).round().astype(int) for n in grid.shape)
    q = np.maximum(frames[host].prior.inv_depth[np.ix_(rows, columns)].astype(np.float64), 1e-6)
    points = (grid.rays[np.ix_(rows, columns)] / q[..., None]).reshape(-1, 3)
    from_world = frames[host].T_view_world
    found = []
    for place, frame in enumerate(frames):
        if place == host:
            continue
        T = frame.T_view_world @ se3.inverse(from_world)
        one = Neighbour(place, _parallax(T, points), _overlap(T, points, grid.view))
        if (
            one.overlap >= LEAST_OVERLAP
            and LEAST_PARALLAX / grid.view.focal_px < one.parallax < LARGEST_PARALLAX
        ):
            found.append(one)
    found.sort(key=lambda n: (n.parallax, n.place))
    if len(found) <= WANTED:
        return found
    return [found[k] for k in np.linspace(0, len(found) - 1, WANTED + 1).round().astype(int)[1:]]


def _parallax(T_other_host: Array, points: Array) -> float:
    """Angle between the two lines of sight, in the median of the points."""
    there = T_other_host[:3, 3] @ T_other_host[:3, :3]  # minus the other's centre, seen from the host
    a, b = points, points + there
    cosine = (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
    return float(np.median(np.arccos(np.clip(cosine, -1.0, 1.0))))


def _overlap(T_other_host: Array, points: Array, view: FocusedView) -> float:
    seen = se3.transform(T_other_host, points)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = view.focal_px * seen[:, 0] / seen[:, 2] + view.cx
        v = view.focal_px * seen[:, 1] / seen[:, 2] + view.cy
    return float(((seen[:, 2] > 0) & (u > 0) & (u < view.width) & (v > 0) & (v < view.height)).mean())


def views_of(host: DenseFrame, others: Sequence[DenseFrame], view: FocusedView) -> Views:
    """Their images, and the warp from the host's pixels into each."""
    if len(others) > MOST_VIEWS:
        raise ValueError(f"at most {MOST_VIEWS} views are compared, not {len(others)}")
    K = view.pinhole
    away = se3.inverse(host.T_view_world)
    T = [frame.T_view_world @ away for frame in others]
    return Views(
        np.concatenate([np.asarray(frame.image, np.float32).ravel() for frame in others]),
        view.height,
        view.width,
        np.array([K @ t[:3, :3] @ np.linalg.inv(K) for t in T], np.float32),
        np.array([K @ t[:3, 3] for t in T], np.float32),
    )
