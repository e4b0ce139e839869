# SPDX-License-Identifier: Apache-2.0
"""Points as structures of arrays: candidates (not yet in the energy) and active points of the window."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Integers, Mask
from prism_vo.optics.view import FocusedView
from prism_vo.points.pattern import CENTRE, NONE

LEAST_INV_DEPTH = 0.005  # 1/m: what is farther says nothing about scale
DEPTH_USED, DEPTH_UNCERTAIN, DEPTH_NONE = np.int8(0), np.int8(1), np.int8(2)  # green, cyan, magenta


@dataclass(frozen=True)
class HostFrames:
    """Poses and brightness of the window's K keyframes, as their points see them."""

    T_view_world: Array  # (K, 4, 4)
    affine: Array  # (K, 2)
    exposure: Array  # (K,)

    def __len__(self) -> int:
        return len(self.exposure)


@dataclass(frozen=True)
class _PointColumns:
    """What a point of a keyframe is; arrays of equal length, selected and joined together."""

    host: Integers  # window position of the keyframe
    u: Floats
    v: Floats
    inv_depth: Array  # best estimate; NaN before anything is known
    measured: Array  # plenoptic ρ_v; NaN without
    information: Array  # 1/σ²(ρ_v) that enters the energy; 0: no depth term
    kind: NDArray[np.int8]  # DEPTH_USED, DEPTH_UNCERTAIN, DEPTH_NONE
    color: Floats  # (N, 8)
    weight: Floats  # (N, 8)
    rgb: NDArray[np.uint8] = field(  # (N, 3), for the map
        kw_only=True, default_factory=lambda: np.zeros((0, 3), np.uint8)
    )
    beside_edge: Mask = field(  # (N,): parallax shows another surface within its matching window
        kw_only=True, default_factory=lambda: np.zeros(0, np.bool_)
    )

    def __post_init__(self) -> None:
        """Without a picture in colour a point is as grey as its pixel; no depth edge is known at first."""
        if len(self.rgb) == 0:
            grey = np.clip(self.color[:, CENTRE], 0, 255).astype(np.uint8)
            object.__setattr__(self, "rgb", np.repeat(grey[:, None], 3, 1))
        if len(self.beside_edge) == 0:
            object.__setattr__(self, "beside_edge", np.zeros(len(self.host), np.bool_))

    def __len__(self) -> int:
        return len(self.host)

    def take(self, rows: Mask | NDArray[np.intp]) -> Self:
        """The rows of a mask or of an index array."""
        which = rows
        if rows.dtype == np.bool_:
            if rows.all():
                return self
            which = np.flatnonzero(rows)
        return type(self)(**{name: column.take(which, 0) for name, column in vars(self).items()})

    def joined(self, other: Self) -> Self:
        """These rows, then the other's."""
        others = vars(other)
        return type(self)(
            **{name: np.concatenate([column, others[name]]) for name, column in vars(self).items()}
        )

    def _hosts_without(self, position: int) -> Integers:
        """Hosts after the keyframe at a position has left."""
        return self.host - (self.host > position).astype(np.int32)


@dataclass(frozen=True)
class Candidates(_PointColumns):
    """Selected pixels of a keyframe whose depth is being narrowed: inverse depth in [low, high]."""

    low: Array
    high: Array  # NaN: unbounded (the whole ray)
    quality: Floats  # second best / best matching energy
    failures: NDArray[np.int8]  # consecutive searches that failed
    # what a pixel's own measurement leaves open, where its neighbours leave less: searched after one that failed
    widest_low: Array = field(kw_only=True, default_factory=lambda: np.zeros(0))
    widest_high: Array = field(kw_only=True, default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        """By itself nothing more than the interval."""
        super().__post_init__()
        if len(self.widest_high) == 0:
            object.__setattr__(self, "widest_low", self.low)
            object.__setattr__(self, "widest_high", self.high)

    @classmethod
    def empty(cls) -> Candidates:
        """None at all."""
        f, d = np.zeros(0, np.float32), np.zeros(0)
        return cls(**_no_points(), low=d, high=d, quality=f, failures=np.zeros(0, np.int8))

    @property
    def measured_share(self) -> float:
        """Of those whose depth could be measured."""
        return float(np.isfinite(self.measured).mean()) if len(self) else 0.0

    def scale_sigma(self, view: FocusedView) -> float:
        """Relative σ of the one factor of all distances that their measured depths know; inf: there are none."""
        used = (self.information > 0) & (self.inv_depth > LEAST_INV_DEPTH)
        q, information = self.inv_depth[used], self.information[used]
        total = float((information * (q * view.inv_virtual_depth_slope(q)) ** 2).sum())
        return 1.0 / np.sqrt(total) if total > 0.0 else np.inf

    def painted(self, picture: NDArray[np.uint8]) -> Candidates:
        """With the colours of their pixels in a picture (h, w, 3)."""
        return replace(self, rgb=picture[self.v.astype(int), self.u.astype(int)])

    def hosted_in(self, position: int) -> Candidates:
        """All of them in one keyframe."""
        return replace(self, host=np.full(len(self), position, np.int32))

    def without_keyframe(self, position: int) -> Candidates:
        """Close the gap of a keyframe that left; its own candidates must be gone already."""
        return replace(self, host=self._hosts_without(position))


@dataclass(frozen=True)
class Points(_PointColumns):
    """Active points: part of the energy."""

    residual_status: NDArray[np.int8]  # (N, K): NONE / IN / OUTLIER / OUTSIDE per window position
    inlier_count: Integers  # residuals that were IN at the end of a solve, over the point's life
    curvature: Array  # second derivative of the energy by inverse depth after the last solve
    photometric_curvature: Array  # that of the photometric residuals alone

    @classmethod
    def empty(cls) -> Points:
        """No points, no keyframes."""
        return cls(
            **_no_points(),
            residual_status=np.zeros((0, 0), np.int8),
            inlier_count=np.zeros(0, np.int32),
            curvature=np.zeros(0),
            photometric_curvature=np.zeros(0),
        )

    @classmethod
    def from_candidates(cls, c: Candidates, inv_depth: Array, frames: int) -> Points:
        """Activate candidates with residuals to every keyframe of the window but their host."""
        status = np.zeros((len(c), frames), np.int8)
        status[np.arange(len(c)), c.host] = NONE
        shared = {f.name: getattr(c, f.name) for f in fields(_PointColumns)} | {"inv_depth": inv_depth}
        return cls(
            **shared,
            residual_status=status,
            inlier_count=np.zeros(len(c), np.int32),
            curvature=np.zeros(len(c)),
            photometric_curvature=np.zeros(len(c)),
        )

    def with_keyframe(self) -> Points:
        """A residual of every point to one more keyframe at the end of the window."""
        return replace(
            self, residual_status=np.ascontiguousarray(np.pad(self.residual_status, ((0, 0), (0, 1))))
        )

    def without_keyframe(self, position: int) -> Points:
        """Close the gap of a keyframe that left; its own points must be gone already."""
        status = np.ascontiguousarray(np.delete(self.residual_status, position, 1))
        return replace(self, host=self._hosts_without(position), residual_status=status)


def _no_points() -> dict[str, Any]:
    """The common columns of nothing."""
    f, d, i = np.zeros(0, np.float32), np.zeros(0), np.zeros(0, np.int32)
    wide = np.zeros((0, 8), np.float32)
    empty = (i, f, f, d, d, d, np.zeros(0, np.int8), wide, wide)
    return dict(zip((f.name for f in fields(_PointColumns)), empty))
