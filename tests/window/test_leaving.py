# SPDX-License-Identifier: Apache-2.0
"""Which keyframes leave the window, and what happens to the rest."""

from dataclasses import replace

import numpy as np
import pytest
from exact_windows import exact_window, keyframes_along

from prism_vo.points.pattern import IN, NONE, OUTSIDE
from prism_vo.points.records import Points
from prism_vo.window.leaving import choose_leaving


def seen_points(count: int, each: int = 40) -> Points:
    """Points of every keyframe, all of them seen in all others."""
    points = exact_window(count=3, each=each).points
    base = points.take(np.zeros(count * each, dtype=np.intp))
    host = np.repeat(np.arange(count, dtype=np.int32), each)
    status = np.full((count * each, count), IN, np.int8)
    status[np.arange(len(host)), host] = NONE
    return replace(base, host=host, residual_status=status)


def test_nobody_leaves_a_window_with_room() -> None:
    assert choose_leaving(keyframes_along([0, 1, 2, 3]), seen_points(4), 7) == []


def test_a_keyframe_hardly_seen_any_more_leaves() -> None:
    points = seen_points(5)
    status = points.residual_status.copy()
    own = np.flatnonzero(points.host == 1)
    status[own, -1] = OUTSIDE
    status[own[:1], -1] = IN  # 1 of 40: below 5 %
    assert choose_leaving(keyframes_along([0, 1, 2, 3, 4]), replace(points, residual_status=status), 7) == [1]
    status[own[:3], -1] = IN
    assert choose_leaving(keyframes_along([0, 1, 2, 3, 4]), replace(points, residual_status=status), 7) == []


def test_a_keyframe_of_another_brightness_leaves() -> None:
    frames = keyframes_along([0, 1, 2, 3, 4])
    frames[2] = replace(frames[2], base_affine=np.array([2.2, 0.0]))
    assert choose_leaving(frames, seen_points(5), 7) == [2]


def test_the_two_newest_always_stay() -> None:
    points = seen_points(5)
    status = np.where(points.residual_status == IN, OUTSIDE, points.residual_status)
    leaving = choose_leaving(keyframes_along([0, 1, 2, 3, 4]), replace(points, residual_status=status), 7)
    assert not {3, 4} & set(leaving)
    assert 5 - len(leaving) >= 3


def test_a_full_window_loses_the_one_among_others_far_from_the_newest() -> None:
    places = [0.0, 3.0, 3.05, 3.1, 6.0, 8.0, 9.0, 10.0]
    assert choose_leaving(keyframes_along(places), seen_points(8), 7) == [2]
    assert len(choose_leaving(keyframes_along(places), seen_points(8), 6)) == 2


@pytest.mark.parametrize("position", [0, 2, 3])
def test_points_close_the_gap_of_a_keyframe(position: int) -> None:
    points = seen_points(4)
    rest = points.take(points.host != position)
    closed = rest.without_keyframe(position)
    assert closed.residual_status.shape[1] == 3
    assert sorted(set(closed.host.tolist())) == [0, 1, 2]
    own = closed.residual_status[np.arange(len(closed)), closed.host]
    assert (own == NONE).all()  # a point still has no residual to its host
