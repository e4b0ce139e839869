# SPDX-License-Identifier: Apache-2.0
"""Neighbours found by cells are those found by looking at all pixels."""

import numpy as np
import pytest

from prism_vo.points.neighbours import about_as_many, count_near, nearest


def some_pixels(count: int, seed: int) -> np.ndarray:
    """Spread unevenly, some of them equally far from others, none twice."""
    rng = np.random.default_rng(seed)
    crowd = rng.normal(60, 8, (count, 2))
    xy = np.where(rng.random((count, 1)) < 0.5, crowd, rng.uniform(0, 300, (count, 2)))
    return np.unique(np.clip(xy, 0, 299).astype(np.int32), axis=0)


@pytest.mark.parametrize("count", [1, 5, 60, 900])
@pytest.mark.parametrize("reach", [0, 4, 40])
def test_pixels_in_the_square_about_each_are_counted(count: int, reach: int) -> None:
    xy = some_pixels(count, count)
    apart = np.abs(xy[:, None] - xy[None]).max(-1)
    np.testing.assert_array_equal(count_near(xy, reach), (apart <= reach).sum(1))


@pytest.mark.parametrize("count", [41, 300, 900])
def test_the_nearest_are_found_in_their_order(count: int) -> None:
    xy = some_pixels(count, 7 + count)
    which = np.arange(0, len(xy), 3)
    wanted = np.random.default_rng(count).integers(1, 41, len(which))
    found = nearest(xy, xy[which], wanted)
    away = ((xy[which, None].astype(int) - xy[None]) ** 2).sum(-1)
    expected = np.argsort(away, axis=1, kind="stable")
    for row, best, number in zip(found, expected, wanted):
        np.testing.assert_array_equal(row[:number], best[:number])
        assert (row[number:] == -1).all()


def test_more_than_there_are_leave_room() -> None:
    xy = np.array([[3, 4], [10, 4]], np.int32)
    assert nearest(xy, xy[1:], np.array([4])).tolist() == [[1, 0, -1, -1]]


def test_a_circle_has_about_as_many_as_wanted_and_none_farther_than_those_outside() -> None:
    xy = some_pixels(3000, 5)
    places, wanted = xy[::100], np.full(len(xy[::100]), 200)
    away = np.hypot(*(places[:, None].astype(float) - xy[None]).transpose(2, 0, 1))
    for row, distance in zip(about_as_many(xy, places, wanted), away):
        found = row[row >= 0]
        assert len(np.unique(found)) == len(found) > 40
        others = np.delete(distance, found)
        assert distance[found].max() <= others.min() + 1e-9
    assert 120 < np.median([(row >= 0).sum() for row in about_as_many(xy, places, wanted)]) < 300


def test_a_place_far_from_a_crowd_has_its_nearest_whichever_way_the_image_is_turned() -> None:
    """A circle sized for its own empty corner holds the whole crowd, whose upper rows came first."""
    crowd, alone = some_pixels(2000, 3), np.array([150, 700], np.int32)
    for turned in (False, True):
        xy = np.vstack([crowd, alone]).astype(np.int32)
        xy[:, 1] = 800 - xy[:, 1] if turned else xy[:, 1]
        (found,) = about_as_many(xy, xy[-1:], np.array([60]))
        found = found[found >= 0]
        away = ((xy - xy[-1]) ** 2).sum(1)
        assert len(xy) - 1 in found and away[found].max() <= np.delete(away, found).min()


def test_fewer_than_wanted_are_all_of_them() -> None:
    xy = np.array([[3, 4], [10, 4]], np.int32)
    assert sorted(about_as_many(xy, xy[1:], np.array([9]))[0])[-2:] == [0, 1]
