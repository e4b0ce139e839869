# SPDX-License-Identifier: Apache-2.0
"""Sequence → results folder: complete, reproducible to the byte, and safe against whatever ends a run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import yaml
from decoded_frames import CAMERA, VIEW, FrameList, black_frame, wall

from prism_vo.cli import main
from prism_vo.cloud import read_ply
from prism_vo.config import Config
from prism_vo.errors import InputError
from prism_vo.odometry import FrameReport, Odometry
from prism_vo.optics.calibration import save_calibration
from prism_vo.pipeline import RunResult, run
from prism_vo.sensor import DecodedSensor
from prism_vo.simulate import Renderer, SensorModel, plane_scene
from prism_vo.trajectory import Trajectory, read_trajectory
from prism_vo.types import DecodedFrame, RawFrame

FILES = ("trajectory.txt", "keyframes.txt", "points.ply")


def sequence(count: int = 10) -> FrameList:
    frames, truth = wall(16)
    times = np.array([f.time for f in frames[:count]])
    return FrameList(list(frames[:count]), Trajectory(times, truth[:count]))


def statistics(folder: Path) -> list[dict]:
    """Lines of stats.jsonl without the clock."""
    lines = [json.loads(line) for line in (folder / "stats.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if k != "seconds"} for line in lines]


def test_results_folder_is_complete(tmp_path: Path) -> None:
    out = tmp_path / "results"
    result = run(sequence(), out=out)
    others = {
        "poses.csv",
        "stats.jsonl",
        "config.yaml",
        "covariances.txt",
        "camera_refined.yaml",
        ".prism-vo.json",
    }
    assert {p.name for p in out.iterdir()} == {*FILES, *others}
    covariances = np.loadtxt(out / "covariances.txt")
    assert covariances.shape == (10, 37)
    np.testing.assert_array_equal(covariances[:, 0], result.trajectory.times)
    np.testing.assert_allclose(
        covariances[:, 1:].reshape(-1, 6, 6), result.odometry.pose_covariances(), rtol=1e-5, atol=1e-30
    )
    trajectory = read_trajectory(out / "trajectory.txt")
    np.testing.assert_allclose(trajectory.poses, result.trajectory.poses, atol=1e-8)
    assert len(trajectory) == 10
    keyframes = read_trajectory(out / "keyframes.txt")
    assert len(keyframes) == sum(r.status == "keyframe" for r in result.reports)
    assert len(read_ply(out / "points.ply").points) == len(result.odometry.cloud().points) > 200
    lines = statistics(out)
    assert [line["frame"] for line in lines] == list(range(10))
    assert all(line["state"] in ("ok", "keyframe") for line in lines)
    mapped = [line for line in lines if "eta" in line]
    assert mapped and all(line["energy_after"] <= line["energy_before"] for line in mapped)
    settings = yaml.safe_load((out / "config.yaml").read_text())
    assert settings["settings"]["seed"] == 0 and settings["version"]
    assert result.metrics is None and "straight line" in (
        result.metrics_refusal or ""
    )  # a straight path fixes no rotation


def test_threads_and_repetition_change_no_byte(tmp_path: Path) -> None:
    for name, threads in (("with", True), ("without", False), ("again", True)):
        run(sequence(), out=tmp_path / name, threads=threads)
    for name in ("without", "again"):
        for file in FILES:
            assert (tmp_path / name / file).read_bytes() == (tmp_path / "with" / file).read_bytes(), file
        assert statistics(tmp_path / name) == statistics(tmp_path / "with")


class RawList(FrameList):
    """Raw frames in memory."""

    is_decoded = False


def test_raw_images_give_the_same_bytes_with_and_without_threads(tmp_path: Path) -> None:
    renderer = Renderer(
        CAMERA.calibration, plane_scene(1.2), samples=4, threads=2, sensor=SensorModel(noise=1.0), seed=0
    )
    frames = []
    for k in range(5):
        pose = np.eye(4)
        pose[0, 3] = 0.02 * k
        frames.append(RawFrame(k, 0.1 * k, renderer.raw(pose, frame=k, time=0.1 * k, exposure=1.0)))
    for name, threads in (("with", True), ("without", False)):
        result = run(RawList(frames, white=renderer.white()), out=tmp_path / name, threads=threads)
        assert {r.status for r in result.reports} <= {"ok", "keyframe"}
    for file in FILES:
        assert (tmp_path / "with" / file).read_bytes() == (tmp_path / "without" / file).read_bytes(), file
    moved = np.linalg.norm(result.trajectory.poses[-1][:3, 3])
    assert moved == pytest.approx(0.08, rel=0.05)  # metric, from raw images of a plane


class Saboteur:
    """A sink that fails at some frame, and looks at the folder just before."""

    def __init__(self, frame: int, error: BaseException, folder: Path) -> None:
        self.frame, self.error, self.folder = frame, error, folder
        self.lines_on_disk: list[int] = []

    def on_frame(self, report: FrameReport, frame: DecodedFrame, odometry: Odometry) -> None:
        self.lines_on_disk.append(len(read_trajectory(self.folder / "trajectory.txt")))
        if report.index == self.frame:
            raise self.error

    def on_end(self, result: RunResult) -> None:
        raise AssertionError("a failed run has no end")


@pytest.mark.parametrize(
    "error", [RuntimeError("viewer died"), KeyboardInterrupt()], ids=["failure", "Ctrl-C"]
)
@pytest.mark.parametrize("threads", [True, False])
def test_a_run_that_dies_leaves_what_it_had(tmp_path: Path, error: BaseException, threads: bool) -> None:
    saboteur = Saboteur(5, error, tmp_path)
    with pytest.raises(type(error)):
        run(sequence(), out=tmp_path, sinks=[saboteur], threads=threads)
    assert saboteur.lines_on_disk == [1, 2, 3, 4, 5, 6]  # every frame was on disk as soon as it was tracked
    assert len(read_trajectory(tmp_path / "trajectory.txt")) == 6
    assert len(statistics(tmp_path)) == 6


def test_results_are_not_overwritten_unless_forced(tmp_path: Path) -> None:
    run(sequence(4), out=tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in FILES}
    with pytest.raises(InputError, match="--force"):
        run(sequence(3), out=tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in FILES} == before
    run(sequence(3), out=tmp_path, force=True)
    assert len(read_trajectory(tmp_path / "trajectory.txt")) == 3
    with pytest.raises(InputError, match="is a file"):
        run(sequence(3), out=tmp_path / "trajectory.txt")


class Unreadable(FrameList):
    """A sequence whose first image is damaged."""

    def __getitem__(self, index: int) -> DecodedFrame:
        raise InputError("000000.png: cannot be read.")


def test_input_that_cannot_be_used_leaves_older_results_and_no_folder(tmp_path: Path) -> None:
    run(sequence(3), out=tmp_path / "old")
    before = {name: (tmp_path / "old" / name).read_bytes() for name in FILES}
    damaged = Unreadable(sequence(3).frames)
    for out, force in ((tmp_path / "old", True), (tmp_path / "new", False)):
        with pytest.raises(InputError, match="cannot be read"):
            run(damaged, out=out, force=force)
    assert {name: (tmp_path / "old" / name).read_bytes() for name in FILES} == before
    assert not (tmp_path / "new").exists()


def test_no_more_frames_are_read_than_asked_for() -> None:
    frames = sequence()
    result = run(frames, frames=4)
    assert result.out is None and len(result.reports) == 4
    assert sorted(set(frames.read)) == [0, 1, 2, 3]
    with pytest.raises(InputError, match="no frames"):
        run(FrameList([]))


def with_darkness(dark: int) -> FrameList:
    frames, _ = wall(16)
    later = [replace(f, index=f.index + dark, time=f.time + 0.1 * dark) for f in frames[6:10]]
    return FrameList([*frames[:6], *(black_frame(6 + k) for k in range(dark)), *later])


def test_lost_frames_are_in_the_statistics_and_not_in_the_trajectory(tmp_path: Path) -> None:
    result = run(with_darkness(2), out=tmp_path)
    assert result.lost == 2
    states = [line["state"] for line in statistics(tmp_path)]
    assert states[6:8] == ["lost", "lost"] and "lost" not in states[:6] + states[8:]
    times = read_trajectory(tmp_path / "trajectory.txt").times
    assert len(times) == 10 and not np.isin([0.6, 0.7], np.round(times, 6)).any()


def test_a_sequence_without_light_ends_without_a_pose(tmp_path: Path) -> None:
    result = run(FrameList([black_frame(k) for k in range(4)]), out=tmp_path)
    assert result.lost == 4 and len(result.trajectory) == 0
    assert [line["state"] for line in statistics(tmp_path)] == ["lost"] * 4


def write_native(folder: Path, frames: list[DecodedFrame]) -> Path:
    """A decoded sequence on disk."""
    for name in ("focused", "virtual_depth", "virtual_depth_sigma"):
        (folder / name).mkdir(parents=True)
    save_calibration(CAMERA.calibration, folder / "camera.yaml")
    (folder / "decoded.yaml").write_text(
        "{view: central, convention: true, virtual_depth: float32, sigma: float32}"
    )
    for k, frame in enumerate(frames):
        cv2.imwrite(
            str(folder / "focused" / f"{k:06d}.png"), np.rint(frame.image).clip(0, 255).astype(np.uint8)
        )
        np.save(folder / "virtual_depth" / f"{k:06d}.npy", frame.inv_virtual_depth)
        np.save(folder / "virtual_depth_sigma" / f"{k:06d}.npy", np.sqrt(frame.variance))
    return folder


def test_command_says_by_its_exit_code_whether_every_frame_has_a_pose(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = write_native(tmp_path / "whole", sequence(5).frames)
    dark = write_native(tmp_path / "dark", with_darkness(2).frames)
    options = ["--no-report", "--out"]
    assert main(["run", str(whole), *options, str(tmp_path / "a")]) == 0
    assert "every frame has a pose" in capsys.readouterr().out
    assert main(["run", str(dark), *options, str(tmp_path / "b")]) == 3
    assert "2 frames without a pose" in capsys.readouterr().out
    assert len(read_trajectory(tmp_path / "b" / "trajectory.txt")) == 10
    assert main(["run", str(whole), *options, str(tmp_path / "a")]) == 2
    error = capsys.readouterr().err
    assert "--force" in error and "Traceback" not in error
    assert main(["run", str(whole), *options, str(tmp_path / "a"), "--force", "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_seed_and_variant_are_settings_of_the_command(tmp_path: Path) -> None:
    folder = write_native(tmp_path / "s", sequence(4).frames)
    options = ["--no-report", "--quiet", "--seed", "5", "--variant", "plenoptic", "--frames", "3"]
    assert main(["run", str(folder), *options, "--out", str(tmp_path / "o")]) == 0
    settings = yaml.safe_load((tmp_path / "o" / "config.yaml").read_text())["settings"]
    assert settings["seed"] == 5 and settings["variant"] == "plenoptic"
    assert len(read_trajectory(tmp_path / "o" / "trajectory.txt")) == 3
    assert Config().seed == 0


def test_the_last_frames_are_refined_like_all_others() -> None:
    """Frames after the last keyframe are located once more at the end of a run, too."""
    frames = sequence(10)
    result = run(frames, threads=False)
    assert result.reports[-1].status == "ok", "the last frame must not be a keyframe for this test"
    by_hand = Odometry(frames.camera, sensor=DecodedSensor(VIEW), threads=False)
    for frame in frames:
        by_hand(frame)
    tracked = by_hand.trajectory().poses[-1]
    by_hand.finish()
    refined = by_hand.trajectory().poses[-1]
    assert (tracked != refined).any()
    np.testing.assert_array_equal(result.trajectory.poses[-1], refined)
