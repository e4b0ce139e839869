# SPDX-License-Identifier: Apache-2.0
"""The pose of a frame that is no keyframe, from the patterns of all active points in their own host keyframes.

This is the keyframe's share of the bundle adjustment with everything else held: unlike an alignment with one reference
image it averages the noise of all hosts, and uses each depth where it was optimised.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.mapping.energy import State, WindowEnergy, settle_borders
from prism_vo.mapping.marginal import Prior
from prism_vo.mapping.residuals import BLOCK, IN, NONE, OUTLIER


def locate(energy: WindowEnergy, state: State, iterations: int) -> Array | None:
    """T_view_world of the last frame of ``state`` (which holds no points); None if it cannot be determined."""
    frames = len(energy.slots)
    last = slice(BLOCK * (frames - 1), BLOCK * (frames - 1) + 6)
    only_last = np.full((len(energy.points), frames), NONE, np.int8)
    only_last[:, -1] = IN
    points = replace(energy.points, state=only_last, information=np.zeros(len(energy.points)))
    size = BLOCK * frames
    energy = replace(energy, points=points, prior=Prior(np.zeros((size, size)), np.zeros(size)))
    energy, now, _ = settle_borders(energy, state)
    damping = 1e-4
    for _ in range(iterations):
        h, b = now.system.h_frames[last, last], now.system.b_frames[last]
        scale = 1.0 / np.sqrt(np.maximum(np.diag(h), 1e-30))
        try:
            step = -scale * np.linalg.solve(
                h * scale[:, None] * scale[None, :] + damping * np.eye(6), scale * b
            )
        except np.linalg.LinAlgError:
            return None
        poses = state.base_pose.copy()
        poses[-1] = se3.renormalised(se3.exp(step) @ poses[-1])
        trial_state = replace(state, base_pose=poses)
        trial = energy.linearize(trial_state)
        if trial.system.energy < now.system.energy:
            state, now, damping = trial_state, trial, max(damping * 0.1, 1e-8)
            energy = replace(energy, outside_cost=energy.gated(trial.energies))
            if np.linalg.norm(step[:3]) < 1e-5 and np.linalg.norm(step[3:]) < 1e-5:
                break
        else:
            damping = max(damping * 10.0, 1e-3)
            if damping > 10.0:
                break
    seen = (now.state[:, -1] == IN).sum()
    counted = seen + (now.state[:, -1] == OUTLIER).sum()
    return state.base_pose[-1] if seen > 100 and seen > 0.5 * counted else None
