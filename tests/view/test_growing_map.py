# SPDX-License-Identifier: Apache-2.0
"""A dense map that grows while a run goes: true, shown once, bounded, and without a trace in the results."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from scipy.spatial import cKDTree

from prism_vo import pipeline
from prism_vo.datasets import open_sequence
from prism_vo.dense.densify import grid_of
from prism_vo.dense.records import DenseFrame, DepthMap, Planes, Prior
from prism_vo.dense_run import DenseSink
from prism_vo.errors import InputError
from prism_vo.optics.view import FocusedView
from prism_vo.view import growing_map, rerun_sink
from prism_vo.view.growing_map import GrowingMap, MapPart, NewKeyframe, part_of

VIEW = FocusedView("central", 40, 40, 40.0, 20.0, 20.0, 0.0, 2.0, 0.5, 0.02, 0.98)


def depths(inv_depth: np.ndarray, x: float = 0.0, index: int = 0) -> DepthMap:
    """A keyframe at (x, 0, 0) with these inverse depths."""
    grid, flat = grid_of(VIEW), np.zeros((40, 40), np.float32)
    pose = np.eye(4)
    pose[0, 3] = -x
    frame = DenseFrame(index, pose, flat, Prior(flat, flat), np.zeros((40, 40, 3), np.uint8))
    return DepthMap(frame, grid, Planes(inv_depth.astype(np.float32), flat, flat), flat, flat)


def test_a_part_has_what_keyframes_before_it_do_not_show() -> None:
    wall = np.full((40, 40), 0.5)  # at 2 m
    left = np.where(np.arange(40) < 20, wall, np.nan)
    whole = part_of(depths(wall), [], 0.0)
    assert len(whole.points) == 1600
    assert np.allclose(whole.points[:, 2], 2.0)
    rest = part_of(depths(wall), [depths(left)], 0.0)
    assert 760 <= len(rest.points) <= 840
    assert (rest.points[:, 0] > -0.1).all()
    assert not len(part_of(depths(wall), [depths(wall, x=0.0), depths(left)], 0.0).points)
    nearer = part_of(depths(2.0 * wall), [depths(wall)], 0.0)  # stands before it: something else
    assert len(nearer.points) == 1600


def test_parts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_map, "PART_POINTS", 100)
    assert 50 < len(part_of(depths(np.full((40, 40), 0.5)), [], 0.0).points) <= 100


class Lookers:
    """What a viewer would show."""

    def __init__(self) -> None:
        self.parts: dict[int, MapPart] = {}
        self.hidden: list[int] = []
        self.threads: set[str] = set()

    def show(self, part: MapPart) -> None:
        self.threads.add(threading.current_thread().name)
        self.parts[part.index] = part

    def hide(self, index: int) -> None:
        self.hidden.append(index)


class Growing:
    """A sink that lets a map grow."""

    def __init__(self, dense: DenseSink) -> None:
        self.dense, self.seen = dense, Lookers()
        self.map: GrowingMap | None = None

    def on_frame(self, report: Any, frame: Any, odometry: Any) -> None:
        if report.status != "keyframe":
            return
        reader = rerun_sink.DepthReader(self.dense, odometry.config)
        self.map = self.map or GrowingMap(reader, self.seen.show, self.seen.hide)
        poses = {k.frame_index: k.pose for k in odometry.window.keyframes}
        self.map.add(NewKeyframe(report.index, report.time, report.segment, odometry.window.view, poses))

    def on_end(self, result: Any) -> None:
        assert self.map is not None
        self.map.finish()


def test_it_grows_where_the_final_map_is_and_leaves_results_alone(
    recording: Path, reported: pipeline.RunResult, tmp_path: Path
) -> None:
    sequence = open_sequence(recording)
    dense = DenseSink(tmp_path / "r", sequence)
    growing = Growing(dense)
    pipeline.run(sequence, out=tmp_path / "r", sinks=[dense, growing])
    parts = growing.seen.parts
    assert len(parts) >= 2
    assert threading.main_thread().name not in growing.seen.threads
    assert dense.map is not None
    points = np.concatenate([part.points for part in parts.values()])
    assert len(points) > 2000
    distance = cKDTree(dense.map.cloud.points).query(points)[0] / points[:, 2]
    assert np.median(distance) < 0.01
    assert reported.out is not None
    for name in ("trajectory.txt", "keyframes.txt", "points.ply"):
        assert (tmp_path / "r" / name).read_bytes() == (reported.out / name).read_bytes(), name


def test_frames_that_cannot_be_read_again_are_left_out() -> None:
    def gone(index: int) -> Any:
        raise InputError(f"{index} is gone")

    seen = Lookers()
    growing = GrowingMap(gone, seen.show, seen.hide)
    growing.add(NewKeyframe(0, 0.0, 0, VIEW, {0: np.eye(4)}))
    growing.finish()
    assert not seen.parts


def test_a_mistake_of_the_thread_is_not_hidden() -> None:
    def wrong(index: int) -> Any:
        raise RuntimeError("mistake")

    growing = GrowingMap(wrong, print, print)
    growing.add(NewKeyframe(0, 0.0, 0, VIEW, {0: np.eye(4)}))
    with pytest.raises(RuntimeError, match="mistake"):
        growing.finish()


def test_who_waits_too_long_is_left_out_and_an_early_end_does_not_wait() -> None:
    go, decoded = threading.Event(), []

    def slow(index: int) -> Any:
        decoded.append(index)
        go.wait(10)
        raise InputError("enough")

    growing = GrowingMap(slow, print, print)
    for index in range(50):
        growing.add(NewKeyframe(index, 0.0, 0, VIEW, {index: np.eye(4)}))
    growing.abandon()
    go.set()
    assert len(decoded) <= 1


def test_another_world_or_scale_begins_anew_and_the_oldest_parts_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = Lookers()
    growing = GrowingMap(lambda index: None, seen.show, seen.hide)  # type: ignore[arg-type,return-value]
    wall = np.full((40, 40), 0.5)

    def frame(decoded: object, pose: np.ndarray, view: FocusedView) -> DenseFrame:
        return replace(depths(wall).frame, index=growing_index[-1], T_view_world=pose)

    def refined(place: int, frames: list[DenseFrame], grid: object) -> Any:
        return replace(depths(wall), frame=frames[place]), []

    growing_index: list[int] = []
    monkeypatch.setattr(growing_map, "dense_frame", frame)
    monkeypatch.setattr(growing_map, "depth_map", refined)
    monkeypatch.setattr(growing_map, "confirmed", lambda depth, others: depth)
    monkeypatch.setattr(growing_map, "MOST_POINTS", 3000)

    def pose(x: float) -> np.ndarray:
        out = np.eye(4)
        out[0, 3] = -x
        return out

    def add(index: int, segment: int, scale: float) -> None:
        growing_index.append(index)
        poses = {k: pose(10.0 * scale * k) for k in range(max(0, index - 3), index + 1)}
        growing._grow(NewKeyframe(index, 0.0, segment, VIEW, poses))  # in this thread, one after the other

    for index in range(7):
        add(index, 0, 1.0)
    assert list(seen.parts) == [0, 1, 2]
    assert seen.hidden == [0, 1]  # 1600 points each: beyond 3000 the oldest leave
    add(7, 0, 1.2)  # the focus was corrected
    assert seen.hidden == [0, 1, 0, 1, 2]
    for index in range(8, 13):
        add(index, 0, 1.2)
    assert list(seen.parts) == [0, 1, 2, 7, 8]
    add(13, 1, 1.2)
    assert 8 in seen.hidden
    growing.abandon()


def test_rerun_shows_the_parts_and_in_the_end_the_whole_map(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rr, logged = MagicMock(), MagicMock()
    monkeypatch.setattr(rerun_sink, "open_recording", lambda record: (rr, logged))
    sequence = open_sequence(recording)
    dense = DenseSink(tmp_path, sequence)
    sink = rerun_sink.RerunSink(None, dense)
    pipeline.run(sequence, sinks=[dense, sink])
    sink.close()
    names = [call.args[0] for call in logged.log.call_args_list]
    parts = [name for name in names if name.startswith("world/map/")]
    assert len(parts) >= 2
    assert len(set(parts)) == len(parts)
    assert names[-2:] == ["world/map", "world/map"]  # cleared, then the map that was written
