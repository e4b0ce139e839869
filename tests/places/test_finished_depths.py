# SPDX-License-Identifier: Apache-2.0
"""What the window finished before a keyframe left is part of what stays of the keyframe."""

import numpy as np
from smooth_scene import small_view

from prism_vo.places.finished_depths import FinishedDepths
from prism_vo.points.finished import FinishedPoints
from prism_vo.tracking.reference import KeyframeDepth

VIEW = small_view()


def finished(keyframes: list[int], u: list[float], inv_depth: float) -> FinishedPoints:
    n = len(u)
    row = np.full(n, 10.0, np.float32)
    return FinishedPoints(
        np.array(keyframes, np.int32),
        np.array(u, np.float32),
        row,
        np.full(n, inv_depth),
        np.full(n, 0.01),
        np.zeros((n, 3), np.uint8),
    )


def leaving(known: int) -> KeyframeDepth:
    depth, variance = np.full((96, 128), np.nan, np.float32), np.full((96, 128), np.inf, np.float32)
    depth[10, known], variance[10, known] = 0.5, 1e-4
    image = np.zeros((96, 128), np.float32)
    return KeyframeDepth(3, np.eye(4), np.zeros(2), 1.0, VIEW.image_plane, image, depth, variance)


def test_finished_points_fill_what_is_not_known_at_the_end() -> None:
    depths = FinishedDepths()
    depths.add(finished([3, 3, 4], [20.2, 30.0, 40.0], 0.25))
    depths.add(finished([3], [50.0], 0.2))
    whole = depths.taken_into(leaving(known=30))
    assert np.isfinite(whole.variance).sum() == 3  # 20, 50 and what was known at 30
    assert whole.inv_depth[10, 20] == np.float32(0.25) and whole.inv_depth[10, 50] == np.float32(0.2)
    assert whole.inv_depth[10, 30] == 0.5, "what is known at the end is better"
    assert set(depths.of) == {4}, "it is forgotten here"


def test_they_follow_a_change_of_all_lengths() -> None:
    depths = FinishedDepths()
    depths.add(finished([2, 3], [20.0, 20.0], 0.25))
    depths.scale(first=3, factor=2.0)
    whole = depths.taken_into(leaving(known=30))
    assert whole.inv_depth[10, 20] == np.float32(0.125)
    assert depths.of[2][0].inv_depth[0] == 0.25
