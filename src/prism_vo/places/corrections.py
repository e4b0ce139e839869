# SPDX-License-Identifier: Apache-2.0
"""What places seen again changed about the poses of keyframes. Odometry is never touched: this is applied when read."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array


@dataclass
class Corrections:
    """``T_view_map = T_view_odometry · T_odometry_map`` of every keyframe; those without one follow their segment."""

    T_odometry_map: dict[int, Array] = field(default_factory=dict)  # by keyframe
    segment_of: dict[int, int] = field(default_factory=dict)  # of every keyframe of the run, as it was begun
    joined: dict[int, int] = field(default_factory=dict)  # segment → the one it was joined to

    def of(self, keyframe: int) -> Array:
        """T_odometry_map of a keyframe: its own, or that of the newest one before it in its segment."""
        segment = self.segment_of.get(keyframe)
        known = [k for k in self.T_odometry_map if k <= keyframe and self.segment_of.get(k) == segment]
        return self.T_odometry_map[max(known)] if known else np.eye(4)

    def is_joined(self, segment: int) -> bool:
        """Whether a place seen again confirmed it: it hangs together with another one."""
        return any(segment in pair and pair[0] != pair[1] for pair in self.joined.items())

    def applied(self, poses: dict[int, Array]) -> dict[int, Array]:
        """T_view_world in the map, from those of odometry."""
        if not self.T_odometry_map:
            return poses
        last: dict[int | None, Array] = {}
        out = {}
        for keyframe in sorted(poses):
            segment = self.segment_of.get(keyframe)
            last[segment] = self.T_odometry_map.get(keyframe, last.get(segment, np.eye(4)))
            out[keyframe] = se3.renormalised(poses[keyframe] @ last[segment])
        return out
