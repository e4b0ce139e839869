# SPDX-License-Identifier: Apache-2.0
"""The pose of every frame: coarse-to-fine alignment with a reference keyframe from several motion hypotheses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.config import TrackConfig
from prism_vo.optics.camera import FocusedView
from prism_vo.optics.pinhole import Pinhole
from prism_vo.tracking.align import Alignment, ReferencePixels, RobustWeights, align_level
from prism_vo.tracking.bands import row_gains
from prism_vo.tracking.brightness import (
    COVERED,
    LEAST_MATCH,
    SAME_LIGHT,
    Blurred,
    Brightness,
    Seen,
    ZoneAgreement,
    any_gain,
    likely_brightness,
    measure_brightness,
    middle_level,
)
from prism_vo.tracking.motion import Motion
from prism_vo.tracking.pyramid import image_pyramid, level_count
from prism_vo.tracking.reference import BRIGHTNESS_LEVEL, KeyframeDepth, Reference
from prism_vo.tracking.track import Expected, Track
from prism_vo.tracking.whole_turn import whole_turn
from prism_vo.types import Frame

MOST_IN_FULL = 4  # hypotheses followed down to the finest level
USUAL_RMS = 1.5  # times the usual residual: as good as the frames before, no need to look further
USUAL_COARSE_RMS = 1.15  # the same on the coarsest level
CLEARLY = 0.95  # of a residual: what hardly differs is the same minimum from another start
SURE_INLIERS = 0.8  # share of the reference that fits in a first frame that needs no other start
FEWEST_INLIERS = 0.4  # share below which the cutoff is doubled: a start far from the minimum
WIDEST_CUTOFF = 4.0  # times the usual one
SAME_PLACE = 2e-3  # m and rad between hypotheses that went to the same minimum
UNCOVERED_LEVELS = 2  # finest levels that are aligned once more without what is covered
LEAST_ZONES = 0.2  # share of the image that must fit, whatever covers the rest
MORE_ZONES = 0.2  # share of the image by which a part that is covered differs from noise
LEAST_PARTLY_INLIERS = 0.3  # share of the reference that must fit then
FLOW_PIXELS = 1000  # that are enough to know the flow
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
        """Follow the camera's motion; where that fails, look for small rotations and for any gain, too.

        Of the first frame of a map neither a motion is known nor what fits well: rotations are tried where not nearly
        all of it does, and not before: a turn fits noisy depths better than the step sideways that it looks like.
        """
        lights = self.lights(frame, reference, motion.brightness_at(frame.exposure))
        plain = motion.guesses(reference.T_view_world, rotations=False)
        track = self.align(frame.pyramid, reference, plain, lights, motion.expected, foreseen=plain[0])
        if track.ok and (motion.expected.is_known or track.inliers > SURE_INLIERS):
            return track
        again = self.search(frame, reference, motion, [*lights, *any_gain()])
        return again if again.is_better_than(track, CLEARLY) else track

    def search(
        self, frame: Frame, reference: Reference, motion: Motion, lights: list[Brightness] | None = None
    ) -> Track:
        """From turns besides: the one by which the image as a whole has shifted, and small ones about every axis.

        Not the former of the first frame of a map, whose depths a turn fits better than the step that it looks like.
        """
        guesses = self.turned(frame, reference) if motion.expected.is_known else []
        guesses += motion.guesses(reference.T_view_world, rotations=True)
        lights = lights or self.lights(frame, reference, motion.brightness_at(frame.exposure))
        return self.align(frame.pyramid, reference, guesses, lights, motion.expected)

    def turned(self, frame: Frame, reference: Reference) -> list[Array]:
        """A guess of T_frame_ref that no motion is needed for."""
        return whole_turn(reference.coarsest, frame.pyramid[-1], reference.planes[-1])

    def lights(self, frame: Frame, reference: Reference, predicted: Brightness) -> list[Brightness]:
        """Brightnesses to start from, the likeliest first."""
        return likely_brightness(middle_level(frame.pyramid[-1]), reference.grey, predicted)

    def align(
        self,
        pyramid: list[Floats],
        reference: Reference,
        guesses: list[Array],
        lights: list[Brightness],
        expected: Expected | None = None,
        foreseen: Array | None = None,
    ) -> Track:
        """Align with every guess of T_frame_ref on the coarsest level, the best ones in full.

        ``foreseen``: where the frame should be, if its motion goes on.
        """
        expected = expected or Expected()
        smooth = Blurred.of(pyramid[BRIGHTNESS_LEVEL])
        found_all: list[_Hypothesis] = []
        ranked, coarse_rms = self._rank(pyramid, reference, guesses, lights, expected)
        for start in ranked[:MOST_IN_FULL]:
            result = self._refine(pyramid, smooth, reference, start)
            found_all.append(result)
            if self._believable(result) and expected.is_known and result.rms < USUAL_RMS * expected.rms:
                break
        best = max(found_all, key=lambda each: (self._believable(each), -each.rms))
        ok = self._believable(best)
        covered = None
        worse = best.rms > USUAL_RMS * expected.rms
        if ok and worse and foreseen is not None:
            best = self._where_most_agrees(best, found_all, foreseen, reference)
        if ok and (best.light.zones < COVERED or (worse and best.light.zones < 1.0)):
            best, covered = self._uncovered(pyramid, smooth, reference, best)
        found = best.alignment
        flow, flow_t = self.flow(found.T_frame_ref, reference)
        return Track(
            ok,
            found.T_frame_ref,
            best.light,
            found.rms,
            coarse_rms,
            found.visible,
            found.inliers,
            flow,
            flow_t,
            len(found_all),
            covered,
        )

    def _where_most_agrees(
        self, best: _Hypothesis, found: list[_Hypothesis], foreseen: Array, reference: Reference
    ) -> _Hypothesis:
        """What covers a part of the image may show the scene from another place, and fit there. If nothing fits as
        usual, the minimum nearest to the foreseen place is preferred where clearly more of the image agrees with it:
        less of a residual alone speaks for the other."""
        near = min(
            (each for each in found if self._believable(each)),
            key=lambda each: self.flow(each.alignment.T_frame_ref @ se3.inverse(foreseen), reference)[0],
        )
        return near if near.light.zones > best.light.zones + MORE_ZONES else best

    def without_bands(
        self, frame: Frame, reference: Reference, T_frame_ref: Array, again: bool
    ) -> Frame | None:
        """The frame without the bands of a lamp, as the reference has them at a pose that is about right; None: it
        shows none. ``again``: frames before it did."""
        smooth, plane = Blurred.of(frame.pyramid[BRIGHTNESS_LEVEL]), reference.planes[BRIGHTNESS_LEVEL]
        seen = Seen.at(smooth, plane, reference.light, T_frame_ref)
        gains = row_gains(seen, plane.height, len(frame.image), again)
        if gains is None:
            return None
        focused = replace(frame.focused, image=frame.focused.image / gains[:, None])
        return replace(frame, focused=focused, pyramid=self.pyramid(focused.image))

    def _rank(
        self,
        pyramid: list[Floats],
        reference: Reference,
        guesses: list[Array],
        lights: list[Brightness],
        expected: Expected,
    ) -> tuple[list[_Hypothesis], float]:
        """Coarsest level from every guess, best first, and the least residual there; guesses that converged to the
        same place are kept once."""
        top = self.level_count - 1
        results: list[_Hypothesis] = []
        for light, guess in ((light, guess) for light in lights for guess in guesses):
            found = _Hypothesis(self._on_level(pyramid, reference, top, guess, light), light)
            results.append(found)
            if self._good(found.alignment) and found.rms < USUAL_COARSE_RMS * expected.coarse_rms:
                break  # as good as the frame before: no need to look further
        order = sorted(
            range(len(results)), key=lambda k: results[k].rms / max(results[k].alignment.visible, 0.05)
        )
        kept: list[_Hypothesis] = []
        for k in order:
            if not any(results[k].is_like(other) for other in kept):
                kept.append(results[k])
        return kept, min(r.rms for r in results)

    def _refine(
        self, pyramid: list[Floats], smooth: Blurred, reference: Reference, start: _Hypothesis
    ) -> _Hypothesis:
        """Down the pyramid, measuring the brightness anew with the pose of each level."""
        result, light = start.alignment, start.light
        on_the_way = replace(reference, light=reference.light.some())
        for level in range(self.level_count - 2, -1, -1):
            light = self.brightness(smooth, on_the_way, result.T_frame_ref, light)
            result = self._on_level(pyramid, reference, level, result.T_frame_ref, light)
        return _Hypothesis(result, self.brightness(smooth, reference, result.T_frame_ref, light))

    def _uncovered(
        self, pyramid: list[Floats], smooth: Blurred, reference: Reference, found: _Hypothesis
    ) -> tuple[_Hypothesis, ZoneAgreement | None]:
        """Once more without the zones that show something else: it may move, and would take the pose with it.

        Not without those that fit badly because their depth is hardly known.
        """
        a, light, plane = found.alignment, found.light, reference.planes[BRIGHTNESS_LEVEL]
        known = reference.light.known_zones(plane, a.T_frame_ref)
        zones = Seen.at(smooth, plane, reference.light, a.T_frame_ref).covered(plane, light, known)
        if zones is None:
            return found, None
        kept = list(reference.levels)
        for n in range(min(UNCOVERED_LEVELS, len(kept))):
            x, y = warped(kept[n], reference.planes[n], a.T_frame_ref)
            fits = zones.uncovered(x, y, reference.planes[n])
            kept[n] = ReferencePixels(*(column[fits] for column in kept[n]))
        rest = replace(reference, levels=kept)
        again = a
        for level in range(min(UNCOVERED_LEVELS, len(kept)) - 1, -1, -1):
            again = self._on_level(pyramid, rest, level, again.T_frame_ref, light)
        light = self.brightness(smooth, reference, again.T_frame_ref, light)
        if not self._good(again) or light.zones < found.light.zones:
            return found, zones
        # what is covered counts as visible and not as fitting, as before
        return _Hypothesis(replace(a, T_frame_ref=again.T_frame_ref, hessian=again.hessian), light), zones

    def brightness(self, smooth: Blurred, reference: Reference, pose: Array, start: Brightness) -> Brightness:
        """Gain and offset of a frame against the reference at a pose."""
        return measure_brightness(smooth, reference.planes[BRIGHTNESS_LEVEL], reference.light, pose, start)

    def _on_level(
        self, pyramid: list[Floats], reference: Reference, level: int, start: Array, brightness: Brightness
    ) -> Alignment:
        """One level; the cutoff is doubled while most residuals saturate (a bad start far from the minimum)."""
        c, contrast = self.config, brightness.contrast

        def align(start: Array, cutoff: float) -> Alignment:
            weights = RobustWeights.of(contrast * c.image_sigma, contrast * c.huber, contrast * cutoff)
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

    def _believable(self, found: _Hypothesis) -> bool:
        """Whether a pose may be right: most of the image fits, or what fits, fits well (the rest is covered)."""
        a, light = found.alignment, found.light
        partly = a.inliers > LEAST_PARTLY_INLIERS and a.visible > self.config.least_visible
        return light.match >= LEAST_MATCH and light.zones >= LEAST_ZONES and (partly or self._good(a))

    def flow(self, T_frame_ref: Array, reference: Reference) -> tuple[float, float]:
        """RMS image motion of the reference pixels at 512 px width: with and without rotation."""
        level = reference.levels[min(1, self.level_count - 1)]
        some = slice(None, None, max(len(level.ray_x) // FLOW_PIXELS, 1))
        rays = np.stack([level.ray_x[some], level.ray_y[some], np.ones_like(level.ray_x[some])], -1)
        rays = rays.astype(np.float64)
        shift = T_frame_ref[:3, 3] * level.inv_depth[some, None].astype(np.float64)
        scale = self.view.focal_px * FLOW_WIDTH / self.view.width
        out = []
        for moved in (rays @ T_frame_ref[:3, :3].T + shift, rays + shift):
            d = moved[:, :2] / np.maximum(moved[:, 2:], 1e-3) - rays[:, :2]
            out.append(scale * float(np.sqrt((d**2).sum(1).mean())))
        return out[0], out[1]


def warped(pixels: ReferencePixels, level: Pinhole, T_frame_ref: Array) -> tuple[Array, Array]:
    """Where reference pixels lie in the frame; those behind the camera anywhere."""
    rays = np.stack([pixels.ray_x, pixels.ray_y, np.ones_like(pixels.ray_x)], -1).astype(np.float64)
    p = rays @ T_frame_ref[:3, :3].T + T_frame_ref[:3, 3] * pixels.inv_depth[:, None].astype(np.float64)
    x, y = level.project(np.column_stack([p[:, :2], np.maximum(p[:, 2], 1e-3)]))
    return np.asarray(x), np.asarray(y)


@dataclass(frozen=True)
class _Hypothesis:
    """Where an alignment went from one guess, and with which brightness."""

    alignment: Alignment
    light: Brightness

    @property
    def rms(self) -> float:
        """Residual in grey levels of the reference, so that a dark start is not preferred for being dark."""
        return self.alignment.rms / self.light.contrast

    def is_like(self, other: _Hypothesis) -> bool:
        """Whether both went to the same minimum with the same light."""
        a, b = self.alignment.T_frame_ref, other.alignment.T_frame_ref
        apart = np.linalg.norm(se3.log(se3.renormalised(a @ se3.inverse(b))))
        return bool(apart < SAME_PLACE and abs(np.log(self.light.gain / other.light.gain)) < SAME_LIGHT)
