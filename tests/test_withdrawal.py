# SPDX-License-Identifier: Apache-2.0
"""A segment of images that are no good, at the beginning or later, has no poses in the end: nothing joins it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from decoded_frames import FrameList, wall

from prism_vo.pipeline import run
from prism_vo.poor_segments import poor_segments
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


def begun_with(share: float, count: int = BEGUN) -> FrameList:
    frames = wall(13 + count)[0]
    return FrameList([*(another_wall(f, share) for f in frames[:count]), *frames[count:]])


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run")
    result = run(begun_with(0.3), out=path, sinks=[ReportSink(path)])
    assert result.lost == BEGUN + 5 and result.segments == 1 and result.exit_code == 3
    assert any("3 frames (0 to 2) belong to maps that nothing joins" in n for n in result.notices)
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


def test_a_beginning_with_depth_is_a_segment_of_its_own_once_it_is_a_map() -> None:
    """Before its third keyframe nothing has confirmed its depths."""
    result = run(begun_with(1.0, 8))
    assert result.lost == 5 and result.segments == 2
    few = run(begun_with(1.0))
    assert few.lost == BEGUN + 5 and few.segments == 1 and few.exit_code == 3


def keyframe(segment: int, measured: float, excess: float = 0.0, sigma: float = 1e-3) -> SimpleNamespace:
    agreement = SimpleNamespace(excess=excess, intercept_sigma=sigma)
    mapping = SimpleNamespace(agreement=agreement, focus=None)
    return SimpleNamespace(segment=segment, status="keyframe", measured=measured, mapping=mapping)


def found_poor(*segments: list[SimpleNamespace]) -> list[int]:
    return poor_segments([report for each in segments for report in each])  # type: ignore[misc]


def test_only_a_segment_that_all_of_its_keyframes_speak_against() -> None:
    good, poor = [keyframe(0, 0.9)] * 4, [keyframe(1, 0.6)] * 4
    assert found_poor(good, poor) == [1]
    assert found_poor(good, [*poor, keyframe(1, 0.8)]) == []
    assert found_poor(poor) == [], "nothing to compare it with"


def test_a_segment_whose_depths_contradict_parallax_where_those_of_others_do_not() -> None:
    agrees = [keyframe(0, 1.0, excess=0.001)] * 3
    contradicts = [keyframe(1, 1.0, excess=0.05)] * 3
    assert found_poor(agrees, contradicts) == [1]
    assert found_poor([keyframe(0, 1.0, excess=0.04)] * 3, contradicts) == [], "the camera file is wrong"
    assert found_poor([keyframe(0, 1.0, sigma=0.05)] * 3, contradicts) == [], "it knows nothing about that"


def test_a_segment_that_never_became_a_map_beside_one_that_did() -> None:
    young, old = [keyframe(0, 1.0)] * 2, [keyframe(1, 1.0)] * 3
    assert found_poor(young, old) == [0]
    assert found_poor(young, [keyframe(1, 1.0)] * 2) == []


def test_one_agreement_does_not_speak_against_many_contradictions() -> None:
    """A file wrong by 10 µm contradicts a good map; one window of torn images agreed with it by chance."""
    contradicts = [keyframe(0, 1.0, excess=0.02)] * 6
    assert found_poor(contradicts, [keyframe(1, 1.0, sigma=np.inf)] * 3 + [keyframe(1, 1.0)]) == [0]
    unknown = keyframe(1, 1.0)
    unknown.mapping = None
    assert found_poor(contradicts, [unknown] * 3 + [keyframe(1, 1.0)]) == []


def test_a_short_beginning_with_enough_poses_is_a_map() -> None:
    between = SimpleNamespace(segment=0, status="ok", measured=np.nan, mapping=None)
    begun, later = [keyframe(0, 1.0), *[between] * 4, keyframe(0, 1.0)], [keyframe(1, 1.0)] * 3
    assert found_poor(begun, later) == []
    assert found_poor(begun[1:], later) == [0], "one pose less"
    after_a_loss = [SimpleNamespace(**{**vars(r), "segment": 2}) for r in begun]
    assert found_poor(later, after_a_loss) == [2]


def test_a_map_stays_whatever_a_last_glimpse_has() -> None:
    """A stray keyframe with more depth than a long map would take that back, and be taken back for being one."""
    long, glimpse = [keyframe(0, 0.75)] * 40, [keyframe(1, 0.95)]
    assert found_poor(long, glimpse) == [1]
    assert found_poor(long, glimpse, [keyframe(2, 0.76)] * 20) == [1]


def test_some_map_stays_though_each_has_something_against_it() -> None:
    shallow, contradictory = [keyframe(0, 0.6)] * 4, [keyframe(1, 0.9, excess=0.05)] * 4
    assert found_poor(shallow, contradictory) == [0]


def test_a_place_in_a_known_map_stays() -> None:
    recognised = [keyframe(0, 0.2), keyframe(0, 0.2)]
    recognised[0].status = "recovered"
    assert found_poor(recognised, [keyframe(1, 1.0)] * 4) == []
    assert found_poor([keyframe(1, 1.0)] * 4, recognised) == [], "found after a beginning of its own"
    assert found_poor(recognised, [keyframe(1, 1.0)]) == [1]


def test_a_lens_that_was_seen_to_move_takes_nothing_with_it() -> None:
    """After a loss depths go on to contradict the camera file as they did before it."""
    moved = keyframe(0, 1.0, excess=0.05)
    moved.mapping.focus = SimpleNamespace(verdict="has changed")
    before, since = [keyframe(0, 1.0)] * 8, [moved, *[keyframe(0, 1.0, excess=0.05)] * 4]
    after = [keyframe(1, 1.0, excess=0.05)] * 12
    assert found_poor([*before, *since], after) == []
    assert found_poor(before, after) == [1], "nobody saw it move"
