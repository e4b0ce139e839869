# SPDX-License-Identifier: Apache-2.0
"""Coarse-to-fine tracking over the smooth scene."""

from dataclasses import replace

import numpy as np
import pytest
from smooth_scene import SmoothScene, small_view

from prism_vo import se3
from prism_vo.config import TrackConfig
from prism_vo.tracking.align import Alignment
from prism_vo.tracking.brightness import Brightness
from prism_vo.tracking.motion import Motion
from prism_vo.tracking.reference import KeyframeDepth, Reference, dilate
from prism_vo.tracking.tracker import Tracker, _Hypothesis
from prism_vo.types import DecodedFrame, Frame

VIEW, SCENE = small_view(256, 192, 320.0), SmoothScene.build(2, finest=0.1)


def setting(scene: SmoothScene = SCENE, every: int = 5) -> tuple[Tracker, Reference]:
    tracker = Tracker(VIEW, TrackConfig())
    image, q = scene.image(VIEW, np.eye(4))
    known = np.zeros(image.shape, bool)
    known[6:-6:every, 6:-6:every] = True
    depth = np.where(known, q, np.nan).astype(np.float32)
    variance = np.where(known, 1e-6, np.inf).astype(np.float32)
    keyframe = KeyframeDepth(7, np.eye(4), np.zeros(2), 1.0, VIEW.image_plane, image, depth, variance)
    return tracker, tracker.reference(keyframe)


def pyramid(pose: np.ndarray, gain: float = 1.0, offset: float = 0.0) -> list[np.ndarray]:
    image, _ = SCENE.image(VIEW, pose)
    return Tracker(VIEW, TrackConfig()).pyramid((gain * image + offset).astype(np.float32))


def frame_of(image: np.ndarray, exposure: float | None = None) -> Frame:
    focused = DecodedFrame(1, 0.1, VIEW, image, None, None, None, exposure)
    return Frame.of(focused, focused, Tracker(VIEW, TrackConfig()).pyramid(image))


@pytest.mark.parametrize(
    "motion", [[0.06, 0.02, 0.0, 0, 0, 0], [0.0, 0.0, -0.1, 0, 0, 0.02], [0.02, 0, 0.03, 0.01, -0.02, -0.01]]
)
def test_motions_of_several_pixels_are_found_from_rest(motion: list[float]) -> None:
    tracker, reference = setting()
    pose = se3.exp(np.array(motion))
    track = tracker.align(pyramid(pose, 1.15, 4.0), reference, [np.eye(4)], [Brightness()])
    error = se3.log(track.T_frame_ref @ se3.inverse(pose))
    assert track.ok
    assert np.linalg.norm(error[:3]) < 1e-3 and np.linalg.norm(error[3:]) < 1e-3
    assert track.brightness.gain == pytest.approx(1.15, rel=0.01)
    assert track.flow > 5.0


def test_the_best_of_several_guesses_wins() -> None:
    tracker, reference = setting()
    pose = se3.exp(np.array([0.1, 0.0, 0.0, 0, 0.15, 0]))
    guesses = [
        np.eye(4),
        se3.exp(np.array([0, 0, 0, 0.2, 0, 0.1])),
        se3.exp(np.array([0.09, 0, 0, 0, 0.14, 0])),
    ]
    track = tracker.align(pyramid(pose), reference, guesses, [Brightness()])
    assert track.ok
    assert np.linalg.norm(se3.log(track.T_frame_ref @ se3.inverse(pose))) < 2e-3


@pytest.mark.parametrize("kind", ["black", "white", "noise", "another place"])
def test_images_that_show_something_else_are_not_tracked(kind: str) -> None:
    tracker, reference = setting()
    shape = (VIEW.height, VIEW.width)
    images = {
        "black": np.zeros(shape),
        "white": np.full(shape, 255.0),
        "noise": np.random.default_rng(0).uniform(0, 255, shape),
        "another place": SmoothScene.build(77, finest=0.1).image(VIEW, np.eye(4))[0],
    }
    image = images[kind].astype(np.float32)
    guesses = Motion().guesses(reference.T_view_world, rotations=True)
    assert not tracker.align(tracker.pyramid(image), reference, guesses, [Brightness()]).ok
    assert not tracker.track(frame_of(image), reference, Motion()).ok


def test_a_dull_image_of_something_else_is_not_tracked_although_every_residual_is_small() -> None:
    """Contrast of 6 grey: all residuals stay below the cutoff, only the correlation can tell."""
    scene, other = (SmoothScene.build(seed, finest=0.1, contrast=6.0) for seed in (2, 77))
    tracker, reference = setting(scene)
    same, foreign = (
        tracker.align(tracker.pyramid(s.image(VIEW, np.eye(4))[0]), reference, [np.eye(4)], [Brightness()])
        for s in (scene, other)
    )
    assert same.ok and not foreign.ok
    assert foreign.inliers > 0.9


def test_flow_separates_rotation_from_translation() -> None:
    tracker, reference = setting()
    angle = 0.02
    both, alone = tracker.flow(se3.exp(np.array([0, 0, 0, 0, angle, 0])), reference)
    assert alone == pytest.approx(0.0, abs=1e-9)
    assert both == pytest.approx(angle * 640.0, rel=0.1)  # focal length at 512 px width
    both, alone = tracker.flow(se3.exp(np.array([0.03, 0, 0, 0, 0, 0])), reference)
    assert both == pytest.approx(alone) and both == pytest.approx(0.03 / 1.5 * 640.0, rel=0.15)


def test_a_moving_camera_is_followed_from_its_last_pose() -> None:
    """Reference elsewhere in the world than at its origin: poses and brightness come out absolute."""
    tracker, reference = setting()
    here = se3.exp(np.array([0.4, -0.2, 0.1, 0.1, 0.2, -0.3]))
    reference = replace(reference, T_view_world=here, affine=np.array([0.2, 3.0]), exposure=0.01)
    step = se3.exp(np.array([0.02, 0.0, 0.0, 0.0, 0.01, 0.0]))
    motion = Motion(step @ here, step, exposure=0.01)
    image = (1.5 * SCENE.image(VIEW, step @ step)[0] + 4.0).astype(np.float32)
    frame = frame_of(image, exposure=0.015)
    track = tracker.track(frame, reference, motion)
    assert track.ok
    assert np.linalg.norm(se3.log(track.T_frame_ref @ se3.inverse(step @ step))) < 2e-3
    assert track.brightness.gain == pytest.approx(1.5, rel=0.01)
    posed = reference.place(frame, track.T_frame_ref, track.brightness)
    np.testing.assert_allclose(posed.T_view_world, track.T_frame_ref @ here, atol=1e-9)
    assert posed.affine[0] == pytest.approx(0.2, abs=0.01)  # the exposure times explain all of the gain
    assert posed.affine[1] == pytest.approx(track.brightness.offset + track.brightness.gain * 3.0)


def test_a_turn_that_no_motion_foretold_is_found_by_the_wider_guesses() -> None:
    tracker, reference = setting()
    turn = se3.exp(np.array([0.0, 0.0, 0.0, 0.0, 0.1, 0.0]))
    frame = frame_of(SCENE.image(VIEW, turn)[0])
    plain = Motion().guesses(reference.T_view_world, rotations=False)
    assert not tracker.align(frame.pyramid, reference, plain, [Brightness()]).ok
    track = tracker.track(frame, reference, Motion())
    assert track.ok
    assert np.linalg.norm(se3.log(track.T_frame_ref @ se3.inverse(turn))) < 2e-3


@pytest.mark.parametrize(("share", "stays"), [(0.55, True), (0.3, False)])
def test_a_part_of_the_image_that_fits_elsewhere_takes_no_more_than_its_part(
    share: float, stays: bool
) -> None:
    """The rest shows the scene from another place, and fits there with less of a residual."""
    tracker, reference = setting()
    here, there = (se3.exp(np.array([x, 0, 0, 0, 0, 0])) for x in (0.01, 0.08))
    found = [
        _Hypothesis(Alignment(pose, rms, 1.0, 0.8, np.eye(6), True), Brightness(zones=zones))
        for pose, rms, zones in ((there, 8.0, 0.45), (here, 9.0, share + 0.2))
    ]
    chosen = tracker._where_most_agrees(found[0], found, np.eye(4), reference)
    assert (chosen is found[1]) == stays


def test_neighbours_of_known_pixels_get_their_depth_less_certain() -> None:
    depth, variance = np.full((7, 7), np.nan, np.float32), np.full((7, 7), np.inf, np.float32)
    depth[3, 3], variance[3, 3] = 0.5, 1e-4
    wide, spread = dilate(depth, variance)
    assert wide[3, 3] == 0.5 and spread[3, 3] == np.float32(1e-4)
    for y, x in ((2, 3), (4, 3), (3, 2), (3, 4)):
        assert wide[y, x] == 0.5 and spread[y, x] > 1e-4
    assert np.isinf(spread).sum() == 49 - 5
