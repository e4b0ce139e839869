# SPDX-License-Identifier: Apache-2.0
"""Segments that turn out to be no good when the whole run is known, because others are.

A run cannot know that of its first image: one that is out of focus has some depth, and a scale that may be wrong
several times over. Nor can it wait for ever for a better one after a loss: fog may have come to stay, and uneven light
or a blurred lens biases depths that look like any others. What the other segments have, shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from prism_vo.frame_report import FrameReport
from prism_vo.window.agreement import DepthAgreement, middle_excess

# of the depths that keyframes of other segments have. The best keyframe of segments that are right has 0.98 and more;
# of those that began out of focus, with scales wrong up to thousands of times, 0.62 to 0.72
POORER = 0.85
FEWEST_KEYFRAMES = (
    3  # before, no point is seen from three places, and nothing confirms the depths of the first
)
# poses of a first segment that are enough without: whatever goes wrong at the start has gone by then, while a map
# that begins after a loss may begin with anything, and a picture that goes with the camera never shows a third place
ENOUGH_POSES = 6
FEWEST_AGREEMENTS = (
    3  # of another segment that speaks against one with as many; a single one may agree by chance
)
# σ by which parallax contradicts measured depth, or does not: 4.5 to 24 where light is uneven or the camera follows
# what goes with it, 2.1 at the most in segments that are right
SURE = 3.0


@dataclass
class _Segment:
    """What is known of one."""

    is_first: bool  # of the run
    shares: list[float] = field(default_factory=list)  # of the candidates of its keyframes that have a depth
    agreements: list[DepthAgreement] = field(default_factory=list)
    poses: int = 0

    @property
    def is_young(self) -> bool:
        enough = self.is_first and self.poses >= ENOUGH_POSES
        return len(self.shares) < FEWEST_KEYFRAMES and not enough

    @property
    def excess(self) -> tuple[float, float]:
        """By which parallax contradicts measured depth with the focus of the camera file, and its σ; nothing to
        compare: that is not known."""
        return middle_excess(self.agreements) if self.agreements else (0.0, np.inf)

    def contradicts(self, other: _Segment) -> bool:
        """Whether its depths contradict parallax where those of another segment, surely, do not.

        With a wrong camera file all of them do; a segment that knows little about it, or was hardly asked, speaks for
        nothing.
        """
        if len(other.agreements) < min(FEWEST_AGREEMENTS, len(self.agreements)):
            return False
        (own, own_sigma), (theirs, their_sigma) = self.excess, other.excess
        differs = abs(own - theirs) > SURE * np.hypot(own_sigma, their_sigma)
        return bool(differs and abs(own) > SURE * own_sigma and abs(theirs) < SURE * their_sigma)


def poor_segments(reports: Iterable[FrameReport]) -> list[int]:
    """Those with far less depth than the others have, those that never became a map while others did, and those in
    which measured depth and parallax contradict each other while in others, of the same camera, they agree."""
    segments: dict[int, _Segment] = {}
    for report in reports:
        if np.isfinite(report.measured):
            if not segments and report.status == "recovered":  # at a place that was known before
                return []
            segments.setdefault(report.segment, _Segment(not segments)).shares.append(report.measured)
        if report.status != "lost" and report.segment in segments:
            segments[report.segment].poses += 1
        if report.mapping is not None and report.mapping.agreement is not None and report.segment in segments:
            segments[report.segment].agreements.append(report.mapping.agreement)
    return [
        number
        for number, segment in segments.items()
        if _is_poor(segment, [other for each, other in segments.items() if each != number])
    ]


def _is_poor(segment: _Segment, others: list[_Segment]) -> bool:
    if not others:
        return False
    if max(segment.shares) < POORER * np.median([share for other in others for share in other.shares]):
        return True
    if segment.is_young:
        return any(not other.is_young for other in others)
    return any(segment.contradicts(other) for other in others)
