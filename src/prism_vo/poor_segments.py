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
from prism_vo.window.report import MappingReport

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

    number: int
    is_first: bool  # of the run
    is_known: bool  # it goes on with a map that was made before
    shares: list[float] = field(default_factory=list)  # of the candidates of its keyframes that have a depth
    # of its keyframes; another list from where its lens was seen to have moved
    agreements: list[list[DepthAgreement]] = field(default_factory=lambda: [[]])
    poses: int = 0

    @property
    def is_young(self) -> bool:
        enough = self.is_first and self.poses >= ENOUGH_POSES
        return len(self.shares) < FEWEST_KEYFRAMES and not enough and not self.is_known

    def take(self, mapping: MappingReport) -> None:
        """What was seen at one more keyframe."""
        if mapping.focus is not None and mapping.focus.verdict == "has changed":
            self.agreements.append([])
        if mapping.agreement is not None:
            self.agreements[-1].append(mapping.agreement)

    def has_less_depth(self, others: list[_Segment]) -> bool:
        """Whether its best keyframe has far less than is usual in others."""
        shares = [share for other in others for share in other.shares]
        return bool(shares) and bool(max(self.shares) < POORER * np.median(shares))

    def contradicts(self, other: _Segment) -> bool:
        """Whether its depths contradict parallax where those of another segment, surely, do not.

        With a wrong camera file all of them do; a segment that knows little about it, or was hardly asked, speaks for
        nothing. What is compared was seen as shortly after each other as can be, because the lens may have moved.
        """
        own_end, their_end = (-1, 0) if self.number < other.number else (0, -1)
        ours, others = self.agreements[own_end], other.agreements[their_end]
        if not ours or len(others) < min(FEWEST_AGREEMENTS, len(ours)):
            return False
        (own, own_sigma), (theirs, their_sigma) = middle_excess(ours), middle_excess(others)
        differs = abs(own - theirs) > SURE * np.hypot(own_sigma, their_sigma)
        return bool(differs and abs(own) > SURE * own_sigma and abs(theirs) < SURE * their_sigma)


def poor_segments(reports: Iterable[FrameReport]) -> list[int]:
    """Those with far less depth than the others have, those that never became a map while others did, and those in
    which measured depth and parallax contradict each other while in others, of the same camera, they agree.

    What became a map speaks about depth, and what is no good itself about nothing, so that some map always stays.
    """
    segments: dict[int, _Segment] = {}
    for report in reports:
        if np.isfinite(report.measured):
            new = _Segment(report.segment, not segments, report.status == "recovered")
            segments.setdefault(report.segment, new).shares.append(report.measured)
        if report.status != "lost" and report.segment in segments:
            segments[report.segment].poses += 1
        if report.mapping is not None and report.segment in segments:
            segments[report.segment].take(report.mapping)
    return [segment.number for segment in _poor(list(segments.values()))]


def _poor(segments: list[_Segment]) -> list[_Segment]:
    maps = [s for s in segments if not s.is_young]
    asked = maps or segments
    poor = [s for s in segments if not s.is_known and s.has_less_depth([o for o in asked if o is not s])]
    good = [m for m in maps if m not in poor]
    poor += [s for s in segments if s.is_young and good and s not in poor]
    return poor + [m for m in good if not m.is_known and any(m.contradicts(other) for other in good)]
