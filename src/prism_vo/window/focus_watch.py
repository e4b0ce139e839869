# SPDX-License-Identifier: Apache-2.0
"""Whether the focus is still the one that distances are computed with, judged keyframe by keyframe.

A camera file that does not state its uncertainty is believed until depth and parallax contradict it: estimating the
focus costs certainty of scale, and most recordings are made with the camera as it was calibrated. Contradictions come
in three kinds. If depth and parallax never agreed, the focus was wrong from the first frame, and all lengths since are
wrong by one factor. If they did agree but the newest keyframes do not, the lens has moved, and the past is right. If a
difference too small to be seen before has become certain over many keyframes, it is enough to estimate it from now on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from prism_vo.optics.focus import FocusModel
from prism_vo.window.focus_step import FocusStep

SYSTEMATIC = 0.001  # of w_∞: what errors that all depths share may come to
OPTIMISM = 3.4  # of the window's σ of the focus: one surface is measured again in many keyframes
AGREE, CONTRADICT = 2.0, 4.0  # standard deviations
# the same of a step: after a gap in the recording, poses that err together look like half of CONTRADICT, twice
STEP, CERTAIN_STEP = 2.5, 5.0
KNOWN = 2.5e-3  # mm: agreement known less well than this proves nothing
IN_A_ROW = 2  # keyframes that must contradict, unless one is certain
LEAST_KEYFRAMES = 5  # before anything is concluded
Verdict = Literal["as it was", "wrong from the start", "has changed", "differs a little"]


@dataclass(frozen=True)
class FocusEstimate:
    """The focus shift as a whole run shows it."""

    shift: float  # δ, mm
    sigma: float  # mm; what all depths share included, the camera file left out


def honest_sigma(sigma: float, focus: FocusModel) -> float:
    """σ(δ) in mm, from the one that the window's equations give."""
    return float(np.hypot(OPTIMISM * sigma, SYSTEMATIC / abs(focus.slopes(0.0).w_infinity)))


@dataclass(frozen=True)
class FocusWatch:
    """What was seen of the focus so far. Immutable: every keyframe makes a new one."""

    trusted: bool = False  # depth and parallax have agreed
    keyframes: int = 1
    contradictions: int = 0  # of the newest keyframes, in a row
    verdict: Verdict = "as it was"

    def after(self, shift: float, found: FocusEstimate, step: FocusStep | None) -> FocusWatch:
        """One more keyframe: what all of them show, against the present shift (mm), and a step between them."""
        watch = replace(self, keyframes=self.keyframes + 1, verdict="as it was")
        if watch.keyframes < LEAST_KEYFRAMES:
            return watch
        if self.trusted and step is not None:
            watch = watch._counting(abs(step.change) / float(np.hypot(OPTIMISM * step.sigma, SYSTEMATIC)))
            if watch.verdict == "has changed":
                return watch
        difference = abs(found.shift - shift) / found.sigma
        if difference > CONTRADICT:
            # what lies farther off than agreement was ever known to was there from the start
            little = self.trusted and abs(found.shift - shift) <= KNOWN
            return replace(
                watch, trusted=True, verdict="differs a little" if little else "wrong from the start"
            )
        return replace(watch, trusted=self.trusted or (difference < AGREE and found.sigma < KNOWN))

    def _counting(self, sigmas: float) -> FocusWatch:
        """The newest keyframes contradict those before them by so many σ."""
        count = self.contradictions + 1 if sigmas > STEP else 0
        if sigmas > CERTAIN_STEP or count >= IN_A_ROW:
            return replace(self, contradictions=0, verdict="has changed")
        return replace(self, contradictions=count)
