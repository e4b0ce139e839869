# SPDX-License-Identifier: Apache-2.0
"""What tracking found out about one frame."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from prism_vo.arrays import Array
from prism_vo.tracking.brightness import Brightness, ZoneAgreement

RECENT = 3  # tracks that are remembered
STILL = 0.5  # px RMS at 512 px width from the reference: below, hardly a pixel is interpolated


@dataclass(frozen=True)
class Expected:
    """Residuals of the last tracks that were believed, grey levels at a gain of 1: what a good alignment looks like."""

    recent: tuple[float, ...] = ()
    coarse_rms: float = 0.0  # on the coarsest level, of the last one
    matches: tuple[float, ...] = field(
        default=(), compare=False
    )  # how well they correlated with the reference

    @property
    def rms(self) -> float:
        """The largest of them: right after a keyframe, residuals are smaller than they will be farther from it."""
        return max(self.recent, default=np.inf)

    @property
    def is_known(self) -> bool:
        """Whether there was such a track."""
        return bool(self.recent)

    @property
    def match(self) -> float | None:
        """The least of them; None: not known."""
        return min(self.matches, default=None)

    def at_gain(self, gain: float) -> Expected:
        """The same against a reference that is brighter by a factor."""
        recent = tuple(gain * rms for rms in self.recent)
        return replace(self, recent=recent, coarse_rms=gain * self.coarse_rms)


@dataclass(frozen=True)
class Track:
    """Result for one frame, relative to the reference keyframe (poses of the totally focused view)."""

    ok: bool
    T_frame_ref: Array
    brightness: Brightness
    rms: float
    coarse_rms: float  # of the best hypothesis on the coarsest level, at a gain of 1
    visible: float
    inliers: float
    flow: float  # px RMS at 512 px width, translation and rotation
    flow_translation: float  # px RMS at 512 px width, of the translation alone
    hypotheses: int  # how many were tried in full
    covered: ZoneAgreement | None = None  # zones in which something covers the scene; None: none

    @property
    def relative_rms(self) -> float:
        """Residual in grey levels of the reference: a brighter frame has larger ones for no other reason."""
        return self.rms / self.brightness.contrast

    @property
    def is_still(self) -> bool:
        """A copy of its reference fits better than anything that has moved ever will."""
        return self.flow < STILL

    def expected_next(self, before: Expected) -> Expected:
        """What a good alignment looks like from here on.

        A frame that is partly covered is no example, nor is one that stands still.
        """
        if self.covered is not None or self.is_still:
            return before
        recent, matches = (*before.recent, self.relative_rms), (*before.matches, self.brightness.match)
        return Expected(recent[-RECENT:], self.coarse_rms, matches[-RECENT:])

    def is_better_than(self, other: Track, share: float = 1.0) -> bool:
        """A track that is good, then one whose residual is less than ``share`` of the other's."""
        return (self.ok, -self.relative_rms) > (other.ok, -share * other.relative_rms)
