# SPDX-License-Identifier: Apache-2.0
"""Which keyframes leave the window."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.points.pattern import IN, NONE
from prism_vo.points.records import Points
from prism_vo.window.keyframe import Keyframe

LEAST_VISIBLE = 0.05  # share of a keyframe's points still seen in the newest one
LARGEST_BRIGHTNESS = (
    2.0  # |log factor| to the newest keyframe: beyond it noise or saturation is all they share
)
KEPT_ALWAYS = 2  # newest keyframes never leave
FEWEST = 3  # keyframes a window keeps, however little they see


def choose_leaving(keyframes: Sequence[Keyframe], points: Points, most: int) -> list[int]:
    """Window positions: keyframes hardly seen any more or of extreme brightness; then, if still too many, the one
    that is far from the newest and close to others, so that the window stays spread."""
    count = len(keyframes)
    leaving: list[int] = []
    for k in range(count - KEPT_ALWAYS):
        status = points.residual_status[points.host == k, -1]
        seen, hidden = int((status == IN).sum()), int((status == NONE).sum())
        judged = len(status) - hidden  # what something covers may come back
        log_ratio = abs(keyframes[-1].affine[0] - keyframes[k].affine[0])
        hardly = seen < LEAST_VISIBLE * judged or len(status) == 0
        if (hardly or log_ratio > LARGEST_BRIGHTNESS) and count - len(leaving) > FEWEST:
            leaving.append(k)
    centres = np.array([se3.inverse(f.pose)[:3, 3] for f in keyframes])
    while count - len(leaving) > most:
        staying = [k for k in range(count - KEPT_ALWAYS) if k not in leaving]
        leaving.append(max(staying, key=lambda k: _score(centres, k, leaving)))
    return sorted(leaving)


def _score(centres: Array, k: int, leaving: list[int]) -> float:
    distance = np.linalg.norm(centres - centres[k], axis=1)
    others = [j for j in range(len(centres) - 1) if j != k and j not in leaving]
    closeness = sum(1.0 / (distance[j] + 1e-5) for j in others)
    return float(np.sqrt(distance[-1]) * closeness)
