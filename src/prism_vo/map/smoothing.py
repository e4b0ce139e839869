# SPDX-License-Identifier: Apache-2.0
"""Keyframes that left the window still profit from what is learnt later: back-substitution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.window.conditional import ConditionalPoses

NOT_ESTIMATED: Mapping[int, Array] = {}


def smoothed(
    poses: dict[int, Array],
    conditionals: Sequence[ConditionalPoses],
    cameras: Mapping[int, Array] = NOT_ESTIMATED,
) -> dict[int, Array]:
    """Final T_view_world of all keyframes, those that left moved along with what was learnt since.

    ``cameras``: final numbers of the camera, by the first keyframe that was taken with them.
    """
    out = dict(poses)
    for d in reversed(conditionals):
        change = np.concatenate(
            [se3.log(se3.renormalised(out[k] @ se3.inverse(p))) for k, p in zip(d.stayed, d.stayed_poses)]
        )
        since = max((first for first in cameras if first <= max(d.left)), default=None)
        camera = d.camera if since is None else cameras[since]
        follow = (d.gain @ change + d.camera_gain @ (camera - d.camera)).reshape(-1, 6)
        for k, pose, delta in zip(d.left, d.left_poses, follow):
            out[k] = se3.renormalised(se3.exp(delta) @ pose)
    return out
