# SPDX-License-Identifier: Apache-2.0
"""Epipolar search over exact images."""

import numpy as np
import pytest
from smooth_scene import SmoothScene, small_view

from prism_vo import se3
from prism_vo.config import WindowConfig
from prism_vo.points.pattern import pattern_at
from prism_vo.points.records import DEPTH_USED, Candidates, HostFrames
from prism_vo.points.trace import (
    FOUND,
    OUTSIDE,
    SKIPPED,
    HostViews,
    Searched,
    SearchLimits,
    trace_candidates,
    trace_points,
)
from prism_vo.tracking.pyramid import image_pyramid
from prism_vo.types import DecodedFrame, Frame, PosedFrame

VIEW, SCENE = small_view(192, 160, 240.0), SmoothScene.build(3, finest=0.08)
HOST = image_pyramid(SCENE.image(VIEW, np.eye(4))[0], 1)[0]
MOTION = se3.exp(np.array([-0.08, 0.02, 0.01, 0.0, 0.01, 0.01]))


def search(
    low: float,
    high: float,
    motion: np.ndarray = MOTION,
    gain: float = 1.0,
    offset: float = 0.0,
    each: int = 300,
):
    """(result, inverse depth, low, high, quality, truth, gradient share along the line) of random pixels."""
    rng = np.random.default_rng(0)
    u = rng.integers(30, VIEW.width - 30, each).astype(np.float32)
    v = rng.integers(30, VIEW.height - 30, each).astype(np.float32)
    truth = SCENE.see(VIEW, np.eye(4), u.astype(float), v.astype(float))[1]
    image = SCENE.image(VIEW, motion)[0]
    frame = image_pyramid((gain * image + offset).astype(np.float32), 1)[0]
    color, _ = pattern_at(HOST, u, v, 50.0)
    lows, highs = (truth * low).copy(), (truth * high).copy()
    depth, quality, result = np.full(each, np.nan), np.zeros(each, np.float32), np.empty(each, np.int8)
    f = np.float32
    trace_points(
        frame,
        VIEW.image_plane.intrinsics,
        HostViews(
            np.ascontiguousarray(motion[None, :3, :3], f),
            np.ascontiguousarray(motion[None, :3, 3], f),
            np.array([[gain, offset]], f),
        ),
        Searched(np.zeros(each, np.int32), u, v, color, depth, lows, highs, quality),
        SearchLimits(10.0, 0.1 * (VIEW.width + VIEW.height), f(9.0)),
        result,
    )
    return result, depth, lows, highs, quality, truth


@pytest.mark.parametrize("gain, offset", [(1.0, 0.0), (1.2, -5.0)])
def test_the_true_depth_is_found_and_lies_in_the_new_interval(gain: float, offset: float) -> None:
    result, depth, low, high, quality, truth = search(0.6, 1.5, gain=gain, offset=offset)
    found = result == FOUND
    assert found.mean() > 0.6
    inside = (low <= truth) & (truth <= high)
    assert inside[found].mean() > 0.95
    sure = found & (quality > 3.0)
    assert sure.sum() > 100
    assert np.median(np.abs(depth / truth - 1)[sure]) < 0.02
    assert np.all(low[found] < high[found])
    assert np.median((high - low)[sure]) < 0.3 * np.median(0.9 * truth)  # narrower than what it was given


def test_the_whole_ray_can_be_searched() -> None:
    result, depth, _, _, quality, truth = search(0.0, np.nan)
    sure = (result == FOUND) & (quality > 3.0)
    assert sure.sum() > 50
    assert (np.abs(depth / truth - 1)[sure] < 0.1).mean() > 0.8


def test_an_interval_shorter_than_a_pixel_and_a_half_is_left_alone() -> None:
    result, depth, low, high, _, truth = search(0.97, 1.03)
    assert (result == SKIPPED).all()
    assert np.isnan(depth).all()
    np.testing.assert_array_equal(low, truth * 0.97)
    np.testing.assert_array_equal(high, truth * 1.03)


def test_points_out_of_view_or_behind_are_reported() -> None:
    assert (search(0.5, 2.0, motion=se3.exp(np.array([0.3, 0, 0, 0, 1.2, 0])))[0] == OUTSIDE).all()
    assert (search(0.5, 2.0, motion=se3.exp(np.array([0, 0, -9.0, 0, 0, 0])))[0] == OUTSIDE).all()


def test_repetition_gives_a_low_quality() -> None:
    """On stripes along which the match slides to the next period, second best is as good as best."""
    wave = 120 + 60 * np.sin(2 * np.pi * np.arange(VIEW.width) / 8.0)
    stripes = np.tile(wave, (VIEW.height, 1)).astype(np.float32)
    host = image_pyramid(stripes, 1)[0]
    u = np.arange(60, 130, dtype=np.float32)
    v = np.full(len(u), 80, np.float32)
    color, _ = pattern_at(host, u, v, 50.0)
    n, f = len(u), np.float32
    depth, quality, result = np.full(n, np.nan), np.zeros(n, f), np.empty(n, np.int8)
    trace_points(
        host,
        VIEW.image_plane.intrinsics,
        HostViews(np.eye(3, dtype=f)[None], np.array([[-0.15, 0, 0]], f), np.array([[1, 0]], f)),
        Searched(np.zeros(n, np.int32), u, v, color, depth, np.full(n, 0.0), np.full(n, 1.2), quality),
        SearchLimits(10.0, 60.0, f(9.0)),
        result,
    )
    assert (result == FOUND).mean() > 0.5
    assert (quality[result == FOUND] < 3.0).all()


def posed(motion: np.ndarray) -> PosedFrame:
    image = image_pyramid(SCENE.image(VIEW, motion)[0], 1)[0]
    focused = DecodedFrame(1, 0.1, VIEW, image, None, None, None)
    return PosedFrame(Frame.of(focused, focused, [image]), motion, np.zeros(2))


def candidates(beside: float, count: int = 400) -> tuple[Candidates, np.ndarray]:
    """Intervals that end ``beside`` their truth, narrower than what the own measurement leaves open."""
    rng = np.random.default_rng(1)
    u, v = (rng.integers(30, side - 30, count).astype(np.float32) for side in (VIEW.width, VIEW.height))
    truth = SCENE.see(VIEW, np.eye(4), u.astype(float), v.astype(float))[1]
    color, weight = pattern_at(HOST, u, v, 50.0)
    nothing = np.zeros(count)
    known = Candidates(
        host=np.zeros(count, np.int32),
        u=u,
        v=v,
        inv_depth=truth * (beside + 0.2),
        measured=nothing,
        information=nothing,
        kind=np.full(count, DEPTH_USED),
        color=color,
        weight=weight,
        low=truth * beside,
        high=truth * (beside + 0.4),
        quality=np.zeros(count, np.float32),
        failures=np.zeros(count, np.int8),
        widest_low=truth * 0.4,
        widest_high=truth * (beside + 0.4),
    )
    return known, truth


def test_what_is_not_found_is_searched_for_within_all_that_its_own_depth_leaves_open() -> None:
    """Else the fate of a point would hang on whether its own noise points towards its neighbours."""
    hosts = HostFrames(np.eye(4)[None], np.zeros((1, 2)), np.ones(1))
    known, truth = candidates(beside=1.8)
    once = trace_candidates(VIEW.image_plane, hosts, known, posed(MOTION), WindowConfig())
    assert len(once) == len(known)
    failed = once.failures == 1
    assert failed.sum() > 100  # the others match something in their interval
    np.testing.assert_array_equal(once.low[failed], known.widest_low[failed])
    np.testing.assert_array_equal(once.high[failed], known.widest_high[failed])
    twice = trace_candidates(VIEW.image_plane, hosts, once, posed(MOTION), WindowConfig())
    found = failed & (twice.failures == 0)
    assert found.sum() > 0.8 * failed.sum()
    assert (np.abs(twice.inv_depth / truth - 1)[found] < 0.05).mean() > 0.8
