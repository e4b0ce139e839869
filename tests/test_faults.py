# SPDX-License-Identifier: Apache-2.0
"""What happens to a recording, on exact focused images: light that changes, things in the way, other places."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from decoded_frames import CAMERA, VIEW, FrameList, black_frame, frame_of, relative_errors, wall
from smooth_scene import SmoothScene, sideways_poses

from prism_vo import notices
from prism_vo.commands.call import finished_before
from prism_vo.evaluate.metrics import evaluate_trajectory
from prism_vo.odometry import FrameReport, Odometry
from prism_vo.pipeline import run
from prism_vo.sensor import DecodedSensor
from prism_vo.trajectory import Trajectory, read_trajectory
from prism_vo.types import DecodedFrame, UnreadableFrame

MM = 1e-3


def track(frames: list[DecodedFrame]) -> tuple[Odometry, list[FrameReport]]:
    odometry = Odometry(CAMERA, sensor=DecodedSensor(VIEW))
    return odometry, [odometry(frame) for frame in frames]


def brighter(frame: DecodedFrame, gain: float) -> DecodedFrame:
    return replace(frame, image=(frame.image * np.float32(gain)).astype(np.float32))


def elsewhere(count: int, first: int) -> list[DecodedFrame]:
    scene = SmoothScene.build(9, finest=0.08)
    return [frame_of(first + k, *scene.image(VIEW, pose)) for k, pose in enumerate(sideways_poses(count))]


@pytest.mark.parametrize("gain", [0.15, 0.3, 0.6, 2.0])
def test_a_change_of_light_that_nobody_announced_is_found(gain: float) -> None:
    frames, truth = wall(16)
    _, reports = track([brighter(f, gain) if k >= 5 else f for k, f in enumerate(frames[:10])])
    assert {r.status for r in reports} <= {"ok", "keyframe"}
    translation, _ = relative_errors(np.array([r.T_world_cam for r in reports]), truth[:10])
    assert translation.max() < 1.0 * MM
    assert min(r.quality for r in reports) > 0.5


def test_a_light_that_flickers_makes_no_keyframes_of_its_own() -> None:
    frames, truth = wall(16)
    _, calm = track(list(frames[:10]))
    _, reports = track([brighter(f, 0.6) if k % 2 else f for k, f in enumerate(frames[:10])])
    assert {r.status for r in reports} <= {"ok", "keyframe"}
    count = [sum(r.status == "keyframe" for r in each) for each in (calm, reports)]
    assert count[1] <= count[0] + 2  # each of them used to become one
    translation, _ = relative_errors(np.array([r.T_world_cam for r in reports]), truth[:10])
    assert translation.max() < 1.0 * MM


def partly_covered() -> list[DecodedFrame]:
    """Twelve frames; another scene wanders through 40 % of the five from the fifth on."""
    frames, _ = wall(16)
    foreign, width = elsewhere(5, 4), int(0.4 * VIEW.width)
    covered = list(frames[:12])
    for k, other in enumerate(foreign, 4):
        image, rho = covered[k].image.copy(), np.array(covered[k].inv_virtual_depth)
        left = 6 * (k - 4)
        image[:, left : left + width] = other.image[:, left : left + width]
        assert other.inv_virtual_depth is not None
        rho[:, left : left + width] = other.inv_virtual_depth[:, left : left + width]
        covered[k] = replace(covered[k], image=image, inv_virtual_depth=rho)
    return covered


def test_what_covers_the_scene_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of them becomes a keyframe, and all that are tracked against that count, too; ten are said."""
    assert run(FrameList(partly_covered())).exit_code == 0
    monkeypatch.setattr(notices, "LEAST_FRAMES", 3)
    result = run(FrameList(partly_covered()), out=tmp_path / "out")
    seen = [r.index for r in result.reports if r.covered > 0.0]
    assert seen[:3] == [4, 5, 6] and max(seen) < 10
    assert all(0.2 < r.covered < 0.7 for r in result.reports if r.covered > 0.0)
    assert any("shows something else than the map" in notice for notice in result.notices)
    assert result.lost == 0 and result.exit_code == 3
    assert finished_before(tmp_path / "out") == 3
    marker = next(
        path for path in (tmp_path / "out").iterdir() if "exit_code" in path.read_text(errors="ignore")
    )
    older = {k: v for k, v in json.loads(marker.read_text()).items() if k != "exit_code"}
    marker.write_text(json.dumps(older))  # as folders of versions before have it
    assert finished_before(tmp_path / "out") == 0
    lines = [json.loads(line) for line in (tmp_path / "out" / "stats.jsonl").read_text().splitlines()]
    assert [line["frame"] for line in lines if line.get("covered")] == seen


def test_what_covers_forty_per_cent_is_left_out() -> None:
    _, truth = wall(16)
    odometry, reports = track(partly_covered())
    odometry.finish()
    assert {r.status for r in reports} <= {"ok", "keyframe"}
    translation, _ = relative_errors(np.array([r.T_world_cam for r in reports]), truth[:12])
    assert translation[:5].max() < 0.3 * MM  # before anything covered is part of a keyframe
    moved = np.linalg.norm(odometry.trajectory().positions - truth[:12, :3, 3], axis=1)
    assert moved.max() < 0.05 * np.linalg.norm(truth[11, :3, 3] - truth[0, :3, 3])
    assert max(r.quality for r in reports[4:6]) < 0.6 < min(r.quality for r in reports[1:4])


def test_an_image_that_fits_badly_and_contradicts_measured_depth_is_not_believed() -> None:
    """The same picture with noise, nearer than the map says: images alone would take it."""
    frames, _ = wall(16)
    noise = np.random.default_rng(0).normal(0.0, 12.0, frames[6].image.shape)
    rho = frames[6].inv_virtual_depth
    assert rho is not None
    noisy = replace(frames[6], image=(frames[6].image + noise).astype(np.float32))
    false = replace(noisy, inv_virtual_depth=(rho + np.float32(0.02)).astype(np.float32))
    _, honest = track([*frames[:6], noisy])
    assert honest[-1].status in ("ok", "keyframe")
    _, reports = track([*frames[:6], false])
    assert reports[-1].status == "lost" and reports[-1].quality == 0.0
    assert reports[-1].verdict is not None
    assert reports[-1].verdict.contradiction == "Measured depth contradicts the pose."


@pytest.mark.parametrize("late", [1, 2])
def test_an_image_whose_halves_belong_to_two_poses_is_not_believed(late: int) -> None:
    """A pose between the two fits both nearly as well as a true one, and measured depth agrees."""
    frames, _ = wall(16)
    whole, before = frames[8], frames[8 - late]
    assert whole.inv_virtual_depth is not None and before.inv_virtual_depth is not None
    half = VIEW.height // 2
    image = np.concatenate([whole.image[:half], before.image[half:]])
    rho = np.concatenate([whole.inv_virtual_depth[:half], before.inv_virtual_depth[half:]])
    _, reports = track([*frames[:8], replace(whole, image=image, inv_virtual_depth=rho)])
    assert {r.status for r in reports[:-1]} <= {"ok", "keyframe"}
    assert reports[-1].status == "lost"


@pytest.fixture(scope="module")
def two_worlds(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    frames, truth = wall(16)
    frames_all = [*frames[:8], *(black_frame(8 + k) for k in range(2)), *elsewhere(12, 10)]
    other = np.array([np.linalg.inv(p) for p in sideways_poses(12)])
    poses = np.concatenate([truth[:8], truth[:2], other + 0.0])
    poses[10:, :3, 3] += 3.0  # it lies somewhere else, and nobody knows where
    out = tmp_path_factory.mktemp("worlds") / "out"
    times = np.array([f.time for f in frames_all])
    return run(FrameList(frames_all, Trajectory(times, poses)), out=out), out


def test_a_new_segment_has_a_world_of_its_own(two_worlds) -> None:  # type: ignore[no-untyped-def]
    result, _ = two_worlds
    first = next(r for r in result.reports if r.segment == 1)
    assert first.status == "keyframe" and first.quality == 1.0
    camera = result.reports[0].T_world_cam
    np.testing.assert_allclose(
        first.T_world_cam, camera, atol=1e-9
    )  # both begin at the origin of their world
    assert result.exit_code == 3
    assert result.trajectory.segment_count == 2
    assert result.metrics is not None and result.metrics.segments == 2
    assert result.metrics.se3.max_t < 3 * MM  # each aligned by itself: nothing was glued to an invented place
    assert "2 segments" in result.metrics.drift_refusal


def test_files_say_which_pose_belongs_to_which_segment(two_worlds) -> None:  # type: ignore[no-untyped-def]
    result, out = two_worlds
    read = read_trajectory(out / "trajectory.txt")
    np.testing.assert_array_equal(read.segments, result.trajectory.segments)
    assert read_trajectory(out / "keyframes.txt").segment_count == 2
    assert evaluate_trajectory(read, result.truth).segments == 2
    header, *lines = (out / "poses.csv").read_text().splitlines()
    assert header == "time,frame,segment,keyframe,state,quality"
    assert len(lines) == len(read)
    table = [line.split(",") for line in lines]
    np.testing.assert_array_equal([int(row[2]) for row in table], read.segments)
    np.testing.assert_array_equal([float(row[0]) for row in table], read.times)
    assert all(0.0 < float(row[5]) <= 1.0 for row in table)


def test_one_world_is_written_as_before(tmp_path: Path) -> None:
    result = run(FrameList(list(wall(16)[0][:4])), out=tmp_path / "out")
    assert "segment" not in (tmp_path / "out" / "trajectory.txt").read_text()
    assert read_trajectory(tmp_path / "out" / "trajectory.txt").segments is None
    assert result.exit_code == 0 and min(r.quality for r in result.reports) > 0.8


class Learning(DecodedSensor):
    """Notes when it is told to forget."""

    def __init__(self) -> None:
        super().__init__(VIEW)
        self.unlearnt = 0

    def unlearn(self) -> None:
        self.unlearnt += 1


def test_what_was_learnt_from_frames_no_map_can_begin_with_is_forgotten() -> None:
    frames, _ = wall(16)
    sensor = Learning()
    odometry = Odometry(CAMERA, sensor=sensor)
    reports = [odometry(frame) for frame in [black_frame(0), black_frame(1), *frames[2:5]]]
    assert [r.status for r in reports[:3]] == ["lost", "lost", "keyframe"]
    assert sensor.unlearnt == 2
    for k in range(5, 15):  # later on, nothing is: the map was made with it
        odometry(black_frame(k))
    assert sensor.unlearnt == 2


def with_little_depth(frame: DecodedFrame) -> DecodedFrame:
    """As of a blurred image: one pixel in ten has a depth."""
    valid = frame.valid & (np.arange(frame.image.shape[1]) % 10 == 0)
    unknown = np.float32(np.inf)
    return replace(frame, valid=valid, variance=np.where(valid, frame.variance, unknown).astype(np.float32))


def test_a_segment_waits_for_images_with_depth_but_not_for_ever() -> None:
    frames, other = list(wall(16)[0][:6]), elsewhere(30, 6)
    _, reports = track([*frames, *other[:12]])
    assert [r.segment for r in reports[-7:]] == [1] * 7  # patience is five frames
    poor = [with_little_depth(frame) for frame in other]
    _, reports = track([*frames, *poor[:9], *other[9:12]])
    assert {r.status for r in reports[6:15]} == {"lost"} and reports[15].segment == 1
    _, reports = track([*frames, *poor])
    lost = [r.index for r in reports if r.status == "lost"]
    assert lost == list(range(6, 6 + 15)) and reports[-1].segment == 1


@pytest.mark.parametrize("readable", [True, False])
def test_a_fast_camera_is_found_where_its_way_leads(readable: bool) -> None:
    """Two frames without a pose; the image has moved by 130 px of 512 since, and from no motion it is not found."""
    frames, truth = wall(12, 0.07)
    odometry, reports = Odometry(CAMERA, sensor=DecodedSensor(VIEW)), []
    for k, frame in enumerate(frames):
        if k not in (5, 6):
            reports.append(odometry(frame))
        elif readable:
            assert odometry(black_frame(k)).status == "lost"
        else:
            assert odometry.miss(UnreadableFrame(k, frame.time, "damaged file.")).status == "lost"
    assert {r.status for r in reports} == {"keyframe"} and odometry.segment == 0
    translation, _ = relative_errors(np.array([r.T_world_cam for r in reports]), np.delete(truth, (5, 6), 0))
    assert translation.max() < 0.02 * 70 * MM  # of a step
