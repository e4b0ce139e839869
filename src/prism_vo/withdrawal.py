# SPDX-License-Identifier: Apache-2.0
"""Poses that are taken back when the whole run is known: what they were found from turned out to say nothing.

While a run goes every frame is judged by what came before it. Whether a camera stood still while one image came again
and again, and whether the images that a segment began with were any good, is known later. What was published stays
published; the results at the end, and every file, have no such pose.
"""

from __future__ import annotations

from dataclasses import replace

from prism_vo.copies import frozen_runs
from prism_vo.frame_report import FrameReport
from prism_vo.map.world import Map
from prism_vo.poor_segments import poor_segments
from prism_vo.repeats import repeated_runs
from prism_vo.shelf import Shelf
from prism_vo.tracking.judge import Verdict

FROZEN = "A copy of the frame before it, while the camera went on or may have."
REPEATED = "It shows what the frame before it showed, while the camera went on or may have."
NO_MAP = "Its segment has less depth than others, few keyframes or contradictory depths; nothing joins them."
NO_SEGMENT = -1


def withdraw(world: Map, reports: Shelf[FrameReport]) -> None:
    """After the last frame, from the map and from the reports."""
    why = {
        reports[n].time: words
        for runs, words in ((frozen_runs(reports), FROZEN), (repeated_runs(reports), REPEATED))
        for first, last in runs
        for n in range(first, last + 1)
    }
    if why:
        world.withdraw(why.keys())
        reports.change(lambda r: _without_pose(r, why[r.time]) if r.time in why else None)
    poor = {segment for segment in poor_segments(reports) if not world.corrections.is_joined(segment)}
    if poor:
        world.forgotten |= poor
        reports.change(lambda r: _outside(r) if r.segment in poor else None)


def is_withdrawn(report: FrameReport) -> bool:
    """Whether a frame had a pose while the run went."""
    return is_frozen(report) or is_repeated(report) or is_forgotten(report)


def is_frozen(report: FrameReport) -> bool:
    """Whether it had the pose of its image until it was known that the camera had gone on."""
    return report.verdict is not None and report.verdict.contradiction == FROZEN


def is_repeated(report: FrameReport) -> bool:
    """The same of an image that was not that of the frame before to the last bit."""
    return report.verdict is not None and report.verdict.contradiction == REPEATED


def is_forgotten(report: FrameReport) -> bool:
    """Whether it belonged to a segment that was no good."""
    return report.verdict is not None and report.verdict.contradiction == NO_MAP


def _outside(report: FrameReport) -> FrameReport:
    """In no world any more."""
    lost = report if report.status == "lost" else _without_pose(report, NO_MAP)
    return replace(lost, segment=NO_SEGMENT)


def _without_pose(report: FrameReport, why: str) -> FrameReport:
    return replace(report, status="lost", verdict=Verdict(0.0, why), covered=0.0)
