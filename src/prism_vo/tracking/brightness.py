# SPDX-License-Identifier: Apache-2.0
"""Brightness of a frame against its reference keyframe, measured on blurred images.

Single pixels cannot tell the gain: bilinear interpolation and noise both lower the contrast of a warped image against
the reference (by 4–15 % on sharp textures), which a fit would take for a darker exposure, keyframe after keyframe. On
images blurred by a few pixels interpolation changes nothing and noise is averaged out; the slope is that of the
reduced major axis (ratio of spreads), which treats both images alike.

A frame that sees the scene s times larger than the reference must be blurred s times wider, or the same texture keeps
more contrast in it (1 % of gain for 0.3 % of approach on fine texture). By the heat equation the wider blur is
``G + (s² − 1) σ²/2 · ΔG``, so one Laplacian serves every point with its own s.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Mask
from prism_vo.linear.quantile import quantile
from prism_vo.optics.pinhole import Pinhole
from prism_vo.tracking.brightness_kernels import (
    LEAST_DEVIATION,
    LEAST_SEEN,
    ROBUST_SIGMA,
    TRIM,
    PlaneNumbers,
    correlation,
    in_view,
    trimmed_axis,
    zone_sums,
)

BLUR = 2.0  # px of the level it is applied to
MARGIN = 4
LEAST_MATCH = 0.6  # correlation below which the images do not show the same thing
PARTLY_MATCH = 0.9  # correlation below which only those zones of the image are used that agree
ZONES = 4  # along each side of the image
ZONE_MATCH = 0.95  # correlation of a zone that shows the same in both images
COVERED = 0.8  # share of zones that show the same, below which something covers a part of the scene
USUAL_ZONES = 0.3  # quantile of the zones' disagreement that is usual: up to two thirds may be covered
WORSE_ZONE = 3.0  # times that: a zone that shows something else
# times the share of pixels that fit in good zones (that quantile of the others): a zone correlates badly, too, where
# near things hide what lies behind, but there most pixels fit; where something covers it hardly any does
MOST_FIT, GOOD_ZONES = 0.5, 0.75
# px, at SURE σ: images blurred by 2 px that lie twice that beside each other correlate by ZONE_MATCH. After a few
# keyframes half of the pixels of a zone are known to 0.01–0.1 px (1 σ), at the beginning of a street to 0.3–1 px
PLACE_KNOWN, SURE = 0.5, 3.0
ON_THE_WAY = 700  # pixels looked at while the pose is still being refined
LEAST_IN_ZONE = 12  # pixels that a zone is judged by
LEAST_TEXTURE = 2.0  # grey levels RMS in the reference: less is noise
FEWEST_ZONES = 4  # that can be judged; below it the image is judged as a whole
LARGEST_GAIN = 8.0  # and its inverse
LEAST_CONTRAST = 0.2  # gain below which the noise of the sensor is what residuals are made of
MIDDLE = (0.1, 0.9)  # quantiles between which grey levels are averaged
SAME_LIGHT = 0.1  # difference of log gains that a track bridges by itself
TRIED_GAINS = (0.15, 0.25, 0.4, 0.63, 1.0, 1.6, 2.5, 4.0)  # where the means of the images do not help either


@dataclass(frozen=True)
class Brightness:
    """``I_frame ≈ gain · I_ref + offset``; ``match`` is how well the two correlate, whatever gain and offset."""

    gain: float = 1.0
    offset: float = 0.0
    match: float = 1.0
    zones: float = 1.0  # share of the zones of the image in which the two show the same

    @property
    def contrast(self) -> float:
        """Factor on residuals that is due to the gain alone: what is judged must not depend on the exposure."""
        return float(np.clip(self.gain, LEAST_CONTRAST, LARGEST_GAIN))


@dataclass(frozen=True)
class BrightnessReference:
    """Blurred intensities of the reference pixels of one level."""

    rays: Array  # (N, 3)
    inv_depth: Array  # (N,)
    color: Floats  # (N,)
    sigma: Array  # (N,) of the inverse depth

    def some(self) -> BrightnessReference:
        """Of many every few: enough to go on with."""
        few = slice(None, None, max(len(self.color) // ON_THE_WAY, 1))
        rays, inv_depth = np.ascontiguousarray(self.rays[few]), np.ascontiguousarray(self.inv_depth[few])
        return BrightnessReference(rays, inv_depth, self.color[few], self.sigma[few])

    def known_zones(self, level: Pinhole, T_frame_ref: Array) -> Mask:
        """(ZONES²,): those of a frame at a pose in which half of the pixels lie where their depth puts them.

        Depths that are known from one image alone may be so coarse that a zone fits nowhere with nothing before it.
        """
        shift = T_frame_ref[:3, 3]
        p = self.rays @ T_frame_ref[:3, :3].T + shift * self.inv_depth[:, None]
        x, y = level.project(p)
        p, x, y, sigma = (
            each[level.contains(x, y, MARGIN) & (p[:, 2] > 0)] for each in (p, x, y, self.sigma)
        )
        along = shift[:2] - p[:, :2] / p[:, 2:] * shift[2]  # d(p_xy/p_z)/dq · p_z
        spread = level.intrinsics[0] * np.hypot(along[:, 0], along[:, 1]) / p[:, 2] * sigma
        zone = zone_of(x, y, level)
        sure = np.bincount(zone, SURE * spread < PLACE_KNOWN, ZONES**2)
        return np.asarray(2 * sure >= np.bincount(zone, minlength=ZONES**2))


@dataclass(frozen=True)
class Blurred:
    """Intensity of a pyramid level, blurred, and how it changes with the width of the blur."""

    value: Floats  # (h, w)
    laplacian: Floats  # (h, w)

    @classmethod
    def of(cls, image: Floats) -> Blurred:
        """From a pyramid level (h, w)."""
        value = blurred(image)
        return cls(value, np.asarray(cv2.Laplacian(value, cv2.CV_32F, ksize=1), dtype=np.float32))


def middle_level(image: Floats) -> float:
    """Mean grey level of a pyramid level (h, w) without its darkest and brightest pixels; a quarter of it will do."""
    values = image[::2, ::2].ravel()
    low, high = (int(share * len(values)) for share in MIDDLE)
    return float(np.partition(values, (low, high))[low:high].mean())


def likely_brightness(level: float, reference_level: float, predicted: Brightness) -> list[Brightness]:
    """Where to start: as predicted, and, if that differs, as the mean grey levels of the two images say."""
    ratio = level / max(reference_level, 1e-3)
    if not 1.0 / LARGEST_GAIN < ratio < LARGEST_GAIN or abs(np.log(ratio / predicted.gain)) < SAME_LIGHT:
        return [predicted]
    return [predicted, Brightness(ratio)]


def any_gain() -> list[Brightness]:
    """Starts that cover every gain a camera can have."""
    return [Brightness(gain) for gain in TRIED_GAINS]


def blurred(image: Floats) -> Floats:
    """A pyramid level, blurred."""
    return np.asarray(cv2.GaussianBlur(image, (0, 0), BLUR), dtype=np.float32)


@dataclass(frozen=True)
class Seen:
    """The visible reference pixels (N,): where they lie on the level, their grey levels there and in the reference."""

    x: Array
    y: Array
    reference: Array
    frame: Array

    @classmethod
    def at(cls, smooth: Blurred, level: Pinhole, reference: BrightnessReference, T_frame_ref: Array) -> Seen:
        """Looked up at a pose."""
        count = len(reference.inv_depth)
        (x, y, z), which = np.empty((3, count)), np.empty(count, np.intp)
        right, bottom = (float(side - 1 - MARGIN) for side in (level.width, level.height))
        plane = PlaneNumbers(level.focal, level.cx, level.cy, right, bottom, float(MARGIN))
        pose = np.ascontiguousarray(T_frame_ref)
        count = in_view(reference.rays, reference.inv_depth, pose, plane, x, y, z, which)
        if count == 0:
            return cls(*(np.zeros(0) for _ in range(4)))
        x, y, z, which = x[:count], y[:count], z[:count], which[:count]
        column, row = x[:, None].astype(np.float32), y[:, None].astype(np.float32)
        seen = cv2.remap(smooth.value, column, row, cv2.INTER_LANCZOS4)[
            :, 0
        ]  # linear loses 1–2 % of contrast
        wider = cv2.remap(smooth.laplacian, column, row, cv2.INTER_LINEAR)[:, 0]
        magnified = np.clip(z, 0.8, 1.25) ** -2  # s²; beyond that first order is no longer enough
        new = seen + (magnified - 1.0) * (0.5 * BLUR**2) * wider
        return cls(x, y, reference.color[which].astype(np.float64), new)

    def __len__(self) -> int:
        return len(self.x)

    def where(self, which: Mask) -> Seen:
        """Some of them."""
        return Seen(self.x[which], self.y[which], self.reference[which], self.frame[which])

    def match(self) -> float:
        """How well the two images correlate."""
        return float(correlation(self.reference, self.frame))

    def covered(self, level: Pinhole, light: Brightness, known: Mask) -> ZoneAgreement | None:
        """The ``known`` zones (ZONES²,) that show something else, not only in some pixels; None: there are none."""
        found = self.agreement(level).only(known)
        if found is None:
            return None
        fitting, judged = self._fitting(level, light, found)
        if not judged.any():
            return found
        return found.only(fitting < MOST_FIT * quantile(fitting[judged], GOOD_ZONES))

    def _fitting(self, level: Pinhole, light: Brightness, found: ZoneAgreement) -> tuple[Array, Mask]:
        """Share of pixels of each zone (ZONES²,) that lie near the reference, and which zones can say what is usual."""
        zone = zone_of(self.x, self.y, level)
        count = np.bincount(zone, minlength=ZONES**2)
        judged = ~found.covered & (count >= LEAST_IN_ZONE)
        beside = np.abs(self.frame - light.gain * self.reference - light.offset)
        usual = beside[judged[zone]]
        if len(usual) == 0:
            return np.zeros(ZONES**2), judged
        limit = TRIM * (ROBUST_SIGMA * quantile(usual, 0.5) + LEAST_DEVIATION)
        return np.bincount(zone, beside < limit, ZONES**2) / np.maximum(count, 1), judged

    def agreement(self, level: Pinhole) -> ZoneAgreement:
        """Which zones of the image show the same in both.

        A pose that is right fits everywhere but where something covers the scene; one that is wrong fits nowhere well.
        Zones without texture say nothing.
        """
        size = float(level.width), float(level.height)
        counts, a, b, aa, bb, ab = zone_sums(self.x, self.y, *size, ZONES, self.reference, self.frame)
        per = 1.0 / np.maximum(counts, 1)
        mean_a, mean_b = a * per, b * per
        spread_a = np.maximum(aa * per - mean_a**2, 0.0)
        spread_b = np.maximum(bb * per - mean_b**2, 0.0)
        r = (ab * per - mean_a * mean_b) / np.sqrt(np.maximum(spread_a * spread_b, 1e-6))
        judged = (counts >= LEAST_IN_ZONE) & (spread_a > LEAST_TEXTURE**2)
        if judged.sum() < FEWEST_ZONES:
            return ZoneAgreement(float(self.match() > ZONE_MATCH), np.zeros(ZONES**2, np.bool_))
        # with poor optics or real glass no zone fits perfectly: what is covered fits worse than the others do
        usual = quantile(1.0 - r[judged], USUAL_ZONES)
        covered = judged & (r <= ZONE_MATCH) & (1.0 - r > WORSE_ZONE * usual)
        return ZoneAgreement(float(1.0 - covered.sum() / judged.sum()), covered)


@dataclass(frozen=True)
class ZoneAgreement:
    """Zones of an image against the reference."""

    share: float  # of the judged zones, those that show the same
    covered: Mask  # (ZONES²,): those that do not

    def only(self, zones: Mask) -> ZoneAgreement | None:
        """The covered zones among some (ZONES²,); None: there are none."""
        covered = self.covered & zones
        return replace(self, covered=covered) if covered.any() else None

    def joined(self, other: ZoneAgreement) -> ZoneAgreement:
        """Zones that one of the two has found."""
        return ZoneAgreement(min(self.share, other.share), self.covered | other.covered)

    def uncovered(self, x: Array | Floats, y: Array | Floats, level: Pinhole) -> Mask:
        """Which pixels (N,) of a level lie in no covered zone."""
        return np.asarray(~self.covered[zone_of(x, y, level)])


def zone_of(x: Array | Floats, y: Array | Floats, level: Pinhole) -> NDArray[np.intp]:
    """Number of the zone that each pixel (N,) of a level lies in."""
    column = np.clip((x * ZONES / level.width).astype(np.intp), 0, ZONES - 1)
    row = np.clip((y * ZONES / level.height).astype(np.intp), 0, ZONES - 1)
    return np.asarray(row * ZONES + column)


def measure_brightness(
    smooth: Blurred, level: Pinhole, reference: BrightnessReference, T_frame_ref: Array, start: Brightness
) -> Brightness:
    """Gain and offset at a pose: trimmed reduced major axis over the visible reference pixels.

    Where the images do not correlate, any gain would fit (0 explains a black frame), so the start is kept; where only
    some zones do, those alone are looked at.
    """
    seen = Seen.at(smooth, level, reference, T_frame_ref)
    if len(seen) < LEAST_SEEN:
        return replace(start, match=0.0, zones=0.0)
    zones = seen.agreement(level)
    match = seen.match()
    if match < PARTLY_MATCH and (fits := zones.uncovered(seen.x, seen.y, level)).sum() >= LEAST_SEEN:
        seen = seen.where(fits)
        match = seen.match()
    start = replace(start, match=match, zones=zones.share)
    return start if match < LEAST_MATCH else _fitted(seen, start)


def _fitted(seen: Seen, start: Brightness) -> Brightness:
    gain, offset, known = trimmed_axis(seen.reference, seen.frame, start.gain, start.offset)
    if not known:
        return start
    if not 1.0 / LARGEST_GAIN < gain < LARGEST_GAIN:
        return replace(start, match=0.0, zones=0.0)
    return replace(start, gain=gain, offset=offset)


def covered_share(zones: Iterable[ZoneAgreement | None]) -> float:
    """Of the image, by any of them."""
    masks = [each.covered for each in zones if each is not None]
    return float(np.any(masks, axis=0).mean()) if masks else 0.0
