# SPDX-License-Identifier: Apache-2.0
"""Every metric fact gives the same metres, and a variance that repetitions confirm."""

from __future__ import annotations

import numpy as np
import pytest
from batch.exact_batch import disturbed, seen_in, world

from prism_vo.arrays import Array
from prism_vo.batch.adjust import Adjusted, adjust, camera_prior
from prism_vo.batch.numbers import COUNT, KAPPA, W
from prism_vo.batch.records import BatchState
from prism_vo.camera_fit.facts import FrameDistance, KnownShape, MetricFact, NoFact, SensorDistance, TruePoses
from prism_vo.camera_fit.fit import covariance_of
from prism_vo.errors import DegenerateError

FREE = np.full(COUNT, np.inf)
UNIT = 1.3  # metres per unit of the start


def solved(truth: BatchState, noise: float = 0.0, seed: int = 0) -> Adjusted:
    """An adjustment that starts in another unit of length and a little wrong."""
    start = disturbed(truth, 0.01).scaled(1.0 / UNIT)
    return adjust(start, seen_in(truth, noise, seed), camera_prior(start.camera.values, FREE), rounds=2)


def places(truth: BatchState, rows: Array) -> Array:
    homogeneous = truth.homogeneous[rows.astype(int)]
    return np.asarray(homogeneous[:, :3] / homogeneous[:, 3:])


def facts(truth: BatchState) -> list[MetricFact]:
    far = float(np.linalg.norm(truth.centres[3] - truth.centres[1]))
    two, many = np.array([4, 9]), np.arange(20, 40)
    return [
        SensorDistance(truth.camera.optics[2]),
        FrameDistance(1, 3, far, "two frames"),
        TruePoses(truth.centres),
        KnownShape(two, places(truth, two), "two points"),
        KnownShape(many, places(truth, many), "a board"),
    ]


def test_exact_observations_give_exact_metres() -> None:
    truth = world()
    found = solved(truth)
    for fact in facts(truth):
        scale = fact.scale(found)
        kappa = found.state.camera.values[KAPPA] * scale.factor
        assert kappa == pytest.approx(truth.camera.values[KAPPA], rel=1e-6), fact.words
        assert scale.own_variance < 1e-9


@pytest.mark.parametrize("which", range(5))
def test_stated_error_of_the_unit_is_that_of_repetitions(which: int) -> None:
    truth = world(points=60, keyframes=6)
    errors, stated = [], []
    for seed in range(20):
        found = solved(truth, 1.0, seed)
        covariance, factor = covariance_of(found, facts(truth)[which])
        errors.append(found.state.camera.values[KAPPA] * factor - truth.camera.values[KAPPA])
        stated.append(np.sqrt(covariance[KAPPA, KAPPA]))
    assert 0.7 < np.mean(stated) / np.sqrt(np.mean(np.square(errors))) < 2.0


def test_without_a_fact_the_unit_stays_and_is_not_known() -> None:
    truth = world(points=60, keyframes=6)
    found = solved(truth, 1.0)
    covariance, factor = covariance_of(found, NoFact())
    assert factor == 1.0
    assert covariance[KAPPA, KAPPA] == 0.0
    assert covariance[W, W] > 0.0


def test_impossible_facts_are_refused() -> None:
    truth = world(points=60, keyframes=6)
    found = solved(truth)
    with pytest.raises(DegenerateError, match="same place"):
        FrameDistance(2, 2, 1.0, "one frame").scale(found)
    with pytest.raises(DegenerateError, match="millimetres"):
        SensorDistance(500.0).scale(found)
    with pytest.raises(DegenerateError, match="marked points are one"):
        KnownShape(np.array([4, 4]), np.eye(3)[:2], "twice the same").scale(found)
