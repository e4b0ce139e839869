# SPDX-License-Identifier: Apache-2.0
"""Frames between keyframes: kept relative to a keyframe, located again when that has been optimised."""

from dataclasses import replace

import numpy as np
from exact_windows import keyframes_along
from smooth_scene import small_view
from still_frames import still_frame

from prism_vo import se3
from prism_vo.map.unrefined import MOST, Unrefined
from prism_vo.map.world import Map, camera_pose
from prism_vo.tracking.brightness import ZoneAgreement
from prism_vo.types import PosedFrame, PosedImage
from prism_vo.window.keyframe import Keyframe
from prism_vo.window.locate import Located

VIEW = small_view()
AWAY = se3.exp(np.array([0.02, 0.01, 0.0, 0.0, 0.01, 0.0]))  # T_frame_ref


def between(index: int, keyframe: Keyframe) -> PosedFrame:
    frame = still_frame(VIEW, index, np.zeros((96, 128), np.float32))
    return PosedFrame(frame, AWAY @ keyframe.pose, np.zeros(2))


def recorded(count: int, keyframe: Keyframe) -> Map:
    world = Map()
    for index in range(count):
        world.record_between(between(index, keyframe), keyframe)
    return world


def moved(keyframe: Keyframe) -> Keyframe:
    """As a later optimisation would."""
    return replace(keyframe, base_pose=se3.exp(np.array([0.1, 0, 0.05, 0, 0.02, 0])) @ keyframe.base_pose)


def test_located_frames_are_kept_relative_to_the_optimised_keyframe() -> None:
    frames = keyframes_along([0.0, 0.3])
    world, optimised = recorded(3, frames[1]), moved(frames[1])
    better = se3.exp(np.array([1e-3, -2e-3, 0, 0, 0, 1e-3]))
    asked = []

    def locate(posed: PosedImage, covered: ZoneAgreement | None) -> Located:
        asked.append(posed)
        return Located(better @ posed.T_view_world, None)

    world.unrefined.refine([frames[0], optimised], locate)
    assert [posed.index for posed in asked[:3]] == [0, 1, 2]
    for placed, posed in zip(world.frames, asked):
        # the search starts where the frame has been carried to with its keyframe
        np.testing.assert_allclose(posed.T_view_world, AWAY @ optimised.pose, atol=1e-12)
        assert placed.keyframe == optimised.id
        np.testing.assert_allclose(placed.T_frame_ref, better @ AWAY, atol=1e-12)
    assert world.unrefined.waiting == []


def test_a_frame_that_is_not_found_keeps_its_place_beside_the_keyframe() -> None:
    frames = keyframes_along([0.0, 0.3])
    world = recorded(2, frames[1])
    world.unrefined.refine([moved(frames[1])], lambda posed, covered: None)
    for placed in world.frames:
        np.testing.assert_allclose(placed.T_frame_ref, AWAY, atol=1e-12)
    assert world.unrefined.waiting == []


def test_frames_are_located_again_when_their_keyframes_moved_against_each_other() -> None:
    frames = keyframes_along([0.0, 0.3])
    world = recorded(1, frames[0])
    half = se3.exp(0.5 * se3.log(frames[1].pose @ se3.inverse(frames[0].pose)))  # T_frame_ref, half way
    asked = []

    def locate(posed: PosedImage, covered: ZoneAgreement | None) -> Located:
        asked.append(posed.T_view_world)
        return Located(half @ frames[0].pose if len(asked) == 1 else posed.T_view_world, None)

    world.unrefined.refine(frames, locate, keep=True)
    world.unrefined.refine(frames, locate, keep=True)
    assert len(asked) == 1  # nothing has moved
    further = replace(frames[1], base_pose=keyframes_along([0.0, 0.6])[1].base_pose)
    world.unrefined.refine([frames[0], further], locate, keep=True)
    assert len(asked) == 2
    twice = se3.exp(0.5 * se3.log(further.pose @ se3.inverse(frames[0].pose)))
    np.testing.assert_allclose(world.frames[0].T_frame_ref, twice, atol=1e-9)  # its share of the way
    world.unrefined.refine([frames[0], further], locate)
    assert len(asked) == 2 and world.unrefined.refined == []


def test_frames_of_a_keyframe_that_left_are_not_asked_for() -> None:
    frames = keyframes_along([0.0, 0.3])
    world = recorded(2, frames[1])
    asked = []
    world.unrefined.refine([frames[0]], lambda posed, covered: asked.append(posed))
    assert asked == [] and world.unrefined.waiting == []
    np.testing.assert_allclose(world.frames[0].T_frame_ref, AWAY, atol=1e-12)


def test_a_camera_at_rest_keeps_the_newest_frames_only() -> None:
    frames = keyframes_along([0.0, 0.3])
    world = recorded(MOST + 5, frames[1])
    assert len(world.frames) == MOST + 5
    assert [each.posed.index for each in world.unrefined.waiting] == list(range(5, MOST + 5))


def test_frames_that_are_given_up_keep_their_tracked_poses() -> None:
    frames = keyframes_along([0.0, 0.3])
    world = recorded(3, frames[1])
    world.unrefined.clear()
    world.unrefined.refine([moved(frames[1])], lambda posed, covered: np.eye(4))
    for placed in world.frames:
        np.testing.assert_allclose(placed.T_frame_ref, AWAY, atol=1e-12)
    assert Unrefined().waiting == []


def test_keyframes_themselves_are_not_located_again() -> None:
    frames = keyframes_along([0.0, 0.3])
    world = Map()
    world.record(0.0, frames[0].pose, frames[0])
    assert len(world.frames) == 1 and world.unrefined.waiting == []
    np.testing.assert_allclose(world.frames[0].T_frame_ref, np.eye(4), atol=1e-12)


def test_the_trajectory_follows_the_final_keyframes() -> None:
    frames = keyframes_along([0.0, 0.3])
    world, optimised = recorded(1, frames[1]), moved(frames[1])
    world.follow(frames, 0)
    world.follow([optimised], 0)
    pose = world.trajectory(VIEW).poses[0]
    expected = se3.inverse(AWAY @ optimised.pose)  # the view of these tests sits at the camera's origin
    assert VIEW.z0 == 0.0
    np.testing.assert_allclose(pose, expected, atol=1e-9)
    assert world.keyframe_times == {0: 0.0, 1: 1.0}


def test_frames_follow_what_is_learnt_after_their_keyframes_left() -> None:
    """A better focus makes the way between two keyframes longer: the frame half way stays half way."""
    frames = keyframes_along([0.0, 0.3])
    world = recorded(1, frames[0])
    half = se3.exp(0.5 * se3.log(frames[1].pose @ se3.inverse(frames[0].pose)))
    found = Located(half @ frames[0].pose, None)
    world.follow(frames, segment=0)
    world.unrefined.refine(frames, lambda posed, covered: found)
    np.testing.assert_allclose(world.trajectory(VIEW).poses[0], camera_pose(VIEW, half @ frames[0].pose))
    longer = keyframes_along([0.0, 0.33])
    world.follow(longer, segment=0)  # they are not located again: as after smoothing
    twice = se3.exp(0.5 * se3.log(longer[1].pose @ se3.inverse(frames[0].pose))) @ frames[0].pose
    np.testing.assert_allclose(world.trajectory(VIEW).poses[0], camera_pose(VIEW, twice), atol=1e-9)


def test_a_frame_is_scaled_with_the_way_it_lies_on() -> None:
    frames = keyframes_along([0.0, 0.3])
    world = recorded(1, frames[0])
    world.unrefined.refine(frames, lambda posed, covered: None)
    placed = world.frames[0].scale(1.1)
    grown = {k.id: se3.scaled(k.pose, np.zeros(3), 1.1) for k in frames}
    expected = se3.scaled(AWAY, np.zeros(3), 1.1) @ grown[frames[0].id]
    np.testing.assert_allclose(placed.T_view_world(grown), expected, atol=1e-12)
