# SPDX-License-Identifier: Apache-2.0
"""A segment of images that are no good, at the beginning or later, has no poses in the end: nothing joins it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from decoded_frames import FrameList, wall

from prism_vo.pipeline import run
from prism_vo.poor_frames import poor_segments
from prism_vo.report.sink import ReportSink
from prism_vo.types import DecodedFrame

BEGUN = 3  # frames that are no good


def another_wall(frame: DecodedFrame, share: float) -> DecodedFrame:
    """Seen in a mirror, with depth in a share of the pixels."""
    kept = frame.valid & (np.random.default_rng(0).random(frame.valid.shape) < share)
    flipped = {
        name: getattr(frame, name)[:, ::-1].copy() for name in ("image", "inv_virtual_depth", "variance")
    }
    return replace(frame, **flipped, valid=kept[:, ::-1].copy())


def begun_with(share: float) -> FrameList:
    frames = wall(16)[0]
    return FrameList([*(another_wall(f, share) for f in frames[:BEGUN]), *frames[BEGUN:]])


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run")
    result = run(begun_with(0.3), out=path, sinks=[ReportSink(path)])
    assert result.lost == BEGUN + 5 and result.segments == 1 and result.exit_code == 3
    assert any("hardly any depth (0 to 2" in notice for notice in result.notices)
    begun = result.odometry.map.segment_of
    first = {k for k in begun if begun[k] == 0}
    assert first and not first & result.odometry.map.poses().keys()
    assert len(result.odometry.cloud().points) > 100
    assert len(result.odometry.pose_covariances()) == len(result.trajectory) == 16 - result.lost
    return path


def test_they_are_in_no_file(out: Path) -> None:
    first = 0.1 * BEGUN - 0.01
    for name in ("trajectory.txt", "keyframes.txt", "covariances.txt"):
        lines = (out / name).read_text().splitlines()
        assert all(float(line.split()[0]) > first for line in lines if line[0] != "#")
    assert '"segment": -1' in (out / "stats.jsonl").read_text().splitlines()[0]


def test_a_beginning_with_depth_is_a_segment_of_its_own() -> None:
    result = run(begun_with(1.0))
    assert result.lost == 5 and result.segments == 2


def test_only_a_segment_that_all_of_its_keyframes_speak_against() -> None:
    reports = list(run(begun_with(1.0)).reports)
    known = [k for k, r in enumerate(reports) if np.isfinite(r.measured)]

    def with_shares(first: float, later: float) -> list[int]:
        seen = list(reports)
        for k in known:
            seen[k] = replace(seen[k], measured=first if seen[k].segment == 0 else later)
        return poor_segments(seen)

    assert with_shares(0.3, 0.9) == [0] and with_shares(0.9, 0.3) == [1]
    assert with_shares(0.5, 0.9) == [] and with_shares(0.9, 0.5) == []
    assert poor_segments(reports[:BEGUN]) == []
