# SPDX-License-Identifier: Apache-2.0
"""Points as structures of arrays: candidates (not yet in the energy) and active points of the window."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Integers, Mask
from prism_vo.mapping.residuals import NONE, PATTERN

DEPTH_USED, DEPTH_UNCERTAIN, DEPTH_NONE = np.int8(0), np.int8(1), np.int8(2)  # green, cyan, magenta


@dataclass(frozen=True)
class _Columns:
    """Arrays of equal length, selected and joined together."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def take(self, mask: Mask | NDArray[np.intp]) -> Self:
        """The rows of a mask or of an index array."""
        return replace(
            self, **{f.name: np.ascontiguousarray(getattr(self, f.name)[mask]) for f in fields(self)}
        )

    def joined(self, other: Self) -> Self:
        """These rows, then the other's."""
        pairs = {
            f.name: np.concatenate([getattr(self, f.name), getattr(other, f.name)]) for f in fields(self)
        }
        return replace(self, **pairs)


@dataclass(frozen=True)
class Candidates(_Columns):
    """Selected pixels of a keyframe whose depth is being narrowed: inverse depth in [low, high]."""

    host: Integers  # window position of the keyframe
    u: Floats
    v: Floats
    inv_depth: Array  # best estimate; NaN before anything is known
    low: Array
    high: Array  # NaN: unbounded (the whole ray)
    measured: Array  # plenoptic ρ_v; NaN without
    information: Array  # 1/σ²(ρ_v) that enters the energy; 0: no depth term
    kind: NDArray[np.int8]
    color: Floats  # (N, 8)
    weight: Floats  # (N, 8)
    quality: Floats  # second best / best matching energy
    failures: NDArray[np.int8]  # consecutive searches that failed


@dataclass(frozen=True)
class Points(_Columns):
    """Active points: part of the energy."""

    host: Integers
    u: Floats
    v: Floats
    inv_depth: Array
    measured: Array
    information: Array
    kind: NDArray[np.int8]
    color: Floats
    weight: Floats
    state: NDArray[np.int8]  # (N, K): NONE / IN / OUTLIER / OUTSIDE per window position
    good: Integers  # residuals that were IN at the end of a solve, over the point's life
    curvature: Array  # second derivative of the energy by inverse depth after the last solve

    @classmethod
    def empty(cls) -> Points:
        """No points, no keyframes."""
        f, d = np.zeros(0, np.float32), np.zeros(0)
        i, b = np.zeros(0, np.int32), np.zeros(0, np.int8)
        wide = np.zeros((0, 8), np.float32)
        return cls(i, f, f, d, d, d, b, wide, wide, np.zeros((0, 0), np.int8), i, d)

    @classmethod
    def from_candidates(cls, c: Candidates, inv_depth: Array, frames: int) -> Points:
        """Activate candidates with residuals to every keyframe of the window but their host."""
        state = np.zeros((len(c), frames), np.int8)
        state[np.arange(len(c)), c.host] = NONE
        return cls(
            c.host, c.u, c.v, inv_depth, c.measured, c.information, c.kind, c.color, c.weight,
            state, np.zeros(len(c), np.int32), np.zeros(len(c)),
        )  # fmt: skip

    def with_keyframe(self) -> Points:
        """A residual of every point to one more keyframe at the end of the window."""
        return replace(self, state=np.ascontiguousarray(np.pad(self.state, ((0, 0), (0, 1)))))

    def without_keyframe(self, position: int) -> Points:
        """Close the gap of a keyframe that left; its own points must be gone already."""
        host = self.host - (self.host > position).astype(np.int32)
        return replace(self, host=host, state=np.ascontiguousarray(np.delete(self.state, position, 1)))


@njit(nogil=True, cache=True)
def sample_pattern(image, u, v, contrast, color, weight):  # type: ignore[no-untyped-def]
    """Pattern intensities and weights c²/(c² + |∇I|²) at points of a (h, w, 3) image (bilinear)."""
    for n in range(u.shape[0]):
        for k in range(8):
            x, y = u[n] + PATTERN[k, 0], v[n] + PATTERN[k, 1]
            ix, iy = int(x), int(y)
            fx, fy = x - np.float32(ix), y - np.float32(iy)
            value, gx, gy = np.float32(0), np.float32(0), np.float32(0)
            for c in range(4):
                w = (fx if c % 2 else np.float32(1) - fx) * (fy if c // 2 else np.float32(1) - fy)
                if w != np.float32(0):
                    cell = image[iy + c // 2, ix + c % 2]
                    value += w * cell[0]
                    gx += w * cell[1]
                    gy += w * cell[2]
            color[n, k] = value
            weight[n, k] = contrast * contrast / (contrast * contrast + gx * gx + gy * gy)


def pattern_at(image: Floats, u: Floats, v: Floats, contrast: float) -> tuple[Floats, Floats]:
    """Intensities and weights (N, 8) of the residual pattern around points."""
    color, weight = np.empty((len(u), 8), np.float32), np.empty((len(u), 8), np.float32)
    sample_pattern(image, u, v, np.float32(contrast), color, weight)
    return color, weight
