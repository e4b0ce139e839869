# SPDX-License-Identifier: Apache-2.0
"""The whole odometry on exact focused images and exact depth."""

from dataclasses import replace

import numpy as np
import pytest
from decoded_frames import CAMERA, VIEW, black_frame, frame_of, relative_errors, wall

from prism_vo import se3
from prism_vo.config import Config
from prism_vo.odometry import FrameReport, Odometry
from prism_vo.sensor import DecodedSensor
from prism_vo.simulate import CATALOGUE, Renderer, build_scene, plan
from prism_vo.types import DecodedFrame


def track(frames: list[DecodedFrame], config: Config | None = None) -> tuple[Odometry, list[FrameReport]]:
    odometry = Odometry(CAMERA, config, sensor=DecodedSensor(VIEW))
    return odometry, [odometry(frame) for frame in frames]


@pytest.fixture(scope="module")
def drift() -> tuple[Odometry, list[FrameReport], np.ndarray]:
    frames, truth = wall(16)
    odometry, reports = track(list(frames))
    return odometry, reports, truth


def test_ideal_images_of_a_simulated_table_give_poses_to_a_ten_thousandth_of_the_depth() -> None:
    poses = plan(CATALOGUE["table"].path, frames=None, seed=0).poses[:24:2]
    renderer = Renderer(CAMERA.calibration, build_scene("table", seed=0), samples=4, aperture=0.75, threads=2)
    views = [renderer.view_truth(pose, "central") for pose in poses]
    frames = [frame_of(k, view.image, VIEW.inv_depth_of(view.depth)) for k, view in enumerate(views)]
    odometry, reports = track(frames)
    assert all(report.status in ("ok", "keyframe") for report in reports)
    assert sum(report.status == "keyframe" for report in reports) > 4
    translation, rotation = relative_errors(odometry.trajectory().poses, poses)
    depth = float(np.median(views[0].depth))
    assert np.sqrt((translation**2).mean()) < 1e-4 * depth
    assert np.sqrt((rotation**2).mean()) < 1.5e-4
    moved = float(np.linalg.norm(poses[-1][:3, 3] - poses[0][:3, 3]))
    assert moved > 0.1  # metres: it did move
    ours = np.linalg.norm(reports[-1].T_world_cam[:3, 3] - reports[0].T_world_cam[:3, 3])
    assert ours == pytest.approx(moved, rel=5e-3)  # metric from the first frame on


def test_a_drift_along_a_wall_is_followed(drift: tuple[Odometry, list[FrameReport], np.ndarray]) -> None:
    odometry, reports, truth = drift
    assert reports[0].status == "keyframe"
    assert {r.status for r in reports} == {"ok", "keyframe"}
    ours = odometry.trajectory().poses
    translation, _ = relative_errors(ours, truth)
    assert np.sqrt((translation**2).mean()) < 1e-4 * 1.5
    end = se3.log(se3.inverse(truth[-1]) @ truth[0] @ se3.inverse(ours[0]) @ ours[-1])
    assert np.linalg.norm(end[:3]) < 0.01 * 0.2


def test_keyframe_reports_say_what_mapping_did(drift: tuple[Odometry, list[FrameReport], np.ndarray]) -> None:
    odometry, reports, _ = drift
    mapped = [r.mapping for r in reports if r.mapping is not None]
    assert len(mapped) >= 4
    for m in mapped:
        assert m.healthy and m.photometric_residuals > 100 and m.depth_residuals > 50
        assert (np.diff(m.energies) < 0).all()
        assert 0 < m.eta < 100
        assert 0 < m.scale_sigma < 0.05
    covariance = odometry.window.keyframes[-1].covariance
    assert covariance is not None and (np.linalg.eigvalsh(covariance) > 0).all()


def test_keyframes_carry_their_optimised_pose_in_the_trajectory(
    drift: tuple[Odometry, list[FrameReport], np.ndarray],
) -> None:
    odometry, reports, _ = drift
    trajectory, keyframes = odometry.trajectory(), odometry.keyframe_trajectory()
    assert len(trajectory) == len(reports)
    assert len(keyframes) == sum(r.status == "keyframe" for r in reports)
    for time, pose in keyframes:
        same = trajectory.poses[np.argmin(np.abs(trajectory.times - time))]
        np.testing.assert_allclose(same, pose, atol=1e-9)


def test_map_points_lie_on_the_wall(drift: tuple[Odometry, list[FrameReport], np.ndarray]) -> None:
    from smooth_scene import SmoothScene

    odometry, _, _ = drift
    cloud = odometry.cloud()
    assert len(cloud.points) > 300
    surface = SmoothScene.build(0, finest=0.08).relief
    z = surface.value(cloud.points[:, 0].astype(float), cloud.points[:, 1].astype(float))
    assert np.median(np.abs(cloud.points[:, 2] - z)) < 0.005


def test_the_same_frames_give_the_same_numbers() -> None:
    frames, _ = wall(16)
    first, _ = track(list(frames[:8]))
    second, _ = track(list(frames[:8]))
    np.testing.assert_array_equal(first.trajectory().poses, second.trajectory().poses)
    np.testing.assert_array_equal(first.cloud().points, second.cloud().points)
    other, _ = track(list(frames[:8]), replace(Config(), seed=1))
    assert (first.trajectory().poses != other.trajectory().poses).any()


def test_without_depth_terms_the_start_alone_gives_the_scale() -> None:
    frames, truth = wall(16)
    odometry, reports = track(list(frames[:10]), replace(Config(), variant="plenoptic"))
    assert {r.status for r in reports} == {"ok", "keyframe"}
    assert odometry.window.depth(odometry.window.points) is None and odometry.window.eta == 0.0
    moved = np.linalg.norm(odometry.trajectory().poses[-1][:3, 3])
    assert moved == pytest.approx(np.linalg.norm(truth[9][:3, 3] - truth[0][:3, 3]), rel=0.02)


def test_exposure_changes_do_not_disturb() -> None:
    """Known exposure times, a factor 1.5 apart, with images as bright as they say."""
    frames, truth = wall(16)
    exposures = [0.01 * (1.0, 1.2, 1.5, 1.3)[k % 4] for k in range(10)]
    exposed = [
        replace(f, image=(f.image * np.float32(t / 0.01)).astype(np.float32), exposure=t)
        for f, t in zip(frames, exposures)
    ]
    odometry, reports = track(exposed)
    assert {r.status for r in reports} == {"ok", "keyframe"}
    translation, _ = relative_errors(odometry.trajectory().poses, truth[:10])
    assert np.sqrt((translation**2).mean()) < 3e-4 * 1.5
    assert abs(odometry.window.keyframes[-1].affine[0]) < 0.02  # all of it is explained by the times


@pytest.mark.parametrize("dark", [2, 9])
def test_frames_in_the_dark_are_lost_and_never_given_a_pose(dark: int) -> None:
    frames, truth = wall(16)
    covered = [black_frame(8 + k) for k in range(dark)]
    later = [replace(f, index=f.index + dark, time=f.time + 0.1 * dark) for f in frames[8:14]]
    odometry, reports = track([*frames[:8], *covered, *later])
    status = [r.status for r in reports]
    assert set(status[:8]) == {"ok", "keyframe"}
    assert set(status[8 : 8 + dark]) == {"lost"}
    after = reports[8 + dark :]
    assert {r.status for r in after} <= {"ok", "keyframe", "recovered"}
    times = odometry.trajectory().times
    assert len(times) == 14 and not any(abs(times - r.time).min() < 1e-9 for r in reports[8 : 8 + dark])
    # whatever happened to the segment, motion after it is metric and right
    ours = np.array([r.T_world_cam for r in after])
    translation, _ = relative_errors(ours, truth[8:14])
    assert np.sqrt((translation**2).mean()) < 1e-3 * 1.5
    if after[0].segment == reports[0].segment:
        error = np.linalg.norm(after[0].T_world_cam[:3, 3] - truth[8][:3, 3])
        assert error < 1e-3 * 1.5


def test_a_jump_to_another_place_starts_a_new_metric_segment() -> None:
    from smooth_scene import SmoothScene, sideways_poses

    frames, _ = wall(16)
    elsewhere, poses = SmoothScene.build(9, finest=0.08), sideways_poses(12)
    other = [frame_of(8 + k, *elsewhere.image(VIEW, pose)) for k, pose in enumerate(poses)]
    _, reports = track([*frames[:8], *other])
    assert reports[8].status == "lost"
    begin = next(k for k in range(8, 20) if reports[k].segment == 1)
    assert all(r.status == "lost" for r in reports[8:begin])
    assert {r.status for r in reports[begin:]} <= {"ok", "keyframe"}
    ours = np.array([r.T_world_cam for r in reports[begin:]])
    true = np.array([se3.inverse(p) for p in poses])[begin - 8 :]
    translation, _ = relative_errors(ours, true)
    assert np.sqrt((translation**2).mean()) < 1e-3 * 1.5


def test_a_sequence_that_begins_in_the_dark_waits_for_light() -> None:
    frames, _ = wall(16)
    later = [replace(f, index=f.index + 3, time=f.time + 0.3) for f in frames[:4]]
    odometry, reports = track([black_frame(0), black_frame(1), black_frame(2), *later])
    assert [r.status for r in reports[:3]] == ["lost"] * 3
    assert reports[3].status == "keyframe"
    assert len(odometry.trajectory()) == 4
