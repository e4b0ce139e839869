# SPDX-License-Identifier: Apache-2.0
"""Is a track believed? Images alone can be fooled; a false pose contradicts the measured depth of the new frame.

Depth is measured only where there is doubt, so that a frame like the one before costs nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array, Floats
from prism_vo.optics.view import FocusedView
from prism_vo.tracking.align import ReferencePixels
from prism_vo.tracking.brightness import COVERED
from prism_vo.tracking.motion import Motion
from prism_vo.tracking.reference import Reference
from prism_vo.tracking.track import Track
from prism_vo.types import Frame, InputFrame, PointDepth

Measure = Callable[[InputFrame, Floats], PointDepth]

USUAL_RESIDUAL = 1.5  # times that of the last believed frame
POINTS = 250  # at which depth is measured
MARGIN = 4  # px from the border of the image
DEVIATIONS = 3.0  # σ between measured and predicted depth that still agree
LEAST_POINTS = 20  # photometric inliers in view
LEAST_MEASURED = 0.3  # share of them with a depth, for depth to have a say
LEAST_AGREEMENT = 0.6  # share of the measured ones that must agree with the map
LARGEST_SURPRISE = 6.0  # px at 512 px width beside the foreseen place, where depth has no say
SURPRISE_WIDTH = 512.0


@dataclass(frozen=True)
class Verdict:
    """Whether a track is believed, and how good it is."""

    quality: float  # 0–1
    contradiction: str | None = None  # why it is not believed, one sentence

    @property
    def believed(self) -> bool:
        """Nothing speaks against it."""
        return self.contradiction is None


@dataclass(frozen=True)
class DepthAgreement:
    """Measured depth of a new frame against what the map and a pose predict there."""

    measured: float  # share of the points that have a depth
    agreeing: float  # share of those that agree

    @property
    def has_a_say(self) -> bool:
        """Whether enough could be measured."""
        return self.measured >= LEAST_MEASURED


class Judge:
    """Compares a track with the last good ones, with the images' zones and, in doubt, with measured depth."""

    def __init__(self, measure: Measure, cutoff: float) -> None:
        """``cutoff``: residual of a photometric inlier at a gain of 1, grey levels."""
        self.measure, self.cutoff = measure, cutoff

    def __call__(
        self, frame: Frame, view: FocusedView, reference: Reference, track: Track, motion: Motion
    ) -> Verdict:
        """Of a track that continues a motion; ``view``: as the map sees it."""
        zones, usual = track.brightness.zones, motion.expected.rms
        fit = min(1.0, usual / max(track.relative_rms, 1e-6))
        quality = float(zones * fit)
        if zones >= COVERED and track.relative_rms <= USUAL_RESIDUAL * usual:
            return Verdict(quality)
        depth = self.depth_agreement(frame, view, reference, track)
        if depth.has_a_say:
            quality *= depth.agreeing
            if depth.agreeing < LEAST_AGREEMENT:
                return Verdict(quality, "Measured depth contradicts the pose.")
            return Verdict(quality)
        foreseen = motion.step @ motion.T_view_world @ np.linalg.inv(reference.T_view_world)
        if self._apart(reference, track.T_frame_ref, foreseen) > LARGEST_SURPRISE:
            return Verdict(quality, "The image jumped, fits badly and has no depth to confirm it.")
        if zones < COVERED and track.relative_rms > USUAL_RESIDUAL * usual and not self._partly(track):
            return Verdict(quality, "Most of the image does not fit and has no depth to confirm the rest.")
        return Verdict(quality)

    def recovered(
        self, frame: Frame, view: FocusedView, reference: Reference, track: Track, motion: Motion
    ) -> Verdict:
        """Of a track out of nowhere: depth must confirm it, if it can be measured at all."""
        quality = float(
            track.brightness.zones * min(1.0, motion.expected.rms / max(track.relative_rms, 1e-6))
        )
        depth = self.depth_agreement(frame, view, reference, track)
        if depth.has_a_say and depth.agreeing < LEAST_AGREEMENT:
            return Verdict(quality, "Measured depth contradicts the pose.")
        return Verdict(quality * (depth.agreeing if depth.has_a_say else 1.0))

    @staticmethod
    def _partly(track: Track) -> bool:
        """Whether a good part of the image fits perfectly well: then something covers the rest."""
        return track.brightness.zones >= 0.5 * COVERED or track.inliers > 0.5

    def depth_agreement(
        self, frame: Frame, view: FocusedView, reference: Reference, track: Track
    ) -> DepthAgreement:
        """At some of the reference pixels that fit photometrically."""
        x, y, inv_depth, variance = self._fitting(frame, reference, track)
        if len(x) < LEAST_POINTS:
            return DepthAgreement(0.0, 0.0)
        found = self.measure(frame.source, np.stack([x, y], -1).astype(np.float32))
        good = found.valid
        if not good.any():
            return DepthAgreement(0.0, 0.0)
        predicted = view.inv_virtual_depth(inv_depth[good])
        slope = view.inv_virtual_depth_slope(inv_depth[good])
        spread = np.sqrt(found.variance[good] + variance[good] * slope**2)
        agrees = np.abs(found.inv_virtual_depth[good] - predicted) < DEVIATIONS * spread
        return DepthAgreement(float(good.mean()), float(agrees.mean()))

    def _fitting(self, frame: Frame, reference: Reference, track: Track) -> tuple[Array, Array, Array, Array]:
        """Pixels of the frame (x, y), predicted inverse depth and its variance there, (N,) each."""
        level, plane = reference.levels[0], reference.planes[0]
        rays, q = _rays(level), level.inv_depth.astype(np.float64)
        p = rays @ track.T_frame_ref[:3, :3].T + track.T_frame_ref[:3, 3] * q[:, None]
        z = np.maximum(p[:, 2], 1e-3)
        x, y = plane.project(np.column_stack([p[:, :2], z]))
        inside = np.flatnonzero(plane.contains(x, y, MARGIN) & (p[:, 2] > 1e-3))
        grey = frame.image[np.rint(y[inside]).astype(np.intp), np.rint(x[inside]).astype(np.intp), 0]
        light = track.brightness
        residual = grey - light.gain * level.color[inside] - light.offset
        fits = inside[np.abs(residual) < self.cutoff * light.contrast]
        fits = fits[:: max(len(fits) // POINTS, 1)]
        return x[fits], y[fits], q[fits] / z[fits], level.variance[fits].astype(np.float64) / z[fits] ** 4

    def _apart(self, reference: Reference, one: Array, other: Array) -> float:
        """RMS distance in the image between two poses, px at 512 px width."""
        level = reference.levels[-1]
        rays, q = _rays(level), level.inv_depth.astype(np.float64)
        places = []
        for pose in (one, other):
            p = rays @ pose[:3, :3].T + pose[:3, 3] * q[:, None]
            places.append(p[:, :2] / np.maximum(p[:, 2:], 1e-3))
        distance = np.sqrt(((places[0] - places[1]) ** 2).sum(1).mean()) if len(q) else 0.0
        plane = reference.planes[0]
        return float(plane.focal * SURPRISE_WIDTH / plane.width * distance)


def _rays(level: ReferencePixels) -> Array:
    ones = np.ones(len(level.ray_x))
    return np.stack([level.ray_x.astype(np.float64), level.ray_y.astype(np.float64), ones], -1)
