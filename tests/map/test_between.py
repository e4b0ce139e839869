# SPDX-License-Identifier: Apache-2.0
"""Frames that go astray between keyframes are located from the way of their neighbours."""

import numpy as np
from exact_windows import keyframes_along
from smooth_scene import small_view
from still_frames import still_frame

from prism_vo import se3
from prism_vo.map.between import Locate, PlacedFrame, TrackedFrame, Way, locate_between
from prism_vo.tracking.brightness import ZoneAgreement
from prism_vo.types import PosedFrame, PosedImage
from prism_vo.window.keyframe import Keyframe
from prism_vo.window.locate import LEAST_INLIER_SHARE, Located

VIEW = small_view()
FAR_OFF = se3.exp(np.array([0.4, 0.0, 0.0, 0.0, 0.02, 0.0]))


def half_way(frames: list[Keyframe]) -> np.ndarray:  # type: ignore[type-arg]
    step = se3.log(frames[1].pose @ se3.inverse(frames[0].pose))
    return np.asarray(se3.exp(0.5 * step) @ frames[0].pose)


def tracked(frames: list[Keyframe]) -> TrackedFrame:
    """A frame half-way between two keyframes, tracked to a place far off."""
    frame = still_frame(VIEW, 0, np.zeros((96, 128), np.float32))
    wrong = FAR_OFF @ half_way(frames)
    placed = PlacedFrame(0.5, frames[0].id, wrong @ se3.inverse(frames[0].pose))
    return TrackedFrame(placed, PosedFrame(frame, wrong, np.zeros(2)).image, None)


def bridging(frames: list[Keyframe], reach: float, share: float = 1.0) -> Locate:
    """Finds the true pose from starts within ``reach`` (m); from others it goes astray, fitting worse."""
    true = half_way(frames)

    def locate(posed: PosedImage, covered: ZoneAgreement | None) -> Located | None:
        apart = np.linalg.norm((posed.T_view_world @ se3.inverse(true))[:3, 3])
        if apart < reach:
            return Located(true, None, energy=50.0, share=share)
        return Located(posed.T_view_world, None, energy=200.0)

    return locate


def test_a_stray_is_found_from_its_neighbours() -> None:
    frames = keyframes_along([0.0, 0.3])
    frame = tracked(frames)
    locate_between([frame], frames, bridging(frames, reach=0.1))
    np.testing.assert_allclose(frame.placed.T_frame_ref @ frames[0].pose, half_way(frames), atol=1e-9)


def test_what_is_not_sure_counts_where_the_neighbours_confirm_it() -> None:
    frames = keyframes_along([0.0, 0.3])
    frame, unsure = tracked(frames), 0.5 * LEAST_INLIER_SHARE
    tracked_pose = frame.placed.T_frame_ref.copy()
    everywhere = bridging(frames, reach=10.0, share=unsure)
    assert frame.locate(frame.placed.T_frame_ref, frames[0].pose, everywhere) is None
    np.testing.assert_allclose(frame.placed.T_frame_ref, tracked_pose, atol=1e-12)
    locate_between([frame], frames, everywhere)
    np.testing.assert_allclose(frame.placed.T_frame_ref @ frames[0].pose, half_way(frames), atol=1e-9)


def test_a_frame_that_is_not_found_keeps_its_tracked_pose() -> None:
    frames = keyframes_along([0.0, 0.3])
    frame = tracked(frames)
    before = frame.placed.T_frame_ref.copy()
    locate_between([frame], frames, lambda posed, covered: None)
    np.testing.assert_allclose(frame.placed.T_frame_ref, before, atol=1e-12)


def test_a_better_fit_beside_the_way_is_kept() -> None:
    """A jerk is no error: what fits better than the smooth way is believed."""
    frames = keyframes_along([0.0, 0.3])
    frame, asked = tracked(frames), []

    def locate(posed: PosedImage, covered: ZoneAgreement | None) -> Located:
        asked.append(posed)
        return Located(posed.T_view_world, None, energy=50.0 if len(asked) == 1 else 200.0)

    before = frame.placed.T_frame_ref.copy()
    locate_between([frame], frames, locate)
    assert len(asked) == 2
    np.testing.assert_allclose(frame.placed.T_frame_ref, before, atol=1e-9)


def test_a_frame_at_the_end_has_no_way_past_it() -> None:
    frames = keyframes_along([0.0, 0.3])
    assert Way.past(2.0, []) is None
    frame, asked = tracked(frames), []
    locate_between([frame], frames[:1], lambda posed, covered: asked.append(posed))
    assert len(asked) == 1
