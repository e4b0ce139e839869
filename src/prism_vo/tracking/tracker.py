# SPDX-License-Identifier: Apache-2.0
"""The pose of every frame: coarse-to-fine alignment with a reference keyframe from several motion hypotheses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.config import TrackConfig
from prism_vo.optics.camera import FocusedView
from prism_vo.tracking.align import Alignment, ReferenceLevel, align_level
from prism_vo.tracking.brightness import (
    LEAST_MATCH,
    Blurred,
    Brightness,
    BrightnessReference,
    blurred,
    measure_brightness,
)
from prism_vo.tracking.pyramid import Level, depth_pyramid, level_count, levels_of

BRIGHTNESS_LEVEL = 1  # pyramid level on which brightness is measured
BRIGHTNESS_PIXELS = 1500  # as many are enough


@dataclass(frozen=True)
class Reference:
    """What frames are tracked against: pixels with inverse depth of one keyframe, on every level."""

    keyframe: int  # id
    levels: list[ReferenceLevel]
    light: BrightnessReference


@dataclass(frozen=True)
class Track:
    """Result for one frame, relative to the reference keyframe (poses of the totally focused view)."""

    ok: bool
    T_frame_ref: Array
    brightness: Brightness
    rms: float
    visible: float
    inliers: float
    flow: float  # px RMS at 512 px width, translation and rotation
    flow_translation: float  # px RMS at 512 px width, of the translation alone
    hypotheses: int  # how many were tried in full


class Tracker:
    """Aligns frames with a :class:`Reference`; remembers nothing but the typical residual."""

    def __init__(self, view: FocusedView, config: TrackConfig) -> None:
        self.view, self.config = view, config
        self.count = level_count(view, config.least_area)
        self.levels = levels_of(view, self.count)
        self.last_rms = np.inf
        self.last_coarse_rms = 0.0

    def reference(
        self, keyframe: int, pyramid: list[Floats], inv_depth: Floats, variance: Floats
    ) -> Reference:
        """Reference pixels from a sparse map (h, w) of inverse depth and variance (NaN / inf where unknown)."""
        dense, spread = dilate(inv_depth, variance)
        maps = depth_pyramid(dense, spread, self.count)
        out = [reference_pixels(*each) for each in zip(self.levels, pyramid, maps)]
        return Reference(keyframe, out, self._light(pyramid, maps))

    def _light(self, pyramid: list[Floats], maps: list[tuple[Floats, Floats]]) -> BrightnessReference:
        level, (depth, var) = self.levels[BRIGHTNESS_LEVEL], maps[BRIGHTNESS_LEVEL]
        y, x = np.nonzero(var < np.inf)
        step = max(len(x) // BRIGHTNESS_PIXELS, 1)
        y, x = y[::step], x[::step]
        rays = np.stack([(x - level.cx) / level.focal, (y - level.cy) / level.focal, np.ones(len(x))], -1)
        return BrightnessReference(
            rays, depth[y, x].astype(np.float64), blurred(pyramid[BRIGHTNESS_LEVEL])[y, x]
        )

    def track(
        self, pyramid: list[Floats], reference: Reference, guesses: list[Array], brightness: Brightness
    ) -> Track:
        """Align with every guess of T_frame_ref on the coarsest level, the best ones in full."""
        smooth = Blurred.of(pyramid[BRIGHTNESS_LEVEL])
        best: Alignment | None = None
        best_light, ok = brightness, False
        tried = 0
        for start in self._rank(pyramid, reference, guesses, brightness)[:4]:
            tried += 1
            result, light = self._refine(pyramid, smooth, reference, start, brightness)
            good = self._good(result) and light.match >= LEAST_MATCH
            if best is None or (good, -result.rms) > (ok, -best.rms):
                best, best_light, ok = result, light, good
            if ok and best.rms < 1.5 * self.last_rms:
                break
        assert best is not None
        if ok:
            self.last_rms = best.rms
        flow, flow_t = self.flow(best.T_frame_ref, reference)
        return Track(
            ok, best.T_frame_ref, best_light, best.rms, best.visible, best.inliers, flow, flow_t, tried
        )

    def _rank(
        self, pyramid: list[Floats], reference: Reference, guesses: list[Array], brightness: Brightness
    ) -> list[Alignment]:
        """Coarsest level from every guess, best first; guesses that converged to the same place are kept once."""
        top = self.count - 1
        results = []
        for guess in guesses:
            results.append(self._on_level(pyramid, reference, top, guess, brightness))
            if self._good(results[-1]) and results[-1].rms < 1.15 * self.last_coarse_rms:
                break  # as good as the frame before: no need to look further
        self.last_coarse_rms = min(r.rms for r in results)
        order = sorted(range(len(results)), key=lambda k: results[k].rms / max(results[k].visible, 0.05))
        kept: list[Alignment] = []
        for k in order:
            if not any(_close(results[k].T_frame_ref, other.T_frame_ref) for other in kept):
                kept.append(results[k])
        return kept

    def _refine(
        self,
        pyramid: list[Floats],
        smooth: Blurred,
        reference: Reference,
        start: Alignment,
        brightness: Brightness,
    ) -> tuple[Alignment, Brightness]:
        """Down the pyramid, measuring the brightness anew with the pose of each level."""
        result = start
        for level in range(self.count - 2, -1, -1):
            brightness = self.brightness(smooth, reference, result.T_frame_ref, brightness)
            result = self._on_level(pyramid, reference, level, result.T_frame_ref, brightness)
        return result, self.brightness(smooth, reference, result.T_frame_ref, brightness)

    def brightness(self, smooth: Blurred, reference: Reference, pose: Array, start: Brightness) -> Brightness:
        """Gain and offset of a frame against the reference at a pose."""
        return measure_brightness(smooth, self.levels[BRIGHTNESS_LEVEL], reference.light, pose, start)

    def _on_level(
        self, pyramid: list[Floats], reference: Reference, level: int, start: Array, brightness: Brightness
    ) -> Alignment:
        """One level; the cutoff is doubled while most residuals saturate (a bad start far from the minimum)."""
        c = self.config
        cutoff = c.cutoff
        while True:
            result = align_level(pyramid[level], self.levels[level], reference.levels[level], start, brightness,
                                 c.image_sigma, c.huber, cutoff, c.iterations)  # fmt: skip
            if result.inliers > 0.4 or cutoff >= 4 * c.cutoff:
                break
            cutoff *= 2.0
        if cutoff == c.cutoff:
            return result
        # what was found with a wide cutoff is judged with the usual one
        return align_level(pyramid[level], self.levels[level], reference.levels[level], result.T_frame_ref,
                           brightness, c.image_sigma, c.huber, c.cutoff, c.iterations)  # fmt: skip

    def _good(self, a: Alignment) -> bool:
        c = self.config
        return bool(np.isfinite(a.rms) and a.visible > c.least_visible and a.inliers > c.least_inliers)

    def flow(self, T_frame_ref: Array, reference: Reference) -> tuple[float, float]:
        """RMS image motion of the reference pixels at 512 px width: with and without rotation."""
        level = reference.levels[min(1, self.count - 1)]
        rays = np.stack([level.ray_x, level.ray_y, np.ones(len(level), np.float32)], -1).astype(np.float64)
        shift = T_frame_ref[:3, 3] * level.inv_depth[:, None].astype(np.float64)
        scale = self.view.focal_px * 512.0 / self.view.width
        out = []
        for moved in (rays @ T_frame_ref[:3, :3].T + shift, rays + shift):
            d = moved[:, :2] / np.maximum(moved[:, 2:], 1e-3) - rays[:, :2]
            out.append(scale * float(np.sqrt((d**2).sum(1).mean())))
        return out[0], out[1]


def reference_pixels(level: Level, image: Floats, depth_map: tuple[Floats, Floats]) -> ReferenceLevel:
    """The known pixels of a sparse depth map, with their intensity."""
    depth, variance = depth_map
    y, x = np.nonzero((variance < np.inf)[2:-2, 2:-2])
    y, x = y + 2, x + 2
    return ReferenceLevel(
        ((x - level.cx) / level.focal).astype(np.float32),
        ((y - level.cy) / level.focal).astype(np.float32),
        depth[y, x],
        variance[y, x],
        np.ascontiguousarray(image[y, x, 0]),
    )


def _close(a: Array, b: Array) -> bool:
    return bool(np.linalg.norm(se3.log(se3.renormalised(a @ se3.inverse(b)))) < 2e-3)


@njit(nogil=True, cache=True)
def _dilate(inv_depth, variance, out, out_variance):  # type: ignore[no-untyped-def]
    h, w = inv_depth.shape
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            if variance[y, x] < np.inf:
                continue
            weight, total, worst = 0.0, 0.0, 0.0
            for k in range(4):
                yy = y + (1 if k == 0 else (-1 if k == 1 else 0))
                xx = x + (1 if k == 2 else (-1 if k == 3 else 0))
                var = variance[yy, xx]
                if var < np.inf:
                    weight += 1.0 / var
                    total += inv_depth[yy, xx] / var
                    worst = max(worst, var)
            if weight > 0:
                out[y, x] = total / weight
                out_variance[y, x] = worst * 1.5


def dilate(inv_depth: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Give the four neighbours of a known pixel its depth (less certain): more pixels to align with."""
    out, out_variance = inv_depth.copy(), variance.copy()
    _dilate(inv_depth, variance, out, out_variance)
    return out, out_variance


def motion_guesses(previous: Array, step: Array, rotations: bool) -> list[Array]:
    """Hypotheses for T_frame_ref: last pose moved by the last step once, twice, half, not at all; small rotations."""
    xi = se3.log(step)
    out = [step @ previous, step @ step @ previous, se3.exp(0.5 * xi) @ previous, previous]
    if rotations:
        for angle in (0.02, 0.05):
            for axis in range(3):
                for sign in (-1.0, 1.0):
                    w = np.zeros(6)
                    w[3 + axis] = sign * angle
                    out.append(se3.exp(w) @ step @ previous)
    return out
