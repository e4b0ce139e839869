# SPDX-License-Identifier: Apache-2.0
"""The pose of every frame: coarse-to-fine alignment with a reference keyframe from several motion hypotheses."""

from __future__ import annotations

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.config import TrackConfig
from prism_vo.optics.camera import FocusedView
from prism_vo.tracking.align import Alignment, RobustWeights, align_level
from prism_vo.tracking.brightness import LEAST_MATCH, Blurred, Brightness, measure_brightness
from prism_vo.tracking.motion import Motion
from prism_vo.tracking.pyramid import image_pyramid, level_count
from prism_vo.tracking.reference import BRIGHTNESS_LEVEL, KeyframeDepth, Reference
from prism_vo.tracking.track import Expected, Track
from prism_vo.types import Frame

MOST_IN_FULL = 4  # hypotheses followed down to the finest level
USUAL_RMS = 1.5  # times the last residual: as good as the frame before, no need to look further
USUAL_COARSE_RMS = 1.15  # the same on the coarsest level
FEWEST_INLIERS = 0.4  # share below which the cutoff is doubled: a start far from the minimum
WIDEST_CUTOFF = 4.0  # times the usual one
SAME_PLACE = 2e-3  # m and rad between hypotheses that went to the same minimum
FLOW_WIDTH = 512.0  # px of image width that flows are expressed for


class Tracker:
    """Aligns frames with a :class:`Reference`. It has no memory."""

    def __init__(self, view: FocusedView, config: TrackConfig) -> None:
        self.view, self.config = view, config
        self.level_count = level_count(view, config.least_area)

    def pyramid(self, image: Floats) -> list[Floats]:
        """Of an image (h, w), with as many levels as tracking wants."""
        return image_pyramid(image, self.level_count)

    def reference(self, keyframe: KeyframeDepth, pyramid: list[Floats] | None = None) -> Reference:
        """Make a keyframe ready to be tracked against; ``pyramid``: its own, if somebody has it."""
        return Reference.of(keyframe, pyramid or self.pyramid(keyframe.image))

    def track(self, frame: Frame, reference: Reference, motion: Motion) -> Track:
        """Follow the camera's motion; where that fails, look for small rotations, too."""
        brightness = motion.brightness_at(frame.exposure)
        plain = motion.guesses(reference.T_view_world, rotations=False)
        track = self.align(frame.pyramid, reference, plain, brightness, motion.expected)
        if track.ok:
            return track
        wide = motion.guesses(reference.T_view_world, rotations=True)
        again = self.align(frame.pyramid, reference, wide, brightness, motion.expected)
        return again if again.is_better_than(track) else track

    def align(
        self,
        pyramid: list[Floats],
        reference: Reference,
        guesses: list[Array],
        brightness: Brightness,
        expected: Expected | None = None,
    ) -> Track:
        """Align with every guess of T_frame_ref on the coarsest level, the best ones in full."""
        expected = expected or Expected()
        smooth = Blurred.of(pyramid[BRIGHTNESS_LEVEL])
        best: Alignment | None = None
        best_light, ok = brightness, False
        tried = 0
        ranked, coarse_rms = self._rank(pyramid, reference, guesses, brightness, expected)
        for start in ranked[:MOST_IN_FULL]:
            tried += 1
            result, light = self._refine(pyramid, smooth, reference, start, brightness)
            good = self._good(result) and light.match >= LEAST_MATCH
            if best is None or (good, -result.rms) > (ok, -best.rms):
                best, best_light, ok = result, light, good
            if ok and best.rms < USUAL_RMS * expected.rms:
                break
        assert best is not None
        flow, flow_t = self.flow(best.T_frame_ref, reference)
        return Track(
            ok,
            best.T_frame_ref,
            best_light,
            best.rms,
            coarse_rms,
            best.visible,
            best.inliers,
            flow,
            flow_t,
            tried,
        )

    def _rank(
        self,
        pyramid: list[Floats],
        reference: Reference,
        guesses: list[Array],
        brightness: Brightness,
        expected: Expected,
    ) -> tuple[list[Alignment], float]:
        """Coarsest level from every guess, best first, and the least residual there; guesses that converged to the
        same place are kept once."""
        top = self.level_count - 1
        results = []
        for guess in guesses:
            results.append(self._on_level(pyramid, reference, top, guess, brightness))
            if self._good(results[-1]) and results[-1].rms < USUAL_COARSE_RMS * expected.coarse_rms:
                break  # as good as the frame before: no need to look further
        order = sorted(range(len(results)), key=lambda k: results[k].rms / max(results[k].visible, 0.05))
        kept: list[Alignment] = []
        for k in order:
            if not any(_close(results[k].T_frame_ref, other.T_frame_ref) for other in kept):
                kept.append(results[k])
        return kept, min(r.rms for r in results)

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
        for level in range(self.level_count - 2, -1, -1):
            brightness = self.brightness(smooth, reference, result.T_frame_ref, brightness)
            result = self._on_level(pyramid, reference, level, result.T_frame_ref, brightness)
        return result, self.brightness(smooth, reference, result.T_frame_ref, brightness)

    def brightness(self, smooth: Blurred, reference: Reference, pose: Array, start: Brightness) -> Brightness:
        """Gain and offset of a frame against the reference at a pose."""
        return measure_brightness(smooth, reference.planes[BRIGHTNESS_LEVEL], reference.light, pose, start)

    def _on_level(
        self, pyramid: list[Floats], reference: Reference, level: int, start: Array, brightness: Brightness
    ) -> Alignment:
        """One level; the cutoff is doubled while most residuals saturate (a bad start far from the minimum)."""
        c = self.config

        def align(start: Array, cutoff: float) -> Alignment:
            weights = RobustWeights.of(c.image_sigma, c.huber, cutoff)
            return align_level(
                pyramid[level],
                reference.planes[level],
                reference.levels[level],
                start,
                brightness,
                weights,
                c.iterations,
            )

        cutoff = c.cutoff
        result = align(start, cutoff)
        while result.inliers <= FEWEST_INLIERS and cutoff < WIDEST_CUTOFF * c.cutoff:
            cutoff *= 2.0
            result = align(start, cutoff)
        # what was found with a wide cutoff is judged with the usual one
        return result if cutoff == c.cutoff else align(result.T_frame_ref, c.cutoff)

    def _good(self, a: Alignment) -> bool:
        c = self.config
        return bool(np.isfinite(a.rms) and a.visible > c.least_visible and a.inliers > c.least_inliers)

    def flow(self, T_frame_ref: Array, reference: Reference) -> tuple[float, float]:
        """RMS image motion of the reference pixels at 512 px width: with and without rotation."""
        level = reference.levels[min(1, self.level_count - 1)]
        rays = np.stack([level.ray_x, level.ray_y, np.ones(len(level.ray_x), np.float32)], -1).astype(
            np.float64
        )
        shift = T_frame_ref[:3, 3] * level.inv_depth[:, None].astype(np.float64)
        scale = self.view.focal_px * FLOW_WIDTH / self.view.width
        out = []
        for moved in (rays @ T_frame_ref[:3, :3].T + shift, rays + shift):
            d = moved[:, :2] / np.maximum(moved[:, 2:], 1e-3) - rays[:, :2]
            out.append(scale * float(np.sqrt((d**2).sum(1).mean())))
        return out[0], out[1]


def _close(a: Array, b: Array) -> bool:
    return bool(np.linalg.norm(se3.log(se3.renormalised(a @ se3.inverse(b)))) < SAME_PLACE)
