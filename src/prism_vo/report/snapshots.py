# SPDX-License-Identifier: Apache-2.0
"""What a keyframe looked like when it came in: image, selected points, residuals. A few of them, evenly spread."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.mapping.reference import project
from prism_vo.mapping.residuals import IN, OUTLIER

if TYPE_CHECKING:
    from prism_vo.mapping.points import Candidates, Points
    from prism_vo.mapping.window import Window
    from prism_vo.odometry import FrameReport, Odometry
    from prism_vo.types import DecodedFrame


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
    image: NDArray[np.uint8]  # (h, w) or (h, w, 3) RGB
    points: SelectedPoints
    residuals: PointResiduals


@dataclass
class SnapshotAlbum:
    """At most ``most`` snapshots of an unknown number of keyframes: every stride-th, the stride doubling when full."""

    most: int = 12
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
        self.kept.append(take_snapshot(report, frame, odometry.window))


def take_snapshot(report: FrameReport, frame: DecodedFrame, window: Window) -> Snapshot:
    """The newest keyframe of the window."""
    picture = frame.color if frame.color is not None else to_bytes(frame.image)
    return Snapshot(
        report.index, report.time, report.keyframe, picture, selected_points(window), point_residuals(window)
    )


def to_bytes(image: Floats) -> NDArray[np.uint8]:
    """Grey levels 0–255 as bytes."""
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def selected_points(window: Window) -> SelectedPoints:
    """Candidates of the newest keyframe, and its points if they are active at once (first keyframe)."""
    newest = len(window.keyframes) - 1
    active = window.points.take(window.points.host == newest)
    groups: list[Candidates | Points] = [active]
    sigma = [np.full(len(active), np.nan)]
    if window.candidates is not None:
        waiting = window.candidates.take(window.candidates.host == newest)
        groups.append(waiting)
        # the search interval of a fresh candidate ends 2σ from its start (σ after averaging with neighbours)
        start, end = (
            window.view.inv_virtual_depth(waiting.inv_depth),
            window.view.inv_virtual_depth(waiting.high),
        )
        sigma.append((start - end) / 2.0)
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
    p = window.points.take(np.isin(window.points.state[:, newest], (IN, OUTLIER)))
    x, y, z, _ = project(window.view, window.keyframes, newest, p.host, p.u, p.v, p.inv_depth)
    h, w = window.view.height, window.view.width
    inside = (z > 1e-3) & (x >= 0) & (y >= 0) & (x < w - 1) & (y < h - 1)
    p, x, y = p.take(inside), x[inside], y[inside]
    target = window.keyframes[newest]
    hosts = [window.keyframes[k] for k in p.host]
    gain = np.array(
        [target.exposure / k.exposure * np.exp(target.affine[0] - k.affine[0]) for k in hosts]
    ).reshape(len(p))
    offset = np.array([k.affine[1] for k in hosts]).reshape(len(p))
    seen = _bilinear(window.images[target.slot][..., 0], x, y)
    grey = seen - target.affine[1] - gain * (p.color[:, 4] - offset)
    used = p.information > 0
    with np.errstate(invalid="ignore"):
        sigmas = (window.view.inv_virtual_depth(p.inv_depth) - p.measured) * np.sqrt(p.information)
    return PointResiduals(
        x, y, np.where(p.state[:, newest] == IN, grey, np.nan), np.where(used, sigmas, np.nan)
    )


def _bilinear(image: Floats, x: Array, y: Array) -> Array:
    ix, iy = np.floor(x).astype(int), np.floor(y).astype(int)
    fx, fy = x - ix, y - iy
    top = image[iy, ix] * (1 - fx) + image[iy, ix + 1] * fx
    bottom = image[iy + 1, ix] * (1 - fx) + image[iy + 1, ix + 1] * fx
    return np.asarray(top * (1 - fy) + bottom * fy, np.float64)
