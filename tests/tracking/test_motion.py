# SPDX-License-Identifier: Apache-2.0
"""What is known about the camera's motion, event by event."""

from dataclasses import replace

import numpy as np
import pytest
from smooth_scene import small_view
from still_frames import still_frame

from prism_vo import se3
from prism_vo.config import TrackConfig
from prism_vo.tracking.brightness import Brightness, ZoneAgreement
from prism_vo.tracking.motion import TRIED_ROTATIONS, Motion
from prism_vo.tracking.policy import (
    FARTHER,
    SURE_OF_SCALE,
    UNSURE_OF_SCALE,
    keyframe_distance,
    wants_keyframe,
)
from prism_vo.tracking.track import Expected, Track
from prism_vo.types import UNKNOWN_EXPOSURE, PosedFrame

HERE = se3.exp(np.array([0.3, -0.1, 0.2, 0.05, 0.1, -0.02]))
STEP = se3.exp(np.array([0.02, 0.01, -0.01, 0.01, 0.0, 0.02]))


def posed_at(pose: np.ndarray, exposure: float | None = 0.01) -> PosedFrame:
    frame = still_frame(small_view(), 3, np.zeros((96, 128), np.float32), exposure)
    return PosedFrame(frame, pose, np.array([0.1, 2.0]))


def tracked(rms: float, coarse_rms: float, light: Brightness | None = None) -> Track:
    return Track(True, np.eye(4), light or Brightness(), rms, coarse_rms, 0.9, 0.95, 3.0, 2.0, 1)


def on_the_way() -> Motion:
    """A motion in which nothing has its first value."""
    return Motion(
        T_view_world=HERE,
        step=STEP,
        brightness=Brightness(1.3, -4.0, 0.8),
        exposure=0.02,
        expected=Expected((3.0,), 5.0),
        first_rms=2.0,
        lost=4,
    )


def same(a: Motion, b: Motion, *names: str) -> bool:
    """Whether the named fields are equal."""
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


def test_after_copies_of_an_image_the_camera_may_be_as_many_steps_on() -> None:
    before = replace(on_the_way(), lost=0)
    motion = before.after_copy().after_copy()
    assert motion.copies == 2
    plain, guesses = before.guesses(np.eye(4), False), motion.guesses(np.eye(4), False)
    assert len(guesses) == len(plain) + 1
    assert np.allclose(guesses[-1], STEP @ STEP @ STEP @ HERE)
    assert motion.after(posed_at(HERE), tracked(3.0, 5.0)).copies == 0
    assert motion.recovered(posed_at(HERE), tracked(3.0, 5.0)).copies == 0


def test_over_unreadable_frames_the_camera_may_have_stood_still_or_not() -> None:
    motion, track = replace(on_the_way(), way=STEP, lost=0).after_copy().after_copy(), tracked(2.5, 4.0)
    assert np.allclose(motion.after(posed_at(STEP @ HERE), track).step, STEP)
    assert np.allclose(motion.after(posed_at(STEP @ STEP @ STEP @ HERE), track).step, STEP)


def test_over_frames_without_a_pose_the_way_before_them_goes_on() -> None:
    """An unreadable one among them counts as well."""
    motion = replace(on_the_way(), way=STEP, lost=0).after_copy().after_loss().after_loss()
    there = np.linalg.matrix_power(STEP, 4) @ HERE
    assert np.allclose(motion.leads_to()[0], there)
    assert np.allclose(motion.guesses(np.eye(4), False)[0], there)
    assert any(
        np.allclose(guess, HERE) for guess in motion.guesses(np.eye(4), False)
    )  # it may have stood still
    found = motion.after(posed_at(there), tracked(2.5, 4.0))
    assert np.allclose(found.step, STEP) and np.allclose(found.foreseen(1), STEP @ there)


def test_before_anything_is_known() -> None:
    motion = Motion()
    np.testing.assert_array_equal(motion.T_view_world, np.eye(4))
    np.testing.assert_array_equal(motion.step, np.eye(4))
    assert motion.brightness == Brightness() and motion.exposure == UNKNOWN_EXPOSURE
    assert motion.expected == Expected() and motion.first_rms is None and motion.lost == 0


def test_after_a_tracked_frame() -> None:
    light = Brightness(0.9, 1.0, 0.97)
    motion = replace(on_the_way(), lost=0).after(posed_at(STEP @ STEP @ HERE), tracked(2.5, 4.0, light))
    np.testing.assert_array_equal(motion.T_view_world, STEP @ STEP @ HERE)
    np.testing.assert_allclose(motion.step, STEP @ STEP, atol=1e-12)
    np.testing.assert_allclose(motion.step @ HERE, motion.T_view_world, atol=1e-12)
    assert motion.brightness == light and motion.exposure == 0.01
    assert motion.expected == Expected((3.0, 2.5 / 0.9), 4.0)  # as at a gain of 1
    assert motion.first_rms == 2.0  # of the first frame against this reference
    assert motion.lost == 0


def test_the_first_frame_against_a_reference_sets_its_residual() -> None:
    motion = replace(on_the_way(), first_rms=None).after(posed_at(HERE), tracked(2.5, 4.0))
    assert motion.first_rms == 2.5
    assert motion.after(posed_at(HERE), tracked(9.0, 9.0)).first_rms == 2.5


def test_a_frame_without_exposure_time_has_the_unknown_one() -> None:
    motion = on_the_way().after(posed_at(HERE, exposure=None), tracked(1.0, 1.0))
    assert motion.exposure == UNKNOWN_EXPOSURE


def test_after_a_loss_the_pose_stays_and_the_step_is_forgotten() -> None:
    before = on_the_way()
    motion = before.after_loss()
    np.testing.assert_array_equal(motion.step, np.eye(4))
    assert motion.lost == 5 and motion.after_loss().lost == 6
    assert same(before, motion, "T_view_world", "brightness", "exposure", "expected", "first_rms")


def test_at_a_keyframe_brightness_is_measured_anew_and_the_step_goes_on() -> None:
    before = on_the_way()
    optimised = se3.exp(np.full(6, 1e-3)) @ HERE
    motion = before.at_keyframe(optimised, before.exposure)
    np.testing.assert_array_equal(motion.T_view_world, optimised)
    assert (
        motion.brightness == Brightness() and motion.exposure == before.exposure and motion.first_rms is None
    )
    assert same(before, motion, "step", "lost")
    assert motion.expected == before.expected.at_gain(
        before.brightness.gain
    )  # in grey levels of the new reference


def test_keyframes_of_a_map_are_counted() -> None:
    motion = Motion().at_keyframe(HERE, 0.01).after(posed_at(HERE), tracked(2.0, 2.0))
    assert motion.references == 1 and motion.after_loss().at_keyframe(HERE, 0.01).references == 2


def test_whether_keyframes_have_depth_is_known_until_the_next_one() -> None:
    motion = Motion().at_keyframe(HERE, 0.01, depth_is_usual=True)
    assert motion.after(posed_at(HERE), tracked(2.0, 2.0)).after_loss().depth_is_usual
    assert not motion.at_keyframe(HERE, 0.01).depth_is_usual


def test_a_keyframe_made_darker_has_another_exposure_and_darker_residuals() -> None:
    before = on_the_way()
    motion = before.at_keyframe(HERE, before.exposure / 2.0)
    assert motion.expected == before.expected.at_gain(before.brightness.gain / 2.0)
    assert motion.brightness_at(before.exposure).gain == pytest.approx(
        2.0
    )  # the next frame is as bright as it was


def test_a_better_pose_changes_nothing_else() -> None:
    before = on_the_way()
    motion = before.moved_to(np.eye(4))
    np.testing.assert_array_equal(motion.T_view_world, np.eye(4))
    assert same(before, motion, "step", "brightness", "exposure", "expected", "first_rms", "lost")


def test_when_recovered_the_loss_is_over_and_the_step_unknown() -> None:
    before = on_the_way()
    motion = before.recovered(posed_at(HERE), tracked(6.0, 7.0))
    np.testing.assert_array_equal(motion.step, np.eye(4))
    assert motion.lost == 0 and motion.expected == Expected((3.0, 6.0), 7.0)
    assert motion.brightness == tracked(6.0, 7.0).brightness
    assert motion.exposure == posed_at(HERE).frame.exposure
    assert same(before, motion, "T_view_world", "first_rms")


def test_events_leave_the_motion_they_start_from_alone() -> None:
    before, untouched = on_the_way(), on_the_way()
    before.after(posed_at(STEP @ HERE), tracked(1.0, 1.0))
    before.after_loss()
    before.at_keyframe(np.eye(4), 1.0)
    before.recovered(posed_at(HERE), tracked(1.0, 1.0))
    names = ("T_view_world", "step", "brightness", "exposure", "expected", "first_rms", "lost")
    assert same(before, untouched, *names)
    with pytest.raises(AttributeError):
        before.lost = 0  # type: ignore[misc]


def test_brightness_follows_the_exposure_time() -> None:
    motion = on_the_way()
    assert motion.brightness_at(0.02) == Brightness(1.3, -4.0)  # how well it matched is not foretold
    assert motion.brightness_at(0.03).gain == pytest.approx(1.3 * 1.5)
    assert motion.brightness_at(0.03).offset == -4.0
    assert Motion().brightness_at(UNKNOWN_EXPOSURE) == Brightness()


def test_guesses_hold_the_constant_motion_and_rest() -> None:
    previous, step = se3.exp(np.array([0.1, 0, 0, 0, 0, 0.1])), se3.exp(np.array([0.02, 0.01, 0, 0.01, 0, 0]))
    motion = Motion(previous, step)
    guesses = motion.guesses(np.eye(4), rotations=False)
    np.testing.assert_allclose(guesses[0], step @ previous)
    np.testing.assert_allclose(guesses[1], step @ step @ previous)
    half = guesses[2] @ se3.inverse(previous)
    np.testing.assert_allclose(half @ half, step, atol=1e-12)
    np.testing.assert_allclose(guesses[3], previous)
    wide = motion.guesses(np.eye(4), rotations=True)
    np.testing.assert_array_equal(wide[:4], guesses)
    turns = [se3.log(g @ se3.inverse(step @ previous)) for g in wide[4:]]
    assert len(turns) == 6 * len(TRIED_ROTATIONS)
    np.testing.assert_allclose([np.abs(t[:3]).max() for t in turns], 0.0, atol=1e-12)
    angles = sorted({round(float(np.linalg.norm(t[3:])), 9) for t in turns})
    assert angles == sorted(TRIED_ROTATIONS)


def test_guesses_are_relative_to_the_reference() -> None:
    reference = se3.exp(np.array([0.5, 0.2, -0.1, 0.2, -0.3, 0.1]))
    motion = Motion(HERE, STEP)
    for ours, at_origin in zip(motion.guesses(reference, True), motion.guesses(np.eye(4), True)):
        np.testing.assert_allclose(ours @ reference, at_origin, atol=1e-12)


def test_a_frame_that_stands_still_is_no_example_of_a_good_alignment() -> None:
    """A video that copies its first frame leaves residuals that nothing in motion reaches."""
    usual = Expected((4.0,), 2.0)
    still = replace(tracked(0.4, 0.2), flow=0.02)
    assert still.expected_next(usual) == usual
    assert still.expected_next(Expected()) == Expected()
    assert replace(still, flow=3.0).expected_next(usual) == Expected((4.0, 0.4), 0.2)


def test_the_usual_residual_is_the_largest_of_the_last_ones() -> None:
    """Right after a keyframe frames fit better than they will farther away from it."""
    expected = Expected()
    for rms in (9.0, 4.0, 5.0):
        expected = tracked(rms, 1.0).expected_next(expected)
    assert expected.rms == 9.0
    assert tracked(4.5, 1.0).expected_next(expected).rms == 5.0


def test_a_frame_that_stands_still_is_no_measure_of_growing_residuals() -> None:
    motion = Motion().after(posed_at(np.eye(4)), replace(tracked(0.4, 0.2), flow=0.02))
    assert motion.first_rms is None


def test_a_frame_that_is_no_example_teaches_nothing() -> None:
    motion = on_the_way().after(posed_at(HERE), tracked(9.0, 9.0), is_example=False)
    assert motion.expected == on_the_way().expected and motion.lost == 0
    assert on_the_way().after(posed_at(HERE), tracked(9.0, 9.0)).expected.rms == 9.0


def test_a_frame_that_is_no_example_becomes_a_keyframe_only_if_it_must() -> None:
    motion, config = replace(on_the_way(), first_rms=2.0), TrackConfig()
    grown = tracked(9.0, 9.0)
    assert wants_keyframe(grown, motion, config)
    assert not wants_keyframe(grown, motion, config, is_example=False)
    assert wants_keyframe(replace(grown, flow=40.0, flow_translation=40.0), motion, config, is_example=False)


def test_keyframes_lie_farther_apart_where_one_of_them_knows_the_scale() -> None:
    sigmas = (0.0, SURE_OF_SCALE, 0.006, UNSURE_OF_SCALE, 0.1, np.inf)
    distances = [keyframe_distance(sigma) for sigma in sigmas]
    assert distances[:2] == [FARTHER, FARTHER] and distances[3:] == pytest.approx([1.0, 1.0, 1.0])
    assert 1.0 < distances[2] < FARTHER
    flow, config = 1.2 * TrackConfig().keyframe_flow, TrackConfig()
    moved = replace(tracked(2.0, 2.0), flow=flow, flow_translation=flow)
    assert wants_keyframe(moved, on_the_way(), config)
    assert not wants_keyframe(moved, on_the_way(), config, farther=FARTHER)
    # what is out of view is so however much is known
    assert wants_keyframe(replace(moved, visible=0.5), on_the_way(), config, farther=FARTHER)


def test_whether_the_camera_moves_is_remembered_while_something_is_before_it() -> None:
    moving, still = tracked(2.0, 2.0), replace(tracked(2.0, 2.0), flow=0.1)
    covered = replace(still, covered=ZoneAgreement(0.5, np.arange(16) < 8))
    known = on_the_way().after(posed_at(HERE), moving)
    assert known.was_moving and known.after_loss().was_moving
    assert known.after(posed_at(HERE), covered).was_moving
    assert not known.after(posed_at(HERE), still).was_moving
    begun = Motion(was_moving=True)  # of a map that has just begun, nobody knows what fits well
    assert begun.after(posed_at(HERE), still).was_moving


def test_where_the_motion_leads_is_known_from_frame_to_frame_and_over_a_loss() -> None:
    motion = Motion(HERE)
    for surprise in (3.0, 0.1, 0.2, 0.3):
        assert motion.usual_surprise is None
        motion = motion.after(posed_at(STEP @ motion.T_view_world), tracked(3.0, 5.0), surprise=surprise)
    assert motion.usual_surprise == pytest.approx(0.2)  # the first one was beside no step at all
    lost = motion.after_loss().after_loss()
    np.testing.assert_allclose(lost.foreseen(2), STEP @ STEP @ motion.T_view_world, atol=1e-12)
    found = lost.recovered(posed_at(HERE), tracked(3.0, 5.0))
    assert found.usual_surprise is None  # nobody knows how it came there
    again = found.after(posed_at(STEP @ HERE), tracked(3.0, 5.0), surprise=9.0)
    assert again.usual_surprise == pytest.approx(0.2)
