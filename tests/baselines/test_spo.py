# SPDX-License-Identifier: Apache-2.0
"""The semi-dense baseline: its parts on known answers, and the whole on images of a relief."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from plane_scene import Relief, arc, decoded, pinhole_view

from prism_vo import se3
from prism_vo.baselines.depth_filter import DepthMap, combine, observe, propagate, without_edges
from prism_vo.baselines.rgbd import RgbdOdometry
from prism_vo.baselines.scale_filter import ScaleFilter, ScaleMeasurement, measure_scale
from prism_vo.baselines.spo import SpoOdometry, light_field_depth
from prism_vo.evaluate.association import PoseSeries
from prism_vo.evaluate.metrics import TrajectoryMetrics, evaluate_trajectory

VIEW, SCENE = pinhole_view(), Relief()


def measured(estimated: list[np.ndarray], true: np.ndarray) -> TrajectoryMetrics:
    times = 0.1 * np.arange(len(true))
    return evaluate_trajectory(PoseSeries(times, np.array(estimated)), PoseSeries(times, true))


def run_spo(true: np.ndarray, first_shift: float = 0.0) -> tuple[list[np.ndarray], SpoOdometry]:
    rng, odometry, estimated = np.random.default_rng(0), SpoOdometry(VIEW), []
    for index, pose in enumerate(true):
        image, depth = SCENE.render(VIEW, pose)
        frame = decoded(VIEW, image, depth, rng)
        if index == 0:
            shifted = frame.inv_virtual_depth + np.float32(first_shift)  # type: ignore[operator]
            frame = dataclasses.replace(frame, inv_virtual_depth=shifted)
        pose_now, ok = odometry(image, lambda frame=frame: frame)  # type: ignore[misc]
        assert ok
        estimated.append(pose_now)
    return estimated, odometry


def test_spo_is_metric_on_known_images() -> None:
    true = arc(40, 0.12)
    estimated, odometry = run_spo(true)
    result = measured(estimated, true)
    assert odometry.keyframes >= 4
    assert result.se3.rmse_t_percent < 0.6 and result.scale_error < 0.02


def test_the_scale_filter_repairs_a_wrong_first_depth() -> None:
    # ρ_v shifted by 0.01 makes everything 10 % too far in the first keyframe, and in no other
    true = arc(44, 0.25)
    estimated, _ = run_spo(true, first_shift=0.01)
    assert measured(estimated[:4], true[:4]).scale < 0.95, "the start is wrong, or this test tests nothing"
    assert measured(estimated[20:], true[20:]).scale_error < 0.03


def test_observation_sharpens_depth_without_bias() -> None:
    rng = np.random.default_rng(1)
    poses = arc(60)
    image, depth = SCENE.render(VIEW, poses[0])
    before = without_edges(light_field_depth(decoded(VIEW, image, depth, rng)))
    after = before
    for k in (10, 15, 20):
        other, _ = SCENE.render(VIEW, poses[k])
        after = observe(after, image, other, se3.inverse(poses[k]) @ poses[0], VIEW, noise=1.0)
    touched = after.valid & (after.variance < 0.5 * before.variance)
    assert touched.mean() > 0.3
    error = (after.inv_depth - 1 / depth)[touched]
    assert np.median(np.abs(error)) < 0.5 * np.median(np.abs(before.inv_depth - 1 / depth)[touched])
    assert abs(np.median(error)) < 1e-3


def test_propagation_is_the_true_depth_of_the_new_view() -> None:
    poses = arc(30)
    _, depth = SCENE.render(VIEW, poses[0])
    _, there = SCENE.render(VIEW, poses[3])
    moved = propagate(DepthMap(1 / depth, np.full(depth.shape, 1e-8)), se3.inverse(poses[3]) @ poses[0], VIEW)
    assert moved.valid.mean() > 0.8
    wrong = np.abs(moved.inv_depth - 1 / there)[moved.valid] > 0.02
    assert wrong.mean() < 0.03, "only pixels at the depth edge may differ"


def test_combination_is_the_inverse_variance_mean() -> None:
    a = DepthMap(np.array([[1.0, 1.0, 0.0, 2.0]]), np.array([[0.01, 0.04, np.inf, 1e-6]]))
    b = DepthMap(np.array([[1.1, 0.0, 3.0, 1.0]]), np.array([[0.03, np.inf, 0.5, 1e-4]]))
    both = combine(a, b)
    np.testing.assert_allclose(both.inv_depth, [[1.025, 1.0, 3.0, 2.0]])
    np.testing.assert_allclose(both.variance, [[0.0075, 0.04, 0.5, 1e-6]])


def test_the_measured_scale_is_unbiased_when_the_map_is_noisy_too() -> None:
    rng = np.random.default_rng(3)
    q = rng.uniform(0.08, 0.12, (200, 200))
    a, b = (q + rng.normal(0, 0.02, q.shape) for _ in range(2))
    found = measure_scale(DepthMap(a, np.full(q.shape, 0.02**2)), DepthMap(b, np.full(q.shape, 0.02**2)))
    assert found is not None
    assert np.exp(found.log_scale) == pytest.approx(1.0, abs=0.015), "plain regression gives 0.96"


@pytest.mark.parametrize("true_scale", [0.8, 1.0, 1.25])
def test_the_measured_scale_is_unbiased_for_far_points(true_scale: float) -> None:
    rng = np.random.default_rng(2)
    q = rng.uniform(0.05, 1.0, (150, 150))
    noisy = true_scale * q + rng.normal(0, 0.02, q.shape)
    found = measure_scale(DepthMap(q, np.full(q.shape, 1e-8)), DepthMap(noisy, np.full(q.shape, 0.02**2)))
    assert found is not None
    assert np.exp(found.log_scale) == pytest.approx(true_scale, rel=2e-3)


def test_the_scale_filter_trusts_what_is_certain() -> None:
    certain, vague = ScaleFilter(), ScaleFilter()
    assert certain.update(ScaleMeasurement(0.1, 1e-8)) == pytest.approx(np.exp(0.1), rel=1e-3)
    assert vague.update(ScaleMeasurement(0.1, 1.0)) == pytest.approx(1.0, abs=1e-4)
    assert ScaleFilter().update(None) == 1.0


@pytest.mark.parametrize("opencv", [True, False])
def test_rgbd_follows_a_known_path(opencv: bool) -> None:
    cv2 = pytest.importorskip("cv2")
    if opencv and not hasattr(cv2, "Odometry"):
        pytest.skip("this OpenCV has no odometry")
    rng, odometry, estimated = np.random.default_rng(0), RgbdOdometry(VIEW, opencv=opencv), []
    true = arc(24, 0.12)
    for pose in true:
        image, depth = SCENE.render(VIEW, pose)
        pose_now, ok = odometry(decoded(VIEW, image, depth, rng, sigma=3e-4))
        assert ok
        estimated.append(pose_now)
    result = measured(estimated, true)
    assert result.se3.rmse_t_percent < 4 and odometry.keyframes > 1
    assert ("OpenCV" in odometry.engine_name) == opencv
