# SPDX-License-Identifier: Apache-2.0
"""Coarse-to-fine tracking over the smooth scene."""

import numpy as np
import pytest
from smooth_scene import SmoothScene, small_view

from prism_vo import se3
from prism_vo.config import TrackConfig
from prism_vo.tracking.brightness import Brightness
from prism_vo.tracking.pyramid import image_pyramid
from prism_vo.tracking.tracker import Reference, Tracker, dilate, motion_guesses

VIEW, SCENE = small_view(256, 192, 320.0), SmoothScene.build(2, finest=0.1)


def setting(every: int = 5) -> tuple[Tracker, Reference]:
    tracker = Tracker(VIEW, TrackConfig())
    image, q = SCENE.image(VIEW, np.eye(4))
    known = np.zeros(image.shape, bool)
    known[6:-6:every, 6:-6:every] = True
    depth = np.where(known, q, np.nan).astype(np.float32)
    variance = np.where(known, 1e-6, np.inf).astype(np.float32)
    return tracker, tracker.reference(7, image_pyramid(image, tracker.count), depth, variance)


def frame(pose: np.ndarray, gain: float = 1.0, offset: float = 0.0) -> list[np.ndarray]:
    image, _ = SCENE.image(VIEW, pose)
    return image_pyramid((gain * image + offset).astype(np.float32), Tracker(VIEW, TrackConfig()).count)


@pytest.mark.parametrize(
    "motion", [[0.06, 0.02, 0.0, 0, 0, 0], [0.0, 0.0, -0.1, 0, 0, 0.02], [0.02, 0, 0.03, 0.01, -0.02, -0.01]]
)
def test_motions_of_several_pixels_are_found_from_rest(motion: list[float]) -> None:
    tracker, reference = setting()
    pose = se3.exp(np.array(motion))
    track = tracker.track(frame(pose, 1.15, 4.0), reference, [np.eye(4)], Brightness())
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
    track = tracker.track(frame(pose), reference, guesses, Brightness())
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
    pyramid = image_pyramid(images[kind].astype(np.float32), tracker.count)
    guesses = motion_guesses(np.eye(4), np.eye(4), rotations=True)
    assert not tracker.track(pyramid, reference, guesses, Brightness()).ok


def test_a_dull_image_of_something_else_is_not_tracked_although_every_residual_is_small() -> None:
    """Contrast of 6 grey: all residuals stay below the cutoff, only the correlation can tell."""
    scene, other = (SmoothScene.build(seed, finest=0.1, contrast=6.0) for seed in (2, 77))
    tracker = Tracker(VIEW, TrackConfig())
    image, q = scene.image(VIEW, np.eye(4))
    known = np.zeros(image.shape, bool)
    known[6:-6:5, 6:-6:5] = True
    reference = tracker.reference(
        0, image_pyramid(image, tracker.count), np.where(known, q, np.nan).astype(np.float32),
        np.where(known, 1e-6, np.inf).astype(np.float32),
    )  # fmt: skip
    same, foreign = (
        tracker.track(
            image_pyramid(s.image(VIEW, np.eye(4))[0], tracker.count), reference, [np.eye(4)], Brightness()
        )
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


def test_motion_guesses_hold_the_constant_motion_and_rest() -> None:
    previous, step = se3.exp(np.array([0.1, 0, 0, 0, 0, 0.1])), se3.exp(np.array([0.02, 0.01, 0, 0.01, 0, 0]))
    guesses = motion_guesses(previous, step, rotations=False)
    np.testing.assert_allclose(guesses[0], step @ previous)
    np.testing.assert_allclose(guesses[1], step @ step @ previous)
    half = guesses[2] @ se3.inverse(previous)
    np.testing.assert_allclose(half @ half, step, atol=1e-12)
    np.testing.assert_allclose(guesses[3], previous)
    assert len(motion_guesses(previous, step, rotations=True)) > len(guesses)


def test_neighbours_of_known_pixels_get_their_depth_less_certain() -> None:
    depth, variance = np.full((7, 7), np.nan, np.float32), np.full((7, 7), np.inf, np.float32)
    depth[3, 3], variance[3, 3] = 0.5, 1e-4
    wide, spread = dilate(depth, variance)
    assert wide[3, 3] == 0.5 and spread[3, 3] == np.float32(1e-4)
    for y, x in ((2, 3), (4, 3), (3, 2), (3, 4)):
        assert wide[y, x] == 0.5 and spread[y, x] > 1e-4
    assert np.isinf(spread).sum() == 49 - 5
