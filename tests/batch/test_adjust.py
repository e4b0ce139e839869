# SPDX-License-Identifier: Apache-2.0
"""Exact observations give exact parameters, noisy ones errors of the stated size."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from batch.exact_batch import camera_numbers, disturbed, seen_in, world

from prism_vo import se3
from prism_vo.batch.adjust import adjust, camera_prior
from prism_vo.batch.covariance import grouped_covariance, normal_covariance, point_gradient_variance
from prism_vo.batch.numbers import COUNT, FOCAL, KAPPA, NAMES, CameraNumbers, W, kappa_of
from prism_vo.batch.projection import POSE, project
from prism_vo.errors import DegenerateError
from prism_vo.simulate.cameras import preset_camera

FREE = np.full(COUNT, np.inf)


def test_jacobians_are_those_of_differences() -> None:
    state = world(points=6, keyframes=4)
    seen = seen_in(state)
    at = project(state, seen)
    step = 1e-6
    for k in range(COUNT):
        move = np.zeros(COUNT)
        move[k] = step * max(abs(state.camera.values[k]), 1e-3)
        ends = [
            project(state.moved(sign * move, np.zeros((4, 6)), np.zeros((6, 3))), seen).predicted
            for sign in (1, -1)
        ]
        numeric = (ends[0] - ends[1]) / (2 * move[k])
        np.testing.assert_allclose(
            at.by_camera[:, :, k], numeric, rtol=1e-4, atol=1e-6 * np.abs(numeric).max() + 1e-9
        )
    for k in range(POSE):
        move = np.zeros((4, 6))
        move[:, k] = step
        ends = [
            project(state.moved(np.zeros(COUNT), s * move, np.zeros((6, 3))), seen).predicted for s in (1, -1)
        ]
        numeric = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(at.by_pose[:, :, k], numeric, rtol=1e-4, atol=1e-4)
    for k in range(3):
        move = np.zeros((6, 3))
        move[:, k] = step
        ends = [
            project(state.moved(np.zeros(COUNT), np.zeros((4, 6)), s * move), seen).predicted for s in (1, -1)
        ]
        numeric = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(at.by_point[:, :, k], numeric, rtol=1e-4, atol=1e-4)


def test_exact_observations_give_the_exact_camera() -> None:
    truth = world()
    start = disturbed(truth, 0.05)
    found = adjust(start, seen_in(truth), camera_prior(start.camera.values, FREE))
    np.testing.assert_allclose(found.state.camera.values[:3], truth.camera.values[:3], rtol=1e-8)
    np.testing.assert_allclose(found.state.camera.values, truth.camera.values, rtol=1e-5)
    np.testing.assert_allclose(found.state.poses, truth.poses, atol=1e-8)
    np.testing.assert_allclose(found.state.points, truth.points, atol=1e-8)


def test_a_held_camera_stays_and_poses_are_found() -> None:
    truth = world()
    start = disturbed(truth, 0.02)
    start = type(start)(truth.camera, start.poses, start.anchors, start.points)
    found = adjust(start, seen_in(truth), camera_prior(truth.camera.values, np.zeros(COUNT)))
    np.testing.assert_array_equal(found.state.camera.values, truth.camera.values)
    np.testing.assert_allclose(found.state.poses, truth.poses, atol=1e-8)


def test_outliers_are_taken_out() -> None:
    truth = world()
    seen = seen_in(truth, noise=0.5)
    wrong = np.random.default_rng(3).choice(len(seen), len(seen) // 20, replace=False)
    seen.xy[wrong] += 15.0
    start = disturbed(truth, 0.02)
    found = adjust(start, seen, camera_prior(start.camera.values, FREE))
    sigma = np.sqrt(np.diag(normal_covariance(found)))[:COUNT]
    error = found.state.camera.values - truth.camera.values
    assert len(found.seen) < len(seen) - 0.9 * len(wrong)
    assert (np.abs(error[:KAPPA]) < 4 * sigma[:KAPPA]).all()


def test_stated_covariance_is_that_of_repetitions() -> None:
    truth = world(points=60, keyframes=6)
    prior = camera_prior(truth.camera.values, FREE)
    errors, stated, grouped = [], [], []
    for seed in range(40):
        found = adjust(truth, seen_in(truth, 1.0, seed), prior, rounds=2)
        errors.append((found.state.camera.values - truth.camera.values)[:KAPPA])
        stated.append(np.sqrt(np.diag(normal_covariance(found)))[:KAPPA])
        grouped.append(np.sqrt(np.diag(grouped_covariance(found, np.arange(60))))[:KAPPA])
    scatter = np.sqrt(np.mean(np.square(errors), 0))
    np.testing.assert_allclose(np.mean(stated, 0) / scatter, 1.0, atol=0.3)
    np.testing.assert_allclose(np.mean(grouped, 0) / scatter, 1.1, atol=0.35)


def test_errors_shared_by_a_point_are_seen_by_the_grouped_covariance() -> None:
    truth = world(points=80, keyframes=8)
    prior = camera_prior(truth.camera.values, FREE)
    errors, stated, grouped = [], [], []
    for seed in range(25):
        seen = seen_in(truth, 0.5, seed)
        shared = np.random.default_rng(100 + seed).normal(size=80) * 2e-3
        seen.slope[:] += shared[seen.point]
        found = adjust(truth, seen, prior, rounds=2)
        errors.append((found.state.camera.values - truth.camera.values)[W])
        stated.append(np.sqrt(normal_covariance(found)[W, W]))
        grouped.append(np.sqrt(grouped_covariance(found, np.arange(80))[W, W]))
    scatter = np.sqrt(np.mean(np.square(errors)))
    assert np.mean(stated) < 0.75 * scatter
    assert 0.75 * scatter < np.mean(grouped) < 1.6 * scatter


def test_a_camera_that_only_turns_does_not_determine_itself() -> None:
    truth = world(points=60, keyframes=5)
    for k, pose in enumerate(truth.poses):
        pose[:3, 3] = 0.0
        pose[:3, :3] = se3.exp(np.array([0, 0, 0, 0.02 * k, -0.01 * k, 0.05 * k]))[:3, :3]
    found = adjust(truth, seen_in(truth, 1.0), camera_prior(truth.camera.values, FREE))
    with contextlib.suppress(DegenerateError):
        assert (
            np.sqrt(normal_covariance(found)[W, W]) > 0.1
        )  # with a parallax it is a hundred times better known


def test_numbers_and_optics_are_one_to_one() -> None:
    calibration = preset_camera("r5")
    numbers = CameraNumbers.of(calibration)
    lens = calibration.main_lens
    assert numbers.optics == pytest.approx(
        (lens.focal_length_mm, lens.mla_distance_mm, calibration.mla.sensor_distance_mm), rel=1e-12
    )
    again = numbers.calibration(calibration)
    assert again.main_lens.principal_point_px == pytest.approx(lens.principal_point_px)
    assert kappa_of(numbers.values[FOCAL], numbers.pixel_mm, numbers.optics[2]) == pytest.approx(
        numbers.values[KAPPA], rel=1e-12
    )
    assert len(NAMES) == COUNT


def test_variance_of_a_distance_between_points() -> None:
    truth = world(points=60, keyframes=6)
    prior = camera_prior(truth.camera.values, FREE)
    found_values, stated = [], []
    for seed in range(30):
        found = adjust(truth, seen_in(truth, 1.0, seed), prior, rounds=2)
        gradient = np.zeros((60, 3))
        gradient[7, 2] = 1.0
        found_values.append(found.state.points[7, 2] - truth.points[7, 2])
        covariance = normal_covariance(found)
        stated.append(
            np.sqrt(point_gradient_variance(found, covariance, np.zeros(len(covariance)), gradient))
        )
    assert np.mean(stated) / np.sqrt(np.mean(np.square(found_values))) == pytest.approx(1.0, abs=0.35)


def test_another_unit_of_length_changes_no_observation() -> None:
    truth = world(points=10, keyframes=3)
    seen = seen_in(truth)
    np.testing.assert_allclose(
        project(truth.scaled(2.5), seen).predicted, project(truth, seen).predicted, rtol=1e-12
    )
    assert camera_numbers().values[KAPPA] > 0
