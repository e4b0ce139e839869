# SPDX-License-Identifier: Apache-2.0
"""Depths that the window finished before their keyframe left it.

A keyframe leaves when little of it is seen any more, and most of its points have left before: what it knows at the end
alone would be a handful of points, too few to be found again by.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from prism_vo.points.finished import FinishedPoints
from prism_vo.tracking.reference import KeyframeDepth


@dataclass
class FinishedDepths:
    """Finished points by the keyframe that hosts them."""

    of: dict[int, list[FinishedPoints]] = field(default_factory=dict)

    def add(self, finished: FinishedPoints) -> None:
        """What the window finished at a keyframe."""
        for keyframe in np.unique(finished.keyframe).tolist():
            self.of.setdefault(keyframe, []).append(finished.take(finished.keyframe == keyframe))

    def scale(self, first: int, factor: float) -> None:
        """Lengths of all keyframes from ``first`` on were wrong by a factor."""
        self.of = {k: [points.scaled(factor, first) for points in own] for k, own in self.of.items()}

    def taken_into(self, keyframe: KeyframeDepth) -> KeyframeDepth:
        """A keyframe that leaves, with its finished points where it knows nothing else; they are forgotten here."""
        inv_depth, variance = keyframe.inv_depth.copy(), keyframe.variance.copy()
        for points in self.of.pop(keyframe.id, []):
            y, x = np.rint(points.v).astype(np.intp), np.rint(points.u).astype(np.intp)
            unknown = ~np.isfinite(variance[y, x])
            y, x = y[unknown], x[unknown]
            inv_depth[y, x] = points.inv_depth[unknown]
            variance[y, x] = points.variance[unknown]
        return replace(keyframe, inv_depth=inv_depth, variance=variance)
