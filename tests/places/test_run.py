# SPDX-License-Identifier: Apache-2.0
"""Runs that come back: after a covered lens, in a map of an earlier run; the same bytes with and without threads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from decoded_frames import VIEW as MINI
from decoded_frames import FrameList, black_frame, frame_of
from smooth_scene import SmoothScene, sideways_poses

from prism_vo import pipeline, se3
from prism_vo.config import Config
from prism_vo.errors import ConfigError
from prism_vo.map.world import Map
from prism_vo.pipeline import RunResult
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
    assert len(pipeline.map_of(second.odometry).keyframes) > len(pipeline.map_of(first.odometry).keyframes)


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
