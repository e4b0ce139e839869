# SPDX-License-Identifier: Apache-2.0
"""A map that grows: every point appears once, with the first keyframe that looked at it."""

from __future__ import annotations

import numpy as np

from prism_vo import se3
from prism_vo.cloud import PointCloud
from prism_vo.optics.view import FocusedView
from prism_vo.trajectory import Trajectory
from prism_vo.view.replay_frames import first_seen

VIEW = FocusedView("central", 100, 100, 100.0, 50.0, 50.0, 0.0, 2.0, 0.5, 0.02, 0.98)


def test_points_come_with_the_first_keyframe_that_sees_them() -> None:
    ahead, right, behind = [0, 0, 1], [1, 0, 0], [0, 0, -1]
    cloud = PointCloud(np.array([ahead, right, behind, ahead], np.float32))
    turned = se3.exp(np.array([0, 0, 0, 0, np.pi / 2, 0]))
    keyframes = Trajectory(np.arange(3.0), np.stack([np.eye(4), np.eye(4), turned]))
    parts = first_seen(cloud, keyframes, VIEW)
    assert [part.tolist() for part in parts] == [[0, 3], [], [1, 2]]  # what nobody saw comes last
