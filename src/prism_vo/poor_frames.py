# SPDX-License-Identifier: Apache-2.0
"""Frames that suddenly fit the map far worse than those before them, or whose depth can suddenly not be measured.

Tracking gets used to poor images within three frames, because it must: nothing tells a reflection, a veil or a blurred
lens that lasts from a scene that has become rougher. What it finds is then as good as it can be, and may be wrong by
more than it says. A scene that becomes rougher does so from frame to frame (1.14 times the last residuals at the most,
in clean recordings); such a fault begins at once. Where it makes the images smooth, later ones fit each other as well
as ever, but they hang on the one keyframe that did not fit, as long as it is in the window. So do frames after a
keyframe most of which showed something else than the scene.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np

from prism_vo.frame_report import FrameReport
from prism_vo.tracking.brightness import COVERED

WORSE = 1.5  # times the largest residual of the last frames that were none of these
RECENT = 3  # such frames
# px RMS at 512 px width from its keyframe, twice as far as usual: after a jump all frames fit worse
FAR = 18.0
COVERED_PART = 0.1  # of an image, at least, to be said: single zones disagree for other reasons, too
MOST_COVERED = 0.5  # of a keyframe that the map may go on with: most of it shows the scene
WINDOW = 7  # keyframes
POORER = 0.5  # of the depths that other keyframes had


def poor_frames(reports: Iterable[FrameReport]) -> list[int]:
    """Their numbers."""
    fit, depth, poor = _Fit(), _Depth(), []
    hanging = 0  # keyframes to come until one that did not fit has left the window
    was_lost = False
    for n, report in enumerate(reports):
        if report.status == "lost":
            was_lost = True
            continue
        worse, blind = not was_lost and fit.is_worse(report), depth.is_poorer(report)
        was_lost = False
        if report.status in ("keyframe", "recovered"):
            hanging = WINDOW if worse or report.covered > MOST_COVERED else max(hanging - 1, 0)
        if worse or blind or hanging:
            poor.append(n)
    return poor


class _Fit:
    """Residuals of the last good frames of a segment."""

    def __init__(self) -> None:
        self.segment, self.recent = -1, deque[float](maxlen=RECENT)
        self.keyframes = 0  # of the segment

    def is_worse(self, report: FrameReport) -> bool:
        """Whether a frame fits much worse than those; if not, it is one of them from now on."""
        if report.segment != self.segment:
            self.segment, self.keyframes = report.segment, 0
            self.recent.clear()
        self.keyframes += report.status in ("keyframe", "recovered")
        track = report.track
        if track is None or track.is_still:
            return False
        if track.flow > FAR and report.status != "recovered":  # a keyframe refused it that was near enough
            return False
        if report.covered > 1.0 - COVERED and not self._contradicts(report):
            return False
        if self.recent and track.relative_rms > WORSE * max(self.recent):
            return True
        self.recent.append(track.relative_rms)
        return False

    def _contradicts(self, report: FrameReport) -> bool:
        """Whether a part of an image fits an older keyframe of a young map alone.

        Something may have come before the lens; or the map is made of torn images, and that part is the scene.
        """
        return report.status == "recovered" and self.keyframes <= WINDOW


class _Depth:
    """Share of the points whose depth could be measured, of all keyframes before."""

    def __init__(self) -> None:
        self.shares: list[float] = []
        self.poorer = False

    def is_poorer(self, report: FrameReport) -> bool:
        """Whether a frame, or the keyframe it was tracked against, has much less depth than others had."""
        if np.isfinite(report.measured):
            self.poorer = bool(self.shares and report.measured < POORER * np.median(self.shares))
            if not self.poorer:
                self.shares.append(report.measured)
        return self.poorer
