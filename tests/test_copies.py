# SPDX-License-Identifier: Apache-2.0
"""One image again and again: of a camera that stands still, or of one that goes on unseen."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from decoded_frames import CAMERA, VIEW, FrameList, wall

from prism_vo.copies import frozen_runs, is_copy
from prism_vo.odometry import Odometry
from prism_vo.pipeline import run
from prism_vo.sensor import DecodedSensor
from prism_vo.types import RawFrame


def shown(order: list[int]) -> FrameList:
    """Frames of the wall in an order of their own; each array is another one."""
    frames = wall(16)[0]
    return FrameList(
        [replace(frames[k], index=n, time=0.1 * n, image=frames[k].image.copy()) for n, k in enumerate(order)]
    )


def test_an_image_is_a_copy_if_every_bit_is_the_same() -> None:
    image = np.random.default_rng(0).integers(0, 255, (40, 50)).astype(np.uint8)
    other = image.copy()
    other[17, 23] += 1
    one = RawFrame(0, 0.0, image)
    assert is_copy(RawFrame(1, 0.1, image.copy()), one)
    assert not is_copy(RawFrame(1, 0.1, other), one)
    assert not is_copy(RawFrame(1, 0.1, image[:30]), one)
    assert not is_copy(RawFrame(1, 0.1, image.astype(np.uint16)), one)


def test_a_camera_that_goes_on_behind_copies_of_an_image_is_said() -> None:
    result = run(shown([0, 1, 2, 3, 4, 4, 4, 4, 8, 9, 10, 11]))
    assert [r.index for r in result.reports if r.copy] == [5, 6, 7]
    assert result.lost == 0 and frozen_runs(result.reports) == [(5, 7)]
    assert result.exit_code == 3
    assert any("copies, to the last bit" in notice for notice in result.notices)


def test_a_camera_that_stands_still_is_not() -> None:
    for order in (
        [0, 1, 2, 3, 4, 4, 4, 4, 5, 6, 7, 8],
        [0, 0, 0, 0, 1, 2, 3, 4],
        [0, 0, 1, 1, 2, 2, 3, 3, 4, 4],
    ):
        result = run(shown(order))
        assert sum(r.copy for r in result.reports) == sum(a == b for a, b in pairwise(order))
        assert result.exit_code == 0


def test_copies_to_the_end_of_a_recording_are_said() -> None:
    """Whether the camera goes on, nobody will ever know."""
    assert run(shown([0, 1, 2, 3, 4, 5, 5, 5, 5])).exit_code == 3


def test_copies_teach_nothing() -> None:
    """Of a map that has just begun, two copies are not two more frames."""
    twice, once = (Odometry(CAMERA, sensor=DecodedSensor(VIEW)) for _ in range(2))
    for frame in shown([0, 1, 1, 1]).frames:
        twice(frame)
    for frame in shown([0, 1]).frames:
        once(frame)
    usual = twice.following.motion.expected
    assert usual == once.following.motion.expected and len(usual.recent) == 1
