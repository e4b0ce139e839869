# SPDX-License-Identifier: Apache-2.0
"""How much depth the images of a run have: what is usual, and which are too poor to begin a map with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.tracking.predicted import LEAST_MEASURED

REMEMBERED = 20  # keyframes
# of the depths that they had, to start another segment with: blurred images have few, and false ones
LEAST_DEPTH = 0.5
NO_DEPTH = "Hardly anything in the image has a depth: no map can begin with it."
LESS_DEPTH = "The image has far less depth than those before: no map should begin with it yet."


@dataclass(frozen=True)
class DepthShares:
    """Shares of the last keyframes' candidates whose depth could be measured."""

    recent: tuple[float, ...] = ()

    def after(self, share: float) -> DepthShares:
        """One keyframe more."""
        return DepthShares((*self.recent, share)[-REMEMBERED:])

    @property
    def last(self) -> float:
        """Of the newest keyframe."""
        return self.recent[-1]

    @property
    def are_usual(self) -> bool:
        """Whether keyframes have so much that a frame without any is not like them."""
        return bool(self.recent) and bool(np.median(self.recent) >= LEAST_MEASURED)

    def problem(self, share: float, least: float, waited: bool) -> str | None:
        """Why no map should begin with an image: less than the ``least`` share of it has a depth, or so much less than
        usual that a better one should be ``waited`` for."""
        if share < least:
            return NO_DEPTH
        poorer = bool(self.recent) and bool(share < LEAST_DEPTH * np.median(self.recent))
        return LESS_DEPTH if poorer and not waited else None
