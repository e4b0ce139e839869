# SPDX-License-Identifier: Apache-2.0
"""Corners with binary descriptors (ORB), spread over the image, and the metric depth measured at them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from prism_vo.arrays import Array, Floats, Mask
from prism_vo.optics.camera import FocusedView
from prism_vo.types import PointDepth

MOST = 400  # features a keyframe
DETECTED = 4  # times as many are found, of which the strongest of each cell are kept
CELLS = 8  # a side
LARGEST_AREA = 300_000  # px of the image they are found in: finer pyramid levels are not looked at
FAST_THRESHOLD = 7  # grey levels
LARGEST_RELATIVE_SIGMA = 0.25  # of inverse depth, for a feature to count as a point in space
LEAST_INV_DEPTH = 5e-3  # 1/m
NEIGHBOURS = 8  # points of the map about a corner, that lend it their depth
AGREE = 3.0  # σ within which they must agree with what was measured at it

Measure = Callable[[Floats], PointDepth]  # at pixels (N, 2) of the finest level


@dataclass(frozen=True)
class Features:
    """N corners; ``inv_depth`` is NaN where nothing was measured."""

    xy: Floats  # (N, 2) px of the finest level
    descriptors: NDArray[np.uint8]  # (N, 32)
    inv_depth: Floats  # (N,) 1/m of the view
    sigma: Floats  # (N,) of inv_depth

    def __len__(self) -> int:
        return len(self.xy)

    @property
    def known(self) -> Mask:
        """Those whose place in space is known."""
        with np.errstate(invalid="ignore"):
            certain = self.sigma < LARGEST_RELATIVE_SIGMA * self.inv_depth
            return np.asarray(certain & (self.inv_depth > LEAST_INV_DEPTH))

    def scaled(self, factor: float) -> Features:
        """Farther away by a factor."""
        by = np.float32(1.0 / factor)
        return replace(self, inv_depth=self.inv_depth * by, sigma=self.sigma * by)

    def points(self, view: FocusedView) -> Array:
        """(N, 3) in the frame of the view, metres; not finite where unknown."""
        x, y = self.xy[:, 0].astype(np.float64), self.xy[:, 1].astype(np.float64)
        return view.image_plane.rays(x, y) / self.inv_depth[:, None].astype(np.float64)

    @property
    def nbytes(self) -> int:
        """Memory."""
        return sum(getattr(self, f.name).nbytes for f in fields(self))


def feature_level(pyramid: list[Floats]) -> int:
    """The finest level that is small enough to look for corners in."""
    return next((k for k, p in enumerate(pyramid) if p.size <= LARGEST_AREA), len(pyramid) - 1)


def find_features(view: FocusedView, pyramid: list[Floats], measure: Measure) -> Features:
    """Corners of a frame (pyramid levels (h, w)), with the depth the sensor measures at them."""
    level = feature_level(pyramid)
    image = np.clip(np.rint(pyramid[level]), 0, 255).astype(np.uint8)
    orb = cv2.ORB_create(nfeatures=DETECTED * MOST, fastThreshold=FAST_THRESHOLD)  # type: ignore[attr-defined]
    corners, descriptors = orb.compute(image, _spread(orb.detect(image, None), image.shape))
    if descriptors is None or len(corners) == 0:
        empty = np.zeros(0, np.float32)
        return Features(np.zeros((0, 2), np.float32), np.zeros((0, 32), np.uint8), empty, empty)
    # pixel (u + ½)·2^level − ½ of the finest level: means of 2 × 2
    at = (np.array([c.pt for c in corners], np.float32) + np.float32(0.5)) * np.float32(2**level)
    at -= np.float32(0.5)
    inside = (at >= 0) & (at <= np.array([view.width - 1, view.height - 1], np.float32))
    keep = inside.all(1)
    return with_depth(view, at[keep], descriptors[keep], measure)


def with_depth(view: FocusedView, xy: Floats, descriptors: NDArray[np.uint8], measure: Measure) -> Features:
    """Features at pixels (N, 2), their virtual depths turned into inverse depths with σ."""
    depth = measure(xy)
    rho = np.where(depth.valid, depth.inv_virtual_depth, np.nan).astype(np.float64)
    inv_depth = view.inv_depth_from_virtual(rho)
    with np.errstate(invalid="ignore", divide="ignore"):
        sigma = np.sqrt(depth.variance) / np.abs(view.inv_virtual_depth_slope(inv_depth))
    return Features(xy, descriptors, inv_depth.astype(np.float32), sigma.astype(np.float32))


def fused(features: Features, xy: Array, inv_depth: Array, variance: Array, reach: float) -> Features:
    """Depths of features together with those of points (N, 2) near them that agree: a corner is part of a surface."""
    if len(features) == 0 or len(xy) == 0:
        return features
    apart, rows = cKDTree(xy).query(features.xy, k=min(NEIGHBOURS, len(xy)), distance_upper_bound=reach)
    apart, rows = apart.reshape(len(features), -1), rows.reshape(len(features), -1)
    near = np.isfinite(apart)
    rows = np.where(near, rows, 0)
    q, spread = inv_depth[rows], variance[rows]
    own = features.inv_depth.astype(np.float64)
    own_variance = features.sigma.astype(np.float64) ** 2
    with np.errstate(invalid="ignore"):
        agree = near & ((q - own[:, None]) ** 2 < AGREE**2 * (spread + own_variance[:, None]))
    known = np.isfinite(own) & np.isfinite(own_variance)
    weight = np.where(agree, 1.0 / np.maximum(spread, 1e-12), 0.0)
    first = np.where(known, 1.0 / np.maximum(own_variance, 1e-12), 0.0)
    total = first + weight.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (first * np.where(known, own, 0.0) + (weight * q).sum(1)) / total
        # neighbours are correlated: together they count as the best of them, not as their number
        best = np.maximum(first, weight.max(1))
        sigma = 1.0 / np.sqrt(best)
    return replace(features, inv_depth=mean.astype(np.float32), sigma=sigma.astype(np.float32))


def _spread(corners: tuple[cv2.KeyPoint, ...], shape: tuple[int, ...]) -> list[cv2.KeyPoint]:
    """The strongest of every cell in turn, until there are enough."""
    cells: dict[tuple[int, int], list[cv2.KeyPoint]] = {}
    ordered = sorted(corners, key=lambda c: (-c.response, c.pt[1], c.pt[0], c.octave))
    for corner in ordered:
        cell = (int(corner.pt[1] * CELLS / shape[0]), int(corner.pt[0] * CELLS / shape[1]))
        cells.setdefault(cell, []).append(corner)
    rank = [(k, -c.response, cell, c) for cell, own in cells.items() for k, c in enumerate(own)]
    rank.sort(key=lambda r: (r[0], r[1], r[2], r[3].pt))
    return [r[3] for r in rank[:MOST]]
