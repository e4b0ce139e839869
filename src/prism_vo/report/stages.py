# SPDX-License-Identifier: Apache-2.0
"""The stages a frame's time is counted in, and which of them run in the tracking thread."""

from __future__ import annotations

from collections.abc import Mapping

STAGES = {
    "decode": "read and focus the next frame (beside the rest)",
    "pyramid": "image pyramids",
    "track": "align the frame",
    "trace": "epipolar search",
    "optimise": "window optimisation and marginalisation",
    "refine": "locate the frames since the last keyframe again",
    "select": "select points and measure their depth (beside optimise)",
    "measure": "of that, measuring depth",
    "wait": "wait for select to end",
    "reference": "prepare the tracking reference",
    "places": "take over recognised places (found beside the rest), or look for the place of a lost frame",
}


def busy_seconds(seconds: Mapping[str, float]) -> float:
    """Time of a frame in the tracking thread: without what ran beside it (select does when it was waited for)."""
    beside = {"decode", "measure"} | ({"select"} if "wait" in seconds else set())
    return sum(value for stage, value in seconds.items() if stage not in beside)
