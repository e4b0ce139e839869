# SPDX-License-Identifier: Apache-2.0
"""What tracking found out about one frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array
from prism_vo.tracking.brightness import Brightness


@dataclass(frozen=True)
class Expected:
    """Residuals of the last track that was believed, grey levels: what a good alignment looks like."""

    rms: float = np.inf
    coarse_rms: float = 0.0  # on the coarsest level


@dataclass(frozen=True)
class Track:
    """Result for one frame, relative to the reference keyframe (poses of the totally focused view)."""

    ok: bool
    T_frame_ref: Array
    brightness: Brightness
    rms: float
    coarse_rms: float  # of the best hypothesis on the coarsest level
    visible: float
    inliers: float
    flow: float  # px RMS at 512 px width, translation and rotation
    flow_translation: float  # px RMS at 512 px width, of the translation alone
    hypotheses: int  # how many were tried in full

    def is_better_than(self, other: Track) -> bool:
        """A track that is good, then one with a smaller residual."""
        return (self.ok, -self.rms) > (other.ok, -other.rms)
