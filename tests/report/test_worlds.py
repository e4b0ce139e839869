# SPDX-License-Identifier: Apache-2.0
"""Of a recording that fell into parts the report shows one world, and says so."""

import numpy as np

from prism_vo.trajectory import Trajectory


def path(segments: list[int]) -> Trajectory:
    poses = np.tile(np.eye(4), (len(segments), 1, 1))
    poses[:, 0, 3] = np.arange(len(segments))
    return Trajectory(np.arange(len(segments), dtype=float), poses, np.array(segments, np.int32))


def test_the_world_with_most_keyframes_is_shown() -> None:
    keyframes, frames = path([0, 0, 1, 1, 1]), path([0] * 9 + [1] * 6)
    assert keyframes.largest_segment == 1
    poses = frames.in_segment(keyframes.largest_segment)
    assert len(keyframes.in_segment(1)) == 3 and len(poses) == 6
    assert poses.positions[0, 0] == 9.0


def test_one_world_is_shown_whole() -> None:
    keyframes = path([0, 0, 0])
    assert keyframes.largest_segment is None
    assert keyframes.in_segment(None) is keyframes
