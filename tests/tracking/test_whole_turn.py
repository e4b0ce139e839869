# SPDX-License-Identifier: Apache-2.0
"""A turn by any angle shows in the image as a whole."""

import cv2
import numpy as np
import pytest
from smooth_scene import small_view

from prism_vo import se3
from prism_vo.config import TrackConfig
from prism_vo.tracking.motion import Motion
from prism_vo.tracking.reference import KeyframeDepth
from prism_vo.tracking.track import Expected
from prism_vo.tracking.tracker import Tracker
from prism_vo.tracking.whole_turn import whole_turn
from prism_vo.types import DecodedFrame, Frame

VIEW = small_view(256, 192, 320.0)
BORDER = 200  # px beyond the image that a turn brings in


def seen(turn: list[float]) -> np.ndarray:
    """A far wall of random spots, as a camera sees it that has turned."""
    spots = np.random.default_rng(3).uniform(0, 255, (VIEW.height + 2 * BORDER, VIEW.width + 2 * BORDER))
    wall = cv2.GaussianBlur(spots.astype(np.float32), (0, 0), 3.0)
    wall = 120.0 + 8.0 * (wall - wall.mean())
    k = np.array([[VIEW.focal_px, 0, VIEW.cx], [0, VIEW.focal_px, VIEW.cy], [0, 0, 1.0]])
    aside = np.array([[1.0, 0, -BORDER], [0, 1, -BORDER], [0, 0, 1]])
    homography = k @ se3.so3_exp(np.array(turn)) @ np.linalg.inv(k) @ aside
    return np.asarray(cv2.warpPerspective(wall, homography, (VIEW.width, VIEW.height)), np.float32)


@pytest.mark.parametrize("turn", [[0.0, 0.12, 0.0], [0.0, -0.2, 0.0], [0.1, 0.0, 0.0], [-0.05, 0.1, 0.02]])
def test_a_turn_is_told_from_anywhere(turn: list[float]) -> None:
    (guess,) = whole_turn(seen([0.0] * 3), seen(turn), VIEW.image_plane)
    # three pixels are 0.01 rad; a turn about the axis is not looked for
    assert np.abs(se3.log(guess)[3:5] - turn[:2]).max() < 0.01
    assert np.abs(guess[:3, 3]).max() == 0.0


def test_an_empty_image_tells_nothing() -> None:
    image, empty = seen([0.0] * 3), np.full((VIEW.height, VIEW.width), 7.0, np.float32)
    assert whole_turn(image, empty, VIEW.image_plane) == []
    assert whole_turn(empty, image, VIEW.image_plane) == []


def test_a_large_turn_is_found_from_it() -> None:
    """By 64 of 256 px: from no motion, nor from small rotations, does alignment get there."""
    tracker, image = Tracker(VIEW, TrackConfig()), seen([0.0] * 3)
    known = np.zeros(image.shape, bool)
    known[6:-6:4, 6:-6:4] = True
    depth, variance = (np.where(known, a, b).astype(np.float32) for a, b in ((0.01, np.nan), (1e-8, np.inf)))
    keyframe = KeyframeDepth(7, np.eye(4), np.zeros(2), 1.0, VIEW.image_plane, image, depth, variance)
    reference = tracker.reference(keyframe)
    focused = DecodedFrame(1, 0.1, VIEW, seen([0.0, 0.2, 0.0]), None, None, None, None)
    frame = Frame.of(focused, focused, tracker.pyramid(focused.image))
    assert not tracker.track(frame, reference, Motion()).ok
    track = tracker.search(frame, reference, Motion(expected=Expected((2.0,), 2.0)))
    assert track.ok
    np.testing.assert_allclose(se3.log(track.T_frame_ref)[3:], [0.0, 0.2, 0.0], atol=2e-3)
