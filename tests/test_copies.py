# SPDX-License-Identifier: Apache-2.0
"""One image again and again: of a camera that stands still, or of one that goes on unseen."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from decoded_frames import CAMERA, VIEW, FrameList, wall

from prism_vo.copies import is_copy
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


FROZEN = [0, 1, 2, 3, 4, 4, 4, 4, 8, 9, 10, 11]


def test_copies_have_no_pose_if_the_camera_went_on_meanwhile() -> None:
    told = []
    result = run(shown(FROZEN), progress=lambda _n, _all, report: told.append(report.status))
    assert "lost" not in told  # while they come nobody knows
    assert [r.index for r in result.reports if r.copy] == [5, 6, 7]
    assert [r.index for r in result.reports if r.status == "lost"] == [5, 6, 7]
    assert not {5, 6, 7} & {round(10 * t) for t in result.trajectory.times.tolist()}
    assert len(result.trajectory) == len(result.odometry.pose_covariances()) == 9
    assert result.exit_code == 3
    assert any("copies, to the last bit" in notice for notice in result.notices)


def test_a_single_copy_of_a_camera_that_goes_on_has_no_pose() -> None:
    result = run(shown([0, 1, 2, 3, 4, 4, 6, 7, 8]))
    assert [r.index for r in result.reports if r.status == "lost"] == [5]


def test_every_file_says_so(tmp_path: Path) -> None:
    run(shown(FROZEN), out=tmp_path)
    stats = [json.loads(line) for line in (tmp_path / "stats.jsonl").read_text().splitlines()]
    assert [s["frame"] for s in stats] == [*range(12)]
    assert [s["frame"] for s in stats if s["state"] == "lost"] == [5, 6, 7]
    assert all("copy" in s["contradiction"] for s in stats[5:8])
    named = [line.split(",")[1] for line in (tmp_path / "poses.csv").read_text().splitlines()[1:]]
    assert named == ["0", "1", "2", "3", "4", "8", "9", "10", "11"]
    for name in ("trajectory.txt", "covariances.txt"):
        times = [
            float(line.split()[0]) for line in (tmp_path / name).read_text().splitlines() if line[0] != "#"
        ]
        assert np.allclose(times, [0.1 * int(k) for k in named])


def test_copies_are_looked_at_again_when_a_run_goes_on(tmp_path: Path) -> None:
    """Ended among copies it knows nothing of them; of the whole recording it does."""
    source = shown([0, 1, 2, 3, 4, 5, 5, 5, 6, 7, 8, 9])

    def stop(done: int, _all: int | None, _report: object) -> None:
        if done == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(source, out=tmp_path, progress=stop)
    assert '"state": "lost"' in (tmp_path / "stats.jsonl").read_text()
    result = run(source, out=tmp_path, resume=True)
    assert result.lost == 0 and len(result.trajectory) == 12
    assert '"state": "lost"' not in (tmp_path / "stats.jsonl").read_text()


def test_a_copy_has_the_pose_of_its_image_and_is_no_keyframe() -> None:
    result = run(shown([0, 1, 2, 3, 4, 4, 4, 4, 5, 6, 7, 8]))
    once = run(shown([*range(9)]))
    assert np.array_equal(result.trajectory.poses[[4, 5, 6]], result.trajectory.poses[[5, 6, 7]])
    assert np.allclose(np.delete(result.trajectory.poses, [5, 6, 7], 0), once.trajectory.poses, atol=1e-12)
    assert all(r.status == "ok" for r in result.reports if r.copy)


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
