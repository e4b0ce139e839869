# SPDX-License-Identifier: Apache-2.0
"""Frames of the first keyframes: their poses follow what is learnt about the first, coarse depths."""

import numpy as np
from decoded_frames import CAMERA, VIEW, wall

from prism_vo import se3
from prism_vo.odometry import Odometry
from prism_vo.sensor import DecodedSensor

FALSE = np.array([0.01, 0.0, 0.0, 0.0, 0.006, 0.0])  # a translation, and the rotation that it looks like


def test_a_false_first_pose_is_mended_although_no_keyframe_moves() -> None:
    frames, truth = wall(16)
    odometry = Odometry(CAMERA, sensor=DecodedSensor(VIEW))
    spoilt = None
    for frame in frames:
        odometry(frame)
        if spoilt is None and odometry.map.unrefined.refined:
            placed = odometry.map.unrefined.refined[0].placed
            placed.T_frame_ref = se3.exp(FALSE) @ placed.T_frame_ref
            spoilt = placed.time
            assert odometry.window.is_filling
    odometry.finish()
    assert spoilt is not None and not odometry.window.is_filling
    assert odometry.window.is_learning is not odometry.window.focus_is_settled
    odometry.window.focus_has_moved = True
    assert odometry.window.is_learning
    ours = odometry.trajectory()
    n = int(np.argmin(np.abs(ours.times - spoilt)))
    true, found = (se3.inverse(poses[0]) @ poses[n] for poses in (truth, ours.poses))
    assert np.linalg.norm(true[:3, 3] - found[:3, 3]) < 5e-4
