# SPDX-License-Identifier: Apache-2.0
"""Drift metrics on loops whose drift is known by construction."""

from __future__ import annotations

import numpy as np
import pytest
from trajectories import loop_poses, random_similarity

from prism_vo import se3
from prism_vo.errors import DegenerateError
from prism_vo.evaluate.association import PoseSeries
from prism_vo.evaluate.drift import loop_segments, path_length, truth_gap
from prism_vo.evaluate.metrics import apply_similarity, evaluate_trajectory


def with_end_changed(truth: PoseSeries, change: se3.Similarity) -> PoseSeries:
    """The second half of the loop continues in a world moved by ``change``."""
    half = len(truth.times) // 2
    poses = np.concatenate([truth.poses[:half], apply_similarity(change, truth.poses[half:])])
    return PoseSeries(truth.times, poses)


@pytest.mark.parametrize(("scale", "angle"), [(1.1, 0.05), (0.8, 0.3), (1.0, 3.0)])
def test_known_drift_is_found_in_any_world(scale: float, angle: float) -> None:
    truth = loop_poses()
    change = se3.Similarity(scale, se3.so3_exp(np.array([0.0, angle, 0.0])), np.array([0.3, -0.2, 0.1]))
    world = random_similarity(7, 0.5)
    estimate = PoseSeries(truth.times, apply_similarity(world, with_end_changed(truth, change).poses))
    drift = evaluate_trajectory(estimate, truth).drift
    assert drift is not None
    start_scale, end_scale = 2.0, 2.0 / scale
    assert drift.d_s == pytest.approx(np.sqrt(start_scale * end_scale), rel=1e-9)
    assert drift.e_s == pytest.approx(1 / scale, rel=1e-9)
    assert drift.e_s_prime == pytest.approx(max(scale, 1 / scale), rel=1e-9)
    assert drift.d_s_prime >= 1.0 and drift.d_s_prime == pytest.approx(drift.d_s, rel=1e-12)
    assert drift.e_r_deg == pytest.approx(np.degrees(angle), rel=1e-9)

    # e_align written out: T_start undoes the world, T_end undoes world and change
    in_truth = with_end_changed(truth, change).positions
    apart = np.linalg.norm(in_truth - change.inverse().apply(in_truth), axis=1)
    assert drift.e_align == pytest.approx(np.sqrt(np.mean(apart**2)), rel=1e-9)
    assert drift.e_align_percent == pytest.approx(
        100 * drift.e_align / path_length(truth.positions), rel=1e-9
    )


def test_truth_at_the_ends_only() -> None:
    truth = loop_poses()
    change = se3.Similarity(1.05, se3.so3_exp(np.array([0.02, 0.0, 0.01])), np.array([0.1, 0.0, 0.0]))
    estimate = with_end_changed(truth, change)
    ends = truth.take(np.r_[0:25, 170:200])
    assert truth_gap(ends.times) == (truth.times[24], truth.times[170])
    drift = evaluate_trajectory(estimate, ends).drift
    assert drift is not None
    assert (drift.start_poses, drift.end_poses) == (25, 30)
    assert drift.e_s_prime == pytest.approx(1.05, rel=1e-9)
    assert drift.path_length == pytest.approx(drift.d_s * path_length(estimate.positions), rel=1e-9)


def test_a_short_dropout_is_not_a_gap() -> None:
    truth = loop_poses()
    assert truth_gap(truth.times) is None
    assert truth_gap(np.delete(truth.times, slice(90, 100))) is None


def test_segments_hold_fifteen_per_cent() -> None:
    assert loop_segments(np.arange(200.0), None, 0.15) == (slice(0, 30), slice(170, 200))


def test_too_few_poses_are_refused_by_name() -> None:
    with pytest.raises(DegenerateError, match="start segment has 18 poses"):
        loop_segments(np.arange(120.0), None, 0.15)
    with pytest.raises(DegenerateError, match="end segment has 10 poses"):
        loop_segments(np.r_[0:30, 100:110].astype(float), (29.0, 100.0), 0.15)


def test_a_straight_start_is_refused_but_the_rest_is_measured() -> None:
    truth = loop_poses()
    poses = truth.poses.copy()
    poses[:40, :3, 3] = np.outer(np.arange(40), [0.02, 0, 0])
    line = PoseSeries(truth.times, poses)
    result = evaluate_trajectory(line, line)
    assert result.drift is None
    assert "straight line in the start segment of the ground truth" in result.drift_refusal
    assert result.se3.rmse_t < 1e-12
