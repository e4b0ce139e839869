# SPDX-License-Identifier: Apache-2.0
"""Whether the focus is still the one that distances are computed with, judged keyframe by keyframe.

A camera file without a statement of its uncertainty is believed until depth and parallax contradict it: estimating the
focus costs certainty of scale, and most recordings are made with the camera as it was calibrated. A contradiction comes
in two kinds. Where depth and parallax never agreed, the focus was wrong from the first frame, and everything since is
too large or too small by one factor. Where they did agree before, the lens has moved in between, and the past is right.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism_vo.optics.focus import FocusModel
from prism_vo.window.agreement import DepthAgreement

SYSTEMATIC = 0.001  # of w_∞: what errors that all depths share may come to
AGREE, CONTRADICT = 2.0, 4.0  # standard deviations
KNOWN = 2.5e-3  # mm: agreement known less well than this proves nothing
LARGEST_SLOPE_SIGMA = 0.1  # of κ, relative: else the factor of the past is not known
CONTRADICTIONS = 2  # keyframes in a row


@dataclass(frozen=True)
class Refocus:
    """The focus that depth and parallax show."""

    shift: float  # δ, mm
    factor: float  # by which all lengths so far were wrong; 1: they were right


@dataclass(frozen=True)
class FocusWatch:
    """What was seen of the focus so far. Immutable: every keyframe makes a new one."""

    trusted: bool = False  # depth and parallax have agreed
    contradictions: int = 0  # keyframes in a row
    refocus: Refocus | None = None  # the last keyframe showed that the focus is another one

    def after(self, seen: DepthAgreement | None, focus: FocusModel, shift: float) -> FocusWatch:
        """One more keyframe, compared at the present focus shift (mm)."""
        if seen is None:
            return replace(self, refocus=None)
        view = focus.at(shift)
        sigma = float(np.hypot(seen.intercept_sigma, SYSTEMATIC))
        excess = abs(seen.intercept - view.w_infinity) / sigma
        if excess < CONTRADICT:
            known = sigma < KNOWN * abs(focus.slopes(shift).w_infinity)
            return FocusWatch(self.trusted or (known and excess < AGREE))
        count = self.contradictions + 1
        sure = self.trusted or seen.slope_ratio_sigma < LARGEST_SLOPE_SIGMA * seen.slope_ratio
        if count < CONTRADICTIONS or not sure:
            return replace(self, contradictions=count, refocus=None)
        found = focus.shift_of(seen.intercept)
        slope = seen.slope_ratio * view.kappa
        factor = 1.0 if self.trusted else focus.at(found).kappa / slope
        return FocusWatch(True, 0, Refocus(found, factor))
