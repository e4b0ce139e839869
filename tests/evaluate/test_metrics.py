# SPDX-License-Identifier: Apache-2.0
"""Trajectory metrics against evo (an independent implementation) and against constructed truths."""

from __future__ import annotations

import numpy as np
import pytest
from evo.core import metrics as evo_metrics
from evo.core import sync
from evo.core.trajectory import PoseTrajectory3D
from evo.core.units import Unit
from trajectories import disturbed, loop_poses, random_similarity

from prism_vo.errors import DegenerateError
from prism_vo.evaluate.association import PoseSeries, associate
from prism_vo.evaluate.metrics import evaluate_trajectory


def evo_trajectory(series: PoseSeries) -> PoseTrajectory3D:
    return PoseTrajectory3D(poses_se3=list(series.poses.copy()), timestamps=series.times.copy())


@pytest.mark.parametrize("alignment", ["SE(3)", "Sim(3)"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_pose_errors_agree_with_evo(alignment: str, seed: int) -> None:
    truth = loop_poses()
    estimate = disturbed(truth, seed, random_similarity(seed, 0.7 + 0.2 * seed))
    ours = evaluate_trajectory(estimate, truth).aligned(alignment)  # type: ignore[arg-type]

    reference, other = evo_trajectory(truth), evo_trajectory(estimate)
    _, _, scale = other.align(reference, correct_scale=alignment == "Sim(3)")
    assert ours.transform.scale == pytest.approx(scale, rel=1e-9)
    relation = evo_metrics.PoseRelation
    for kind, value in (
        (relation.translation_part, ours.rmse_t),
        (relation.rotation_angle_deg, ours.rmse_r_deg),
    ):
        ape = evo_metrics.APE(kind)
        ape.process_data((reference, other))
        assert value == pytest.approx(ape.get_statistic(evo_metrics.StatisticsType.rmse), rel=1e-9)
    assert ours.relative is not None
    for kind, value in (
        (relation.translation_part, ours.relative.translation),
        (relation.rotation_angle_deg, ours.relative.rotation_deg),
    ):
        rpe = evo_metrics.RPE(
            kind, 1.0, Unit.meters, rel_delta_tol=0.1, all_pairs=True, pairs_from_reference=True
        )
        rpe.process_data((reference, other))
        assert value == pytest.approx(rpe.get_statistic(evo_metrics.StatisticsType.rmse), rel=1e-9)
        assert ours.relative.pairs == len(rpe.error)


def test_path_length_agrees_with_evo() -> None:
    truth = loop_poses()
    result = evaluate_trajectory(disturbed(truth, 3, random_similarity(3, 1.0)), truth)
    assert result.path_length == pytest.approx(evo_trajectory(truth).path_length, rel=1e-12)
    assert result.se3.rmse_t_percent == pytest.approx(100 * result.se3.rmse_t / result.path_length, rel=1e-12)


def test_association_agrees_with_evo_and_uses_each_pose_once() -> None:
    rng = np.random.default_rng(5)
    truth = loop_poses(400)
    times = np.sort(rng.choice(truth.times, 90, replace=False)) + rng.uniform(-0.008, 0.008, 90)
    estimate = PoseSeries(times, loop_poses(90).poses)
    ours = associate(estimate, truth, 0.01)
    theirs = sync.matching_time_indices(estimate.times, truth.times, 0.01)
    np.testing.assert_array_equal(ours[0], theirs[0])
    np.testing.assert_array_equal(ours[1], theirs[1])

    crowded = PoseSeries(np.array([0.0, 0.004, 0.1]), loop_poses(3).poses)
    chosen, partners = associate(crowded, truth, 0.01)
    assert chosen.tolist() == [0, 2] and partners.tolist() == [0, 1]


@pytest.mark.parametrize("seed", range(5))
def test_an_exact_copy_in_another_world_has_no_error(seed: int) -> None:
    truth = loop_poses()
    result = evaluate_trajectory(disturbed(truth, seed, random_similarity(seed, 0.5), noise=0.0), truth)
    assert result.sim3.rmse_t < 1e-12 and result.sim3.rmse_r_deg < 1e-6
    assert result.scale == pytest.approx(2.0, rel=1e-12) and result.scale_error == pytest.approx(
        1.0, rel=1e-12
    )
    assert result.se3.rmse_t > 0.1, "SE(3) must not fit the scale"
    assert result.covered == 1.0 and result.matched == 200


def test_the_share_of_the_truth_that_is_covered_shows_a_lost_track() -> None:
    truth = loop_poses()
    half = truth.take(np.arange(100))
    assert evaluate_trajectory(half, truth).covered == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("estimate", "message"),
    [
        (lambda t: PoseSeries(t.times + 100, t.poses), "no time stamps"),
        (lambda t: t.take(np.array([0, 1])), "Only 2 poses"),
        (lambda t: PoseSeries(t.times, np.tile(np.eye(4), (len(t.times), 1, 1))), "does not move"),
    ],
)
def test_refusals_name_the_reason(estimate: object, message: str) -> None:
    truth = loop_poses()
    with pytest.raises(DegenerateError, match=message):
        evaluate_trajectory(estimate(truth), truth)  # type: ignore[operator]


def test_a_straight_line_is_refused() -> None:
    truth = loop_poses()
    poses = truth.poses.copy()
    poses[:, :3, 3] = np.outer(truth.times, [0.3, 0.1, 1.0])
    line = PoseSeries(truth.times, poses)
    with pytest.raises(DegenerateError, match="straight line in the ground truth"):
        evaluate_trajectory(disturbed(line, 0, random_similarity(0, 1.0)), line)


def test_bad_series_are_refused() -> None:
    truth = loop_poses(10)
    with pytest.raises(DegenerateError, match="must increase"):
        PoseSeries(truth.times[::-1], truth.poses)
    broken = truth.poses.copy()
    broken[3, 0, 3] = np.nan
    with pytest.raises(DegenerateError, match="not finite"):
        PoseSeries(truth.times, broken)
