# SPDX-License-Identifier: Apache-2.0
"""What map and pose say that a frame should show, and whether its measured depth agrees with that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array, Floats, Mask
from prism_vo.optics.pinhole import Pinhole
from prism_vo.optics.view import FocusedView
from prism_vo.tracking.align import ReferencePixels
from prism_vo.tracking.reference import Reference
from prism_vo.tracking.track import Track
from prism_vo.types import Frame, InputFrame, PointDepth

POINTS = 250  # at which depth is measured
MARGIN = 4  # px from the border of the image
DEVIATIONS = 3.0  # σ between measured and predicted depth that still agree
LEAST_POINTS = 20  # photometric inliers in view
LEAST_MEASURED = 0.3  # share of them with a depth, for depth to have a say
ZONES = 4  # along either side of the image
LEAST_OF_ZONE = 20  # reference pixels that make a zone count
FITTING = 0.8  # share of a zone's pixels that fit where nothing covers the map

Measure = Callable[[InputFrame, Floats], PointDepth]


@dataclass(frozen=True)
class Predicted:
    """Reference pixels (N,) where a pose puts them in the frame, and which of them fit photometrically."""

    x: Array
    y: Array
    inv_depth: Array
    variance: Array  # of the inverse depth
    fits: Mask

    @classmethod
    def by(cls, reference: Reference, track: Track, frame: Frame, cutoff: float) -> Predicted:
        """What a frame should show; ``cutoff``: residual of a photometric inlier at a gain of 1, grey levels."""
        level, plane = reference.levels[0], reference.planes[0]
        rays, q = rays_of(level), level.inv_depth.astype(np.float64)
        p = rays @ track.T_frame_ref[:3, :3].T + track.T_frame_ref[:3, 3] * q[:, None]
        z = np.maximum(p[:, 2], 1e-3)
        x, y = plane.project(np.column_stack([p[:, :2], z]))
        inside = np.flatnonzero(plane.contains(x, y, MARGIN) & (p[:, 2] > 1e-3))
        x, y, z = x[inside], y[inside], z[inside]
        grey = frame.image[np.rint(y).astype(np.intp), np.rint(x).astype(np.intp)]
        light = track.brightness
        residual = grey - light.gain * level.color[inside] - light.offset
        variance = level.variance[inside].astype(np.float64) / z**4
        return cls(x, y, q[inside] / z, variance, np.abs(residual) < cutoff * light.contrast)

    def some_that_fit(self) -> Predicted:
        """At most about POINTS of them, spread over all."""
        some = np.flatnonzero(self.fits)
        some = some[:: max(len(some) // POINTS, 1)]
        return Predicted(
            self.x[some], self.y[some], self.inv_depth[some], self.variance[some], self.fits[some]
        )

    def fitting_zones(self, plane: Pinhole) -> float:
        """Share of the zones of the image in which nearly all pixels fit."""
        column = np.minimum(self.x * ZONES / plane.width, ZONES - 1).astype(np.intp)
        zone = np.minimum(self.y * ZONES / plane.height, ZONES - 1).astype(np.intp) * ZONES + column
        count = np.bincount(zone, minlength=ZONES**2)
        fitting = np.bincount(zone, self.fits, ZONES**2)[count >= LEAST_OF_ZONE]
        shares = fitting / count[count >= LEAST_OF_ZONE]
        return float((shares >= FITTING).mean()) if len(shares) else 0.0


@dataclass(frozen=True)
class DepthAgreement:
    """Measured depth of a new frame against what the map and a pose predict there."""

    measured: float  # share of the points that have a depth
    agreeing: float  # share of those that agree

    @classmethod
    def of(cls, frame: Frame, view: FocusedView, predicted: Predicted, measure: Measure) -> DepthAgreement:
        """At some of the points that fit; ``view``: as the map sees it."""
        some = predicted.some_that_fit()
        if len(some.x) < LEAST_POINTS:
            return cls(0.0, 0.0)
        found = measure(frame.source, np.stack([some.x, some.y], -1).astype(np.float32))
        good = found.valid
        if not good.any():
            return cls(0.0, 0.0)
        expected = view.inv_virtual_depth(some.inv_depth[good])
        slope = view.inv_virtual_depth_slope(some.inv_depth[good])
        spread = np.sqrt(found.variance[good] + some.variance[good] * slope**2)
        agrees = np.abs(found.inv_virtual_depth[good] - expected) < DEVIATIONS * spread
        return cls(float(good.mean()), float(agrees.mean()))

    @property
    def has_a_say(self) -> bool:
        """Whether enough could be measured."""
        return self.measured >= LEAST_MEASURED


def rays_of(level: ReferencePixels) -> Array:
    """(N, 3), of unit depth."""
    ones = np.ones(len(level.ray_x))
    return np.stack([level.ray_x.astype(np.float64), level.ray_y.astype(np.float64), ones], -1)
