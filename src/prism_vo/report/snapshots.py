# SPDX-License-Identifier: Apache-2.0
"""What a keyframe looked like when it came in: image, selected points, residuals. A few of them, evenly spread."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.photometry import gain_between
from prism_vo.points.pattern import CENTRE, IN, is_in_view
from prism_vo.points.projection import project_into

if TYPE_CHECKING:
    from prism_vo.odometry import FrameReport, Odometry
    from prism_vo.points.records import Candidates, Points
    from prism_vo.types import DecodedFrame, InputFrame
    from prism_vo.window.window import Window


@dataclass(frozen=True)
class SelectedPoints:
    """Pixels a keyframe contributed, with their class and plenoptic depth."""

    x: Floats
    y: Floats
    kind: NDArray[np.int8]  # DEPTH_USED, DEPTH_UNCERTAIN or DEPTH_NONE
    measured: Array  # ρ_v, NaN without
    sigma: Array  # of ρ_v, NaN without (or no longer known: points that were activated at once)


@dataclass(frozen=True)
class PointResiduals:
    """Active points seen in the keyframe: photometric residual there, depth residual in their host."""

    x: Array
    y: Array
    grey: Array  # I_j − b_j − e_ji (I_i − b_i) at the pattern's centre, grey levels; NaN: outlier
    sigmas: Array  # (ρ_v(q) − ρ_v,meas)/σ; NaN without depth term


@dataclass(frozen=True)
class Snapshot:
    """One keyframe."""

    frame: int
    time: float
    keyframe: int
    source: InputFrame  # for its dense depth
    image: NDArray[np.uint8]  # (h, w) or (h, w, 3) RGB
    points: SelectedPoints
    residuals: PointResiduals


@dataclass
class SnapshotAlbum:
    """At most ``most`` snapshots of an unknown number of keyframes: every stride-th, the stride doubling when full."""

    most: int = 8
    kept: list[Snapshot] = field(default_factory=list)
    _seen: int = 0
    _stride: int = 1

    def offer(self, report: FrameReport, frame: DecodedFrame, odometry: Odometry) -> None:
        """A new keyframe; it is looked at only if it is due."""
        due = self._seen % self._stride == 0
        self._seen += 1
        if not due:
            return
        if len(self.kept) == self.most:
            self.kept = self.kept[::2]
            self._stride *= 2
            if (self._seen - 1) % self._stride:
                return
        assert odometry.frame is not None
        self.kept.append(take_snapshot(report, frame, odometry.frame.source, odometry.window))


def take_snapshot(report: FrameReport, frame: DecodedFrame, source: InputFrame, window: Window) -> Snapshot:
    """The newest keyframe of the window."""
    picture = frame.color if frame.color is not None else to_bytes(frame.image)
    return Snapshot(
        report.index,
        report.time,
        report.keyframe,
        source,
        picture,
        selected_points(window),
        point_residuals(window),
    )


def to_bytes(image: Floats) -> NDArray[np.uint8]:
    """Grey levels 0–255 as bytes."""
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def selected_points(window: Window) -> SelectedPoints:
    """Candidates of the newest keyframe, and its points if they are active at once (first keyframe)."""
    newest = len(window.keyframes) - 1
    active = window.points.take(window.points.host == newest)
    waiting = window.candidates.take(window.candidates.host == newest)
    groups: list[Candidates | Points] = [active, waiting]
    # the search interval of a fresh candidate ends 2σ from its start (σ after averaging with neighbours)
    start, end = (window.view.inv_virtual_depth(q) for q in (waiting.inv_depth, waiting.high))
    sigma = [np.full(len(active), np.nan), (start - end) / 2.0]
    return SelectedPoints(
        np.concatenate([g.u for g in groups]),
        np.concatenate([g.v for g in groups]),
        np.concatenate([g.kind for g in groups]),
        np.concatenate([g.measured for g in groups]),
        np.concatenate(sigma),
    )


def point_residuals(window: Window) -> PointResiduals:
    """Residuals of the active points in the newest keyframe (docs/method.md, eq. 9 and 10)."""
    newest = len(window.keyframes) - 1
    p = window.points.take(is_in_view(window.points.residual_status[:, newest]))
    hosts = window.hosts
    seen = project_into(window.plane, hosts, newest, p)
    inside = seen.inside(window.plane, 0)
    p, x, y = p.take(inside), seen.x[inside], seen.y[inside]
    affine, exposure = hosts.affine[p.host], hosts.exposure[p.host]
    gain = gain_between(affine, exposure, hosts.affine[newest], hosts.exposure[newest])
    there = _bilinear(window.images[window.keyframes[newest].slot], x, y)
    grey = there - hosts.affine[newest, 1] - gain * (p.color[:, CENTRE] - affine[:, 1])
    information = window.depth_information(p)
    with np.errstate(invalid="ignore"):
        sigmas = (window.view.inv_virtual_depth(p.inv_depth) - p.measured) * np.sqrt(information)
    return PointResiduals(
        x,
        y,
        np.where(p.residual_status[:, newest] == IN, grey, np.nan),
        np.where(information > 0, sigmas, np.nan),
    )


def _bilinear(image: Floats, x: Array, y: Array) -> Array:
    ix, iy = np.floor(x).astype(int), np.floor(y).astype(int)
    fx, fy = x - ix, y - iy
    top = image[iy, ix] * (1 - fx) + image[iy, ix + 1] * fx
    bottom = image[iy + 1, ix] * (1 - fx) + image[iy + 1, ix + 1] * fx
    return np.asarray(top * (1 - fy) + bottom * fy, np.float64)
