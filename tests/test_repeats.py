# SPDX-License-Identifier: Apache-2.0
"""One image again and again, coded anew each time: of a camera that stands still, or of one that goes on unseen."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from decoded_frames import FrameList, wall

from prism_vo.pipeline import run


def coded_anew(order: list[int]) -> FrameList:
    """Frames of the wall in an order of their own, each with noise of its own."""
    frames, rng = wall(16)[0], np.random.default_rng(0)

    def noisy(image: np.ndarray) -> np.ndarray:
        return (image + rng.normal(0.0, 0.3, image.shape)).astype(np.float32)

    shown = [
        replace(frames[k], index=n, time=0.1 * n, image=noisy(frames[k].image)) for n, k in enumerate(order)
    ]
    assert not any(np.array_equal(a.image, b.image) for a, b in pairwise(shown))
    return FrameList(shown)


def test_repeated_images_have_no_pose_if_the_camera_went_on_meanwhile() -> None:
    result = run(coded_anew([0, 1, 2, 3, 4, 4, 4, 4, 8, 9, 10, 11]))
    assert not any(r.copy for r in result.reports)
    assert [r.index for r in result.reports if r.status == "lost"] == [5, 6, 7]
    assert len(result.trajectory) == len(result.odometry.pose_covariances()) == 9
    assert not {5, 6, 7} & {round(10 * t) for t in result.odometry.keyframe_trajectory().times.tolist()}
    assert result.exit_code == 3
    assert any("not to the last bit" in notice for notice in result.notices)


def test_a_camera_that_stands_still_keeps_its_poses() -> None:
    """Also where it rests to the end, and where it stops between steps."""
    for order in (
        [0, 1, 2, 3, 4, 4, 4, 4, 5, 6, 7, 8],
        [0, 1, 2, 3, 4, 5, 5, 5, 5],
        [0, 0, 0, 0, 1, 2, 3, 4],
        [0, 0, 1, 1, 2, 2, 3, 3, 4, 4],
    ):
        result = run(coded_anew(order))
        assert result.lost == 0 and result.exit_code == 0
