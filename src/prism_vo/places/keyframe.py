# SPDX-License-Identifier: Apache-2.0
"""A keyframe in at most 150 kB: what is needed to find it again, and to align any image with it in metres."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Mask
from prism_vo.optics.camera import FocusedView
from prism_vo.places.features import Features, fused
from prism_vo.points.pattern import PATTERN
from prism_vo.tracking.reference import KeyframeDepth

LARGEST_IMAGE = 102_400  # px of the image that is kept: the finest level of the pyramid that is not larger
MOST_POINTS = 1200
MOST_BYTES = 150_000
LARGEST_RELATIVE_SIGMA = 0.3  # of inverse depth, of points worth keeping
FEATURE_REACH = 0.02  # of the image width: how far a point may be from a corner it lends its depth to
BORDER = 4  # px from the edge, so that patches lie inside


@dataclass(frozen=True)
class CompactKeyframe:
    """Everything that stays of a keyframe; poses are elsewhere (they change, this does not)."""

    id: int
    segment: int
    time: float  # s
    level: int  # of the pyramid that the image is
    image: NDArray[np.uint8]  # (h, w)
    pixels: NDArray[np.uint16]  # (N, 2) points, x and y on the finest level
    inv_depth: Floats  # (N,) 1/m of the view
    sigma: NDArray[np.float16]  # (N,) of inv_depth, relative to it
    patches: NDArray[np.uint8]  # (level, N, 8) the pattern about each point on the finer levels
    features: Features

    @property
    def nbytes(self) -> int:
        """Memory."""
        own = (self.image, self.pixels, self.inv_depth, self.sigma, self.patches)
        return sum(array.nbytes for array in own) + self.features.nbytes

    @property
    def variance(self) -> Floats:
        """(N,) of inv_depth."""
        return (self.sigma.astype(np.float32) * self.inv_depth) ** 2

    def scaled(self, factor: float) -> CompactKeyframe:
        """Farther away by a factor; σ is relative."""
        by = np.float32(1.0 / factor)
        return replace(self, inv_depth=self.inv_depth * by, features=self.features.scaled(factor))

    def points(self, view: FocusedView) -> Array:
        """(N, 3) in the frame of the view, metres."""
        x, y = self.pixels[:, 0].astype(np.float64), self.pixels[:, 1].astype(np.float64)
        return view.image_plane.rays(x, y) / self.inv_depth[:, None].astype(np.float64)

    @classmethod
    def of(
        cls, keyframe: KeyframeDepth, pyramid: list[Floats], features: Features, segment: int, time: float
    ) -> CompactKeyframe:
        """From a keyframe with sparse depth maps and its pyramid (levels (h, w))."""
        level = kept_level(pyramid)
        y, x = _best_points(keyframe)
        q = keyframe.inv_depth[y, x].astype(np.float32)
        relative = np.sqrt(keyframe.variance[y, x]) / q
        pixels = np.stack([x, y], -1)
        variance = keyframe.variance[y, x].astype(np.float64)
        reach = FEATURE_REACH * keyframe.image.shape[1]
        known = fused(features, pixels.astype(np.float64), q.astype(np.float64), variance, reach)
        return cls(
            keyframe.id,
            segment,
            time,
            level,
            _bytes(pyramid[level]),
            pixels.astype(np.uint16),
            q,
            relative.astype(np.float16),
            np.stack([_patches(pyramid[k], x, y, k) for k in range(level)])
            if level
            else np.zeros((0, len(x), len(PATTERN)), np.uint8),
            known,
        )


def kept_level(pyramid: list[Floats]) -> int:
    """The level whose image is kept."""
    return next((k for k, p in enumerate(pyramid) if p.size <= LARGEST_IMAGE), len(pyramid) - 1)


def _best_points(keyframe: KeyframeDepth) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of the pixels with the most certain depth, in the order of the image."""
    h, w = keyframe.inv_depth.shape
    inside = np.zeros((h, w), np.bool_)
    inside[BORDER:-BORDER, BORDER:-BORDER] = True
    with np.errstate(invalid="ignore"):
        relative = keyframe.variance / keyframe.inv_depth**2
        known: Mask = inside & (keyframe.inv_depth > 0) & (relative < LARGEST_RELATIVE_SIGMA**2)
    y, x = np.nonzero(known)
    if len(y) > MOST_POINTS:
        order = np.sort(np.argsort(relative[y, x], kind="stable")[:MOST_POINTS])
        y, x = y[order], x[order]
    return y, x


def pattern_rays(x: Array, y: Array, level: int) -> tuple[Array, Array]:
    """Pixels (N, 8) of the pattern about points (given on the finest level) on a level, whole pixels."""
    scale = 2.0**-level
    centre_x, centre_y = np.rint((x + 0.5) * scale - 0.5), np.rint((y + 0.5) * scale - 0.5)
    return centre_x[:, None] + PATTERN[:, 0], centre_y[:, None] + PATTERN[:, 1]


def _patches(image: Floats, x: NDArray[np.intp], y: NDArray[np.intp], level: int) -> NDArray[np.uint8]:
    at_x, at_y = pattern_rays(x.astype(np.float64), y.astype(np.float64), level)
    h, w = image.shape
    columns, rows = np.clip(at_x, 0, w - 1).astype(np.intp), np.clip(at_y, 0, h - 1).astype(np.intp)
    return _bytes(image[rows, columns])


def _bytes(image: Floats) -> NDArray[np.uint8]:
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)
