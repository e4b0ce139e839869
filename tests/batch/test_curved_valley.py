# SPDX-License-Identifier: Apache-2.0
"""Before a turntable F and w_∞ trade against each other: the descent must not end half-way along a curved valley."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from exact_batch import seen_in

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.batch.adjust import adjust, camera_prior
from prism_vo.batch.numbers import COUNT, CX, CY, FOCAL, KAPPA, CameraNumbers, W
from prism_vo.batch.priors import loose_prior
from prism_vo.batch.records import BatchState

SIZE, PIXEL = 2048, 0.0055
TRUE_FOCAL, TRUE_W, TRUE_KAPPA = 4520.0, -0.4, 1.6


def turntable(turns: Array, down: float = 0.35, distance: float = 0.43) -> Array:
    """T_cam_world of a camera that things on the table see on an arc."""
    tilt = se3.exp(np.array([0.0, 0.0, 0.0, -down, 0.0, 0.0]))
    back = np.eye(4)
    back[2, 3] = -distance
    return np.array(
        [se3.inverse(se3.exp(np.array([0.0, 0.0, 0.0, 0.0, a, 0.0])) @ tilt @ back) for a in turns]
    )


def before_a_turntable() -> BatchState:
    """34° of turn, a 25-mm lens that is focused near, virtual depths from 2.7 to 4.3: as a real recording has them."""
    random = np.random.default_rng(0)
    values = np.zeros(COUNT)
    values[[FOCAL, CX, CY, W, KAPPA]] = TRUE_FOCAL, 1023.5, 1023.5, TRUE_W, TRUE_KAPPA
    poses = turntable(np.radians(np.linspace(-17, 17, 12)))
    poses = np.array([pose @ se3.inverse(poses[0]) for pose in poses])
    rays = random.uniform(-0.2, 0.2, (150, 2))
    inverse = (random.uniform(2.7, 4.3, (150, 1)) - TRUE_W) / TRUE_KAPPA
    anchors = np.repeat(np.eye(4)[None], 150, 0)
    return BatchState(CameraNumbers(values, PIXEL), poses, anchors, np.concatenate([rays, inverse], 1))


@pytest.mark.parametrize(("focal", "w_infinity"), [(2840.0, 1.55), (6295.0, -1.65)])
def test_other_lenses_altogether_lead_to_the_same_camera(focal: float, w_infinity: float) -> None:
    truth = before_a_turntable()
    seen = seen_in(truth, noise=1.0)
    start = truth.camera.values.copy()
    start[[FOCAL, W]] = focal, w_infinity
    # points where that camera has them, as the first observations do
    v = TRUE_W + TRUE_KAPPA * truth.points[:, 2]
    points = np.column_stack(
        [truth.points[:, :2] * TRUE_FOCAL / focal, np.maximum(v - w_infinity, 0.1) / TRUE_KAPPA]
    )
    state = replace(truth, camera=CameraNumbers(start, PIXEL), points=points)
    prior = loose_prior(state.camera, (SIZE, SIZE), "none")
    held = camera_prior(prior.mean, prior.sigma)
    found = adjust(state, seen, held)
    best = adjust(truth, seen, held)
    assert found.state.camera.values[FOCAL] == pytest.approx(best.state.camera.values[FOCAL], rel=2e-3)
    assert found.state.camera.values[W] == pytest.approx(best.state.camera.values[W], abs=0.02)
