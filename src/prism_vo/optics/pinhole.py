# SPDX-License-Identifier: Apache-2.0
"""A pinhole image: rays of its pixels, pixels of its rays. Every level of an image pyramid is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Mask


class Intrinsics(NamedTuple):
    """The numbers of a pinhole as kernels take them."""

    focal: np.float32
    cx: np.float32
    cy: np.float32

    def moved(self, numbers: Array) -> Intrinsics:
        """After a step (3,) of log focal, cx and cy."""
        return Intrinsics(
            np.float32(self.focal * np.exp(numbers[0])),
            np.float32(self.cx + numbers[1]),
            np.float32(self.cy + numbers[2]),
        )


@dataclass(frozen=True)
class Pinhole:
    """``u = focal · x/z + cx``; pixel centres at integers."""

    width: int
    height: int
    focal: float
    cx: float
    cy: float

    @property
    def intrinsics(self) -> Intrinsics:
        """For kernels."""
        return Intrinsics(np.float32(self.focal), np.float32(self.cx), np.float32(self.cy))

    def halved(self, times: int) -> Pinhole:
        """After ``times`` means of 2×2 pixels: c_l = (c + 0.5)/2^l − 0.5, sizes rounded down."""
        s = 2.0**-times
        return Pinhole(
            self.width >> times,
            self.height >> times,
            self.focal * s,
            (self.cx + 0.5) * s - 0.5,
            (self.cy + 0.5) * s - 0.5,
        )

    def rays(self, x: NDArray[np.number], y: NDArray[np.number]) -> Array:
        """Pixels (N,), (N,) → points (N, 3) on their rays at depth 1."""
        return np.stack([(x - self.cx) / self.focal, (y - self.cy) / self.focal, np.ones(len(x))], -1)

    def project(self, points: Array) -> tuple[Array, Array]:
        """Points (N, 3), each up to a positive factor → pixels (N,), (N,); not finite at depth 0."""
        z = points[:, 2]
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.focal * points[:, 0] / z + self.cx, self.focal * points[:, 1] / z + self.cy

    def contains(self, x: Array, y: Array, margin: float) -> Mask:
        """At least ``margin`` px inside the border."""
        with np.errstate(invalid="ignore"):
            in_x = (x >= margin) & (x < self.width - 1 - margin)
            return in_x & (y >= margin) & (y < self.height - 1 - margin)
