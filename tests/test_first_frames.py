# SPDX-License-Identifier: Apache-2.0
"""Frames of the first keyframes: their poses follow what is learnt about the first, coarse depths."""

from dataclasses import replace

import numpy as np
from decoded_frames import CAMERA, VIEW, FrameList, black_frame, wall

from prism_vo import se3
from prism_vo.following import NO_TEXTURE
from prism_vo.odometry import Odometry
from prism_vo.pipeline import run
from prism_vo.sensor import DecodedSensor
from prism_vo.tracking.depth_shares import NO_DEPTH

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


def test_a_map_with_little_depth_from_elsewhere_is_followed() -> None:
    """Its maker stands for it; what a decoder finds in an image of noise nobody does."""
    seen = np.random.default_rng(0).random((VIEW.height, VIEW.width)) < 0.08
    sparse = [replace(frame, valid=frame.valid & seen) for frame in wall(16)[0]]
    result = run(FrameList(sparse))
    assert result.lost == 0 and result.exit_code == 0
    sensor = DecodedSensor(VIEW)
    sensor.least_depth_share = 0.1
    report = Odometry(CAMERA, sensor=sensor)(sparse[0])
    assert report.status == "lost" and report.verdict is not None and report.verdict.contradiction == NO_DEPTH


def test_a_frame_that_no_map_begins_with_says_why() -> None:
    report = Odometry(CAMERA, sensor=DecodedSensor(VIEW))(black_frame(0))
    assert report.status == "lost" and report.verdict is not None
    assert report.verdict.contradiction == NO_TEXTURE
