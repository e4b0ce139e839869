# SPDX-License-Identifier: Apache-2.0
"""Runs that come back: after a covered lens, in a map of an earlier run; the same bytes with and without threads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from decoded_frames import VIEW as MINI
from decoded_frames import FrameList, black_frame, frame_of
from smooth_scene import SmoothScene, sideways_poses

from prism_vo import pipeline, se3
from prism_vo.commands.output import print_summary
from prism_vo.config import Config
from prism_vo.errors import ConfigError
from prism_vo.known_map import map_of
from prism_vo.map.world import Map
from prism_vo.output_folder import read_marker
from prism_vo.pipeline import RunResult
from prism_vo.report.extremes import EtaExtremes
from prism_vo.report.page import render_page
from prism_vo.types import DecodedFrame

COUNT, CAP = 16, 10
POSES = sideways_poses(COUNT, 0.02)


@pytest.fixture(scope="module")
def frames() -> list[DecodedFrame]:
    scene = SmoothScene.build(0, finest=0.02)
    return [frame_of(k, *scene.image(MINI, pose)) for k, pose in enumerate(POSES)]


def at(frame: DecodedFrame, index: int) -> DecodedFrame:
    return replace(frame, index=index, time=0.1 * index)


@pytest.fixture(scope="module")
def capped(frames: list[DecodedFrame]) -> tuple[list[DecodedFrame], list[int | None]]:
    """Along the wall, lens cap, and on from near the start; which of the poses each frame has."""
    which: list[int | None] = [*range(COUNT), *[None] * CAP, *range(3, 10)]
    return [black_frame(k) if p is None else at(frames[p], k) for k, p in enumerate(which)], which


def run(frames: list[DecodedFrame], loops: bool = True, **more: object) -> RunResult:
    window = replace(Config().window, keyframes=3)  # so that the first keyframes are long gone
    config = replace(Config(), loops=loops, window=window)
    return pipeline.run(FrameList(frames), config, **more)  # type: ignore[arg-type]


def statistics(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "stats.jsonl").read_text().splitlines()]


def errors(result: RunResult, which: list[int | None]) -> np.ndarray:
    """Metres between where frames are relative to the first and where they should be."""
    truth = {round(0.1 * k, 6): se3.inverse(POSES[p]) for k, p in enumerate(which) if p is not None}
    first = se3.inverse(result.trajectory.poses[0])
    start = se3.inverse(truth[0.0])
    out = [
        np.linalg.norm((first @ pose)[:3, 3] - (start @ truth[round(time, 6)])[:3, 3])
        for time, pose in result.trajectory
    ]
    return np.array(out)


def test_found_again_after_a_lens_cap(
    capped: tuple[list[DecodedFrame], list[int | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    frames, which = capped
    # this wall is so near that the shift of the whole image would find it in the window itself
    monkeypatch.setattr("prism_vo.tracking.tracker.whole_turn", lambda *_: [])
    result = run(frames)
    after = [r for r in result.reports if r.index >= COUNT + CAP]
    assert after[0].status == "recovered" and after[0].segment == 0
    assert all(r.status != "lost" for r in after) and result.segments == 1
    assert errors(result, which).max() < 0.002
    places = result.odometry.places
    assert places is not None and any(edge.b > COUNT // 2 for edge in places.joints.places)
    alone = run(frames, loops=False)
    assert alone.odometry.places is None and errors(alone, which).max() > 0.05


def test_threads_do_not_change_a_byte(capped: tuple[list[DecodedFrame], list[int | None]]) -> None:
    one, two = run(capped[0], threads=False), run(capped[0], threads=True)
    np.testing.assert_array_equal(one.trajectory.poses, two.trajectory.poses)
    np.testing.assert_array_equal(one.odometry.cloud().points, two.odometry.cloud().points)


def test_a_run_starts_in_the_map_of_another(frames: list[DecodedFrame], tmp_path: Path) -> None:
    file = tmp_path / "wall.map"
    first = run(frames, save_map=file)
    second = run([at(frames[p], k) for k, p in enumerate(range(12, 4, -1))], known=file)
    assert second.reports[0].status == "recovered" and second.segments == 1
    for time, pose in second.trajectory:
        same = first.trajectory.poses[12 - round(time / 0.1)]
        assert np.linalg.norm(pose[:3, 3] - same[:3, 3]) < 0.002
    assert len(map_of(second.odometry).keyframes) > len(map_of(first.odometry).keyframes)


def test_what_was_recognised_is_said(
    capped: tuple[list[DecodedFrame], list[int | None]],
    frames: list[DecodedFrame],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """How many places were seen again, in the result, and at each frame of stats.jsonl which keyframe it shows."""
    monkeypatch.setattr("prism_vo.tracking.tracker.whole_turn", lambda *_: [])
    result = run(capped[0], out=tmp_path / "run")
    seen = result.recognition
    assert seen is not None and seen.map_words is None and not seen.notices
    assert seen.place_words.startswith(f"{len(seen.places)} recognised, ")
    place = next(p for p in seen.places if p.frame == COUNT + CAP)
    assert not place.in_map and place.keyframe < COUNT
    marked = {
        line["frame"]: line["recognised"] for line in statistics(tmp_path / "run") if "recognised" in line
    }
    assert marked == {p.frame: p.keyframe for p in seen.places}
    along = run(frames).recognition
    assert along is not None and along.place_words == "none recognised"
    assert run(frames, loops=False).recognition is None


def test_whether_the_map_was_recognised_is_said(
    frames: list[DecodedFrame], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wall.map"
    run(frames, save_map=file)
    inside = run([at(frames[p], k) for k, p in enumerate(range(12, 4, -1))], known=file, out=tmp_path / "in")
    assert inside.recognition is not None and inside.recognition.map_frame == 0 and inside.exit_code == 0
    assert inside.recognition.map_words == "map wall.map: recognised at frame 0"
    assert statistics(tmp_path / "in")[0]["recognised"] == inside.recognition.places[0].keyframe
    other = SmoothScene.build(5, finest=0.02)
    elsewhere = [frame_of(k, *other.image(MINI, pose)) for k, pose in enumerate(POSES[:6])]
    astray = run(elsewhere, known=file, out=tmp_path / "astray")
    assert astray.lost == 0 and astray.segments == 1 and astray.exit_code == 3
    assert read_marker(tmp_path / "astray") is not None
    assert (read_marker(tmp_path / "astray") or {})["exit_code"] == 3
    assert any("map wall.map was never recognised: the poses are in a world" in n for n in astray.notices)
    for result, words in (
        (inside, "wall.map: recognised at frame 0"),
        (astray, "wall.map was never recognised"),
    ):
        print_summary(result)
        printed = capsys.readouterr().out
        assert printed.count(words) == 1 and "places" in printed
        assert render_page(result, [], EtaExtremes()).count(words) == 1
        assert words in result._repr_html_()


def test_frames_in_other_worlds_than_the_map_are_counted(
    frames: list[DecodedFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recognised late, and nothing joins what was before."""
    file = tmp_path / "wall.map"
    run(frames, save_map=file)
    other = SmoothScene.build(5, finest=0.02)
    elsewhere = [frame_of(k, *other.image(MINI, pose)) for k, pose in enumerate(POSES[:4])]
    back = [at(frames[p], k) for k, p in enumerate(range(12, 4, -1), 4 + CAP)]
    monkeypatch.setattr("prism_vo.withdrawal.poor_segments", lambda _: [])  # four frames are hardly a map
    result = run([*elsewhere, *(black_frame(4 + k) for k in range(CAP)), *back], known=file)
    seen = result.recognition
    assert seen is not None and seen.map_frame == 4 + CAP and result.exit_code == 3
    assert seen.map_words == f"map wall.map: recognised at frame {4 + CAP}; 4 frames are in other worlds"


def test_a_map_without_places_is_refused(frames: list[DecodedFrame], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="loops"):
        run(frames, loops=False, known=tmp_path / "none.map")


def test_off_by_default_and_maps_say_so_before_anything_is_done(
    frames: list[DecodedFrame], tmp_path: Path
) -> None:
    result = pipeline.run(FrameList(frames[:2]), Config())
    assert not Config().loops and result.odometry.places is None
    assert not result.odometry.map.corrections.segment_of and all(
        "places" not in r.seconds for r in result.reports
    )
    for more in ({"save_map": tmp_path / "a.map"}, {"known": tmp_path / "a.map"}):
        with pytest.raises(ConfigError, match="--loops"):
            pipeline.run(FrameList(frames[:2]), Config(), tmp_path / "results", **more)  # type: ignore[arg-type]
    pinhole = replace(Config(), loops=True, variant="pinhole")
    with pytest.raises(ConfigError, match="pinhole"):
        pipeline.run(FrameList(frames[:2]), pinhole, save_map=tmp_path / "a.map")
    assert not list(tmp_path.iterdir())


def test_joined_segments_have_one_world() -> None:
    world = Map(
        {k: np.eye(4) for k in (0, 4, 9)}, {k: 0.1 * k for k in (0, 4, 9)}, segment_of={0: 0, 4: 1, 9: 2}
    )
    assert world.keyframe_trajectory(MINI).segments.tolist() == [0, 1, 2]
    world.corrections.joined = {0: 0, 1: 0, 2: 2}
    assert world.keyframe_trajectory(MINI).segments.tolist() == [0, 0, 2]
