# SPDX-License-Identifier: Apache-2.0
"""Direct alignment of compact keyframes: on the image that is kept, then on finer levels where there are patches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import cv2
import numpy as np

from prism_vo.arrays import Array, Floats, Mask
from prism_vo.config import TrackConfig
from prism_vo.optics.camera import FocusedView
from prism_vo.optics.pinhole import Pinhole
from prism_vo.places.keyframe import CompactKeyframe, pattern_rays
from prism_vo.tracking.align import Alignment, ReferencePixels, RobustWeights, align_level
from prism_vo.tracking.brightness import LEAST_SEEN, Blurred, Brightness, Seen
from prism_vo.tracking.reference import BRIGHTNESS_LEVEL, KeyframeDepth, Reference
from prism_vo.tracking.track import Track
from prism_vo.tracking.tracker import Tracker

MOST_LEVELS = 9
MARGIN = 2  # px from the border of an image that is looked at


@dataclass(frozen=True)
class Aligned:
    """One keyframe's points in another's image."""

    T_image_points: Array
    correlation: float  # of all that is seen in both images, whatever gain and offset
    rms: float  # grey levels, on the kept image
    visible: float  # share of the points
    inliers: float  # share of those that fit
    hessian: (
        Array  # (6, 6) on the finest level used, of T_image_points (left tangent), residuals in grey levels
    )
    noise: float  # grey levels, RMS of the residuals there
    ok: bool

    @property
    def score(self) -> float:
        """Residual a share of the points that are seen: the smaller, the better it fits."""
        return self.rms / max(self.visible, 0.05)


@dataclass(frozen=True)
class Posable:
    """A compact keyframe made ready: its pyramid from the kept image upwards, its points as a reference."""

    keyframe: CompactKeyframe
    pyramid: list[Floats]  # from the kept level to the coarsest, (h, w)
    reference: Reference
    finer: list[
        Floats
    ]  # levels finer than the kept one, (h, w), finest first; empty where only that was kept


class Aligner:
    """Aligns keyframes of one view. It has no memory."""

    def __init__(self, view: FocusedView, config: TrackConfig) -> None:
        self.view, self.config = view, config
        self._trackers: dict[int, Tracker] = {}

    @cached_property
    def levels(self) -> list[Pinhole]:
        """Of the whole pyramid."""
        return [self.view.image_plane.halved(level) for level in range(MOST_LEVELS)]

    def tracker(self, level: int) -> Tracker:
        """For images of a level."""
        if level not in self._trackers:
            self._trackers[level] = Tracker(_reduced(self.view, self.levels[level]), self.config)
        return self._trackers[level]

    def ready(self, keyframe: CompactKeyframe, finer: list[Floats] | None = None) -> Posable:
        """Make the pyramid and the reference; ``finer``: levels of the original image above the kept one."""
        tracker = self.tracker(keyframe.level)
        image = keyframe.image.astype(np.float32)
        pyramid = tracker.pyramid(image)
        plane, (depth, variance) = self.levels[keyframe.level], sparse_maps(keyframe)
        known = KeyframeDepth(keyframe.id, np.eye(4), np.zeros(2), 1.0, plane, image, depth, variance)
        return Posable(keyframe, pyramid, tracker.reference(known, pyramid), finer or [])

    def align(self, points: Posable, image: Posable, guesses: list[Array], gain: float) -> Aligned:
        """The points of one keyframe in the image of another, from guesses of T_image_points."""
        tracker = self.tracker(image.keyframe.level)
        track = tracker.align(image.pyramid, points.reference, guesses, [Brightness(gain)])
        found = self._on(
            image.pyramid[0], image.keyframe.level, points.reference.levels[0], track.T_frame_ref, track
        )
        for level in range(len(image.finer) - 1, -1, -1):
            pixels = patch_pixels(points.keyframe, self.levels[level], level)
            found = self._on(image.finer[level], level, pixels, found.T_frame_ref, track)
        return Aligned(
            found.T_frame_ref,
            _correlation(points.reference, image.pyramid, track.T_frame_ref),
            track.rms,
            track.visible,
            track.inliers,
            found.hessian,
            found.rms,
            track.ok,
        )

    def _on(
        self, image: Floats, level: int, pixels: ReferencePixels, start: Array, track: Track
    ) -> Alignment:
        c = self.config
        weights = RobustWeights.of(c.image_sigma, c.huber, c.cutoff)
        return align_level(image, self.levels[level], pixels, start, track.brightness, weights, c.iterations)


def _correlation(reference: Reference, pyramid: list[Floats], pose: Array) -> float:
    """Of the whole image: tracking forgives zones that something covers, recognising a place must not."""
    smooth, plane = Blurred.of(pyramid[BRIGHTNESS_LEVEL]), reference.planes[BRIGHTNESS_LEVEL]
    seen = Seen.at(smooth, plane, reference.light, pose)
    return seen.match() if len(seen) >= LEAST_SEEN else 0.0


def _reduced(view: FocusedView, level: Pinhole) -> FocusedView:
    return replace(
        view, width=level.width, height=level.height, focal_px=level.focal, cx=level.cx, cy=level.cy
    )


def sparse_maps(keyframe: CompactKeyframe) -> tuple[Floats, Floats]:
    """Inverse depth and variance of the points on the kept level; where several fall together, the nearest surface."""
    h, w = keyframe.image.shape
    scale = 2.0**-keyframe.level
    at = np.rint((keyframe.pixels.astype(np.float64) + 0.5) * scale - 0.5).astype(np.intp)
    x, y = np.clip(at[:, 0], 0, w - 1), np.clip(at[:, 1], 0, h - 1)
    depth = np.full((h, w), np.nan, np.float32)
    variance = np.full((h, w), np.inf, np.float32)
    order = np.argsort(keyframe.inv_depth, kind="stable")  # the nearest is written last
    depth[y[order], x[order]] = keyframe.inv_depth[order]
    variance[y[order], x[order]] = keyframe.variance[order]
    return depth, variance


def patch_pixels(keyframe: CompactKeyframe, plane: Pinhole, level: int) -> ReferencePixels:
    """The patches of a finer level as pixels to align with."""
    x, y = keyframe.pixels[:, 0].astype(np.float64), keyframe.pixels[:, 1].astype(np.float64)
    at_x, at_y = pattern_rays(x, y, level)
    inside = _inside(plane, at_x, at_y).ravel()
    rays = plane.rays(at_x.ravel()[inside], at_y.ravel()[inside])
    each = at_x.shape[1]
    return ReferencePixels(
        rays[:, 0].astype(np.float32),
        rays[:, 1].astype(np.float32),
        np.repeat(keyframe.inv_depth, each)[inside],
        np.repeat(keyframe.variance, each)[inside],
        keyframe.patches[level].ravel()[inside].astype(np.float32),
    )


def _inside(plane: Pinhole, x: Array, y: Array) -> Mask:
    return np.asarray(plane.contains(x, y, MARGIN))


def start_gain(a: CompactKeyframe, b: CompactKeyframe, pixels_a: Floats, pixels_b: Floats) -> float:
    """Brightness of b over that of a, from blurred images at matched pixels (N, 2) of the finest level."""
    values = [_blurred_at(k, p) for k, p in ((a, pixels_a), (b, pixels_b))]
    return float(np.clip(np.median(values[1]) / max(float(np.median(values[0])), 1.0), 0.125, 8.0))


def _blurred_at(keyframe: CompactKeyframe, pixels: Floats) -> Floats:
    image = cv2.GaussianBlur(keyframe.image, (0, 0), 3.0)
    h, w = image.shape
    at = np.rint((pixels + 0.5) * 2.0**-keyframe.level - 0.5).astype(np.intp)
    return image[np.clip(at[:, 1], 0, h - 1), np.clip(at[:, 0], 0, w - 1)].astype(np.float32)
