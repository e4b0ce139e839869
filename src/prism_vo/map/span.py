# SPDX-License-Identifier: Apache-2.0
"""The way between two keyframes, which the frames between them follow when it changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array

SHORTEST = 1e-12  # m²: below it a way has no direction


@dataclass(frozen=True)
class Span:
    """From the keyframe before a frame to the one after it, as it was when the frame was located.

    What is learnt later (a better focus, a place seen again) moves the second keyframe against the first, and the
    frame with it by its share of the way. Without that, a path whose scale becomes better by 1 % has frames that lie
    1 % of the way beside it, ten times as much as its keyframes.
    """

    next: int  # id of the keyframe after the frame
    T_next_ref: Array

    @classmethod
    def after(cls, ref: int, poses: Mapping[int, Array]) -> Span | None:
        """From a keyframe to the first one after it, by their ids, as they are now; None: there is none."""
        later = [k for k in poses if k > ref]
        if ref not in poses or not later:
            return None
        return cls(min(later), poses[min(later)] @ se3.inverse(poses[ref]))

    def change(self, ref: int, poses: Mapping[int, Array]) -> Array | None:
        """ξ (6,) by which the next keyframe moved against ``ref`` since; None: one of them is not known."""
        if ref not in poses or self.next not in poses:
            return None
        now = poses[self.next] @ se3.inverse(poses[ref])
        return se3.log(se3.renormalised(now @ se3.inverse(self.T_next_ref)))

    def length(self) -> float:
        """Of the way in the units of a tangent, m and rad."""
        return float(np.linalg.norm(se3.log(se3.renormalised(self.T_next_ref))))

    def followed(self, T_frame_ref: Array, change: Array) -> Array:
        """The frame after the next keyframe has moved by ``change``: it moves by its share of the way."""
        way, own = se3.inverse(self.T_next_ref)[:3, 3], se3.inverse(T_frame_ref)[:3, 3]
        share = float(np.clip(own @ way / max(float(way @ way), SHORTEST), 0.0, 1.0))
        carried = se3.adjoint(T_frame_ref @ se3.inverse(self.T_next_ref)) @ change
        return se3.renormalised(se3.exp(share * carried) @ T_frame_ref)

    def scaled(self, factor: float) -> Span:
        """The lengths around it were wrong by a factor."""
        return Span(self.next, se3.scaled(self.T_next_ref, np.zeros(3), factor))
