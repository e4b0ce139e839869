# SPDX-License-Identifier: Apache-2.0
"""Is a track believed? Images alone can be fooled; a false pose contradicts the measured depth of the new frame.

Depth is measured only where there is doubt, so that a frame like the one before costs nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism_vo.arrays import Array
from prism_vo.optics.view import FocusedView
from prism_vo.tracking.brightness import COVERED, PARTLY_MATCH
from prism_vo.tracking.motion import Motion
from prism_vo.tracking.predicted import DepthAgreement, Measure, Predicted, rays_of
from prism_vo.tracking.reference import Reference
from prism_vo.tracking.shifts import shift_of_zones
from prism_vo.tracking.track import RECENT, Track
from prism_vo.types import Frame

USUAL_RESIDUAL = 1.5  # times the largest of the last believed frames
LEAST_AGREEMENT = 0.6  # share of the measured ones that must agree with the map
LARGEST_SURPRISE = 6.0  # px at 512 px width beside the foreseen place, where depth has no say
SURPRISE_WIDTH = 512.0
# share of the zones that fit: what is covered leaves the others whole, a false pose fits nowhere well
LEAST_FITTING = 0.35
# the same of a pose that continues no motion: nothing but the image speaks for it, so half of the image must
LEAST_FITTING_ALONE = 0.5
# correlation of the image at such a pose, if it fits worse than usual and in no zone worse than in others: in the dark
# all residuals are small and every pixel fits anywhere, but true poses correlate by 0.97 and more
LEAST_MATCH_ALONE = PARTLY_MATCH
# the same of a pose that is not asked, where frames before it did far better (times what they lacked): real images that
# correlate by 0.97 from frame to frame do so by 0.86 over four missing frames, and by 0.61 to 0.83 at false poses
LEAST_MATCH, UNLIKE_THOSE = 0.85, 4.0
# σ that the middle zone may lie beside its place: noise leaves 1.2, the depths of a map up to 3
LARGEST_SHIFT = 3.5
# the same of a pose out of nowhere: older keyframes are tried one after the other, and one of them would pass
LARGEST_SHIFT_ALONE = 2.5

# where only a part of the image fits: px at 512 px width beside where the motion leads, and times what is usual; what
# covers the rest may show the scene from another place, and nothing but the motion tells which part is which
LEAST_STRAY, USUAL_STRAYS = 1.0, 5.0

LEAST_REFERENCES = 2  # keyframes of a map, from which on its depths are known by parallax
USUAL_SHIFT = (
    1.8  # median over frames with exact cameras, at the most (1.2 to 1.8); 2.2 where optics are guessed
)

LARGEST_PART_MOVING = (
    0.3  # of the image, before a camera that came to rest at once, in a map that has just begun
)

AMBIGUOUS = "The camera moved; now a part of the image moves and the rest stands still: either may go with the camera."
NOWHERE = "No part of the image fits the pose well."
UNLIKE = "The image jumped and hardly looks like the map."
TORN = "Parts of the image lie beside where the pose puts them."
STRAYS = "Only a part of the image fits, and not where the motion leads."
CONTRADICTED = "Measured depth contradicts the pose."
UNCONFIRMED = "The image jumped and has no depth to confirm it."


@dataclass(frozen=True)
class Verdict:
    """Whether a track is believed, and how good it is."""

    quality: float  # 0–1
    contradiction: str | None = None  # why it is not believed, one sentence
    shift: float = 0.0  # by which zones lie beside where the pose puts them, σ; 0: not known
    surprise: float | None = None  # px at 512 px width beside the foreseen place; None: not looked at
    # whether later frames may fit as badly: not, if nothing confirms one that fits badly
    is_example: bool = True

    @property
    def believed(self) -> bool:
        """Nothing speaks against it."""
        return self.contradiction is None

    @property
    def may_be_elsewhere(self) -> bool:
        """The image is of one piece, but does not fit at this pose: there may be another one."""
        return self.contradiction in (NOWHERE, UNLIKE, CONTRADICTED)


class Judge:
    """Compares a track with the last good ones, with the images' zones and, in doubt, with measured depth."""

    def __init__(self, measure: Measure, cutoff: float) -> None:
        """``cutoff``: residual of a photometric inlier at a gain of 1, grey levels."""
        self.measure, self.cutoff = measure, cutoff

    @staticmethod
    def doubts(track: Track, motion: Motion, but_inexperience: bool = False) -> bool:
        """Whether a frame fits worse than the last good ones, or there are none yet (that ``but_inexperience``)."""
        unusual = Judge._is_unusual(track, motion) and (motion.expected.is_known or not but_inexperience)
        return unusual or not track.ok or track.brightness.zones < COVERED

    def __call__(
        self,
        frame: Frame,
        view: FocusedView,
        reference: Reference,
        track: Track,
        motion: Motion,
        again: bool = False,
    ) -> Verdict:
        """Of a track that continues a motion; ``view``: as the map sees it; ``again``: another pose was refused."""
        has_just_begun = not motion.expected.is_known
        if has_just_begun and motion.was_moving and self._stands_behind_something(track):
            return Verdict(self._quality(track, motion), AMBIGUOUS)
        shift = self._shift(frame, reference, track, motion)
        # after a loss there is no motion to continue, and every frame is one more trial
        largest = LARGEST_SHIFT_ALONE if motion.lost or again else LARGEST_SHIFT
        if shift > largest * _looseness(motion):
            return Verdict(self._quality(track, motion), TORN, shift)
        if self._strays(reference, track, motion, motion.lost + motion.copies + 1):
            return Verdict(self._quality(track, motion), STRAYS, shift)
        surprise = self._surprise(reference, track, motion)
        verdict = self._of_whole_image(frame, view, reference, track, motion, surprise)
        return replace(verdict, shift=shift, surprise=surprise)

    def _of_whole_image(
        self,
        frame: Frame,
        view: FocusedView,
        reference: Reference,
        track: Track,
        motion: Motion,
        surprise: float,
    ) -> Verdict:
        """Of a track whose image is of one piece; ``surprise``: px beside the foreseen place."""
        zones, quality = track.brightness.zones, self._quality(track, motion)
        unusual = self._is_unusual(track, motion)
        # than others: by itself a compressed image never fits well
        worse = unusual and motion.expected.is_known
        jumped = surprise > LARGEST_SURPRISE and motion.expected.is_known
        if zones >= COVERED and not (unusual or jumped):
            return Verdict(quality)
        predicted = Predicted.by(reference, track, frame, self.cutoff)
        least = LEAST_FITTING_ALONE if jumped else LEAST_FITTING
        if (worse or jumped) and predicted.fitting_zones(reference.planes[0]) < least:
            return Verdict(quality, NOWHERE)
        if worse and jumped and self._is_unlike(track):
            return Verdict(quality, UNLIKE)
        depth = DepthAgreement.of(frame, view, predicted, self.measure)
        if depth.has_a_say:
            quality *= depth.agreeing
            return Verdict(quality, CONTRADICTED if depth.agreeing < LEAST_AGREEMENT else None)
        if jumped and motion.depth_is_usual:
            return Verdict(quality, UNCONFIRMED)
        if zones >= COVERED and not worse:  # a first frame without depth: nothing speaks against it
            return Verdict(quality)
        if surprise > LARGEST_SURPRISE:
            return Verdict(quality, "The image jumped, fits badly and has no depth to confirm it.")
        if zones < COVERED and unusual and not self._partly(track):
            return Verdict(quality, "Most of the image does not fit and has no depth to confirm the rest.")
        return Verdict(quality, is_example=not worse)

    def recovered(
        self, frame: Frame, view: FocusedView, reference: Reference, track: Track, motion: Motion
    ) -> Verdict:
        """Of a track out of nowhere: depth must confirm it, if it can be measured at all.

        Without it, and where keyframes have depth, it is no example: what is found again becomes a keyframe, and a
        foggy or blurred image fits older keyframes anywhere.
        """
        quality = self._quality(track, motion)
        if self._shift(frame, reference, track, motion) > LARGEST_SHIFT_ALONE * _looseness(motion):
            return Verdict(quality, TORN)
        if self._strays(reference, track, motion, motion.lost + motion.copies):
            return Verdict(quality, STRAYS)
        predicted = Predicted.by(reference, track, frame, self.cutoff)
        worse = self._is_unusual(track, motion) and motion.expected.is_known
        if worse and predicted.fitting_zones(reference.planes[0]) < LEAST_FITTING_ALONE:
            return Verdict(quality, NOWHERE)
        if worse and self._is_unlike(track):
            return Verdict(quality, UNLIKE)
        depth = DepthAgreement.of(frame, view, predicted, self.measure)
        if depth.has_a_say and depth.agreeing < LEAST_AGREEMENT:
            return Verdict(quality, CONTRADICTED)
        confirmed = depth.agreeing if depth.has_a_say else 1.0
        return Verdict(
            quality * confirmed, is_example=depth.has_a_say or not (worse or motion.depth_is_usual)
        )

    @staticmethod
    def _quality(track: Track, motion: Motion) -> float:
        """Share of agreeing zones, times how much worse than usual the frame fits."""
        return float(track.brightness.zones * min(1.0, motion.expected.rms / max(track.relative_rms, 1e-6)))

    def _shift(self, frame: Frame, reference: Reference, track: Track, motion: Motion) -> float:
        """How far zones lie beside where the pose puts them, σ: much, if parts of the image belong to other poses.

        0 in a map that has just begun, whose depths, known from one image, are coarse enough to explain as much: until
        it has a second keyframe, however many frames that takes.
        """
        if len(motion.expected.recent) < RECENT or motion.references < LEAST_REFERENCES:
            return 0.0
        return shift_of_zones(frame, reference, track, self.cutoff)

    def _surprise(self, reference: Reference, track: Track, motion: Motion) -> float:
        """How far beside where the motion may have led the image lies, px at 512 px width."""
        T_world_ref = np.linalg.inv(reference.T_view_world)
        return min(self._apart(reference, track.T_frame_ref, T @ T_world_ref) for T in motion.leads_to())

    def _strays(self, reference: Reference, track: Track, motion: Motion, frames: int) -> bool:
        """Whether only a part of the image fits, and where the camera would have left its way for it.

        ``frames`` since the last one with a pose: a motion that changes evenly leads aside by the square of the time.
        """
        usual = motion.usual_surprise
        if usual is None or track.brightness.zones >= COVERED:
            return False
        foreseen = motion.foreseen(frames) @ np.linalg.inv(reference.T_view_world)
        largest = max(LEAST_STRAY, USUAL_STRAYS * usual) * 0.5 * frames * (frames + 1)
        return self._apart(reference, track.T_frame_ref, foreseen) > largest

    @staticmethod
    def _is_unusual(track: Track, motion: Motion) -> bool:
        """Whether a frame fits worse than the last good ones, or there are none to compare it with; or it is hardly
        like the map, and no zone less than others: where none fits, none is found to be covered."""
        if not motion.expected.is_known or track.relative_rms > USUAL_RESIDUAL * motion.expected.rms:
            return True
        light, usual = track.brightness, motion.expected.match
        differs = usual is not None and 1.0 - light.match > UNLIKE_THOSE * (1.0 - usual)
        return differs and light.zones >= COVERED and light.match < LEAST_MATCH

    @staticmethod
    def _is_unlike(track: Track) -> bool:
        """Whether the whole image hardly looks like the map, though nothing covers it."""
        return track.brightness.zones >= COVERED and track.brightness.match < LEAST_MATCH_ALONE

    @staticmethod
    def _stands_behind_something(track: Track) -> bool:
        """Whether a good part of the image moves and the rest stands still: that part may be the scene, and the rest a
        thing that goes with the camera."""
        covered = 0.0 if track.covered is None else float(track.covered.covered.mean())
        return track.is_still and covered > LARGEST_PART_MOVING

    @staticmethod
    def _partly(track: Track) -> bool:
        """Whether a good part of the image fits perfectly well: then something covers the rest."""
        return track.brightness.zones >= 0.5 * COVERED or track.inliers > 0.5

    def depth_agreement(
        self, frame: Frame, view: FocusedView, reference: Reference, track: Track
    ) -> DepthAgreement:
        """At some of the reference pixels that fit photometrically."""
        predicted = Predicted.by(reference, track, frame, self.cutoff)
        return DepthAgreement.of(frame, view, predicted, self.measure)

    def _apart(self, reference: Reference, one: Array, other: Array) -> float:
        """RMS distance in the image between two poses, px at 512 px width."""
        level = reference.levels[-1]
        rays, q = rays_of(level), level.inv_depth.astype(np.float64)
        places = []
        for pose in (one, other):
            p = rays @ pose[:3, :3].T + pose[:3, 3] * q[:, None]
            places.append(p[:, :2] / np.maximum(p[:, 2:], 1e-3))
        distance = np.sqrt(((places[0] - places[1]) ** 2).sum(1).mean()) if len(q) else 0.0
        plane = reference.planes[0]
        return float(plane.focal * SURPRISE_WIDTH / plane.width * distance)


def _looseness(motion: Motion) -> float:
    """Times that zones may lie farther beside their places than with an exact camera."""
    return max(1.0, motion.usual_shift / USUAL_SHIFT)
