# SPDX-License-Identifier: Apache-2.0
"""Known places of keyframes: metres, and a camera where images alone leave it soft."""

from __future__ import annotations

import numpy as np
from batch.exact_batch import disturbed, seen_in, world

from prism_vo import se3
from prism_vo.batch.adjust import adjust, camera_prior
from prism_vo.batch.known_places import KnownPlaces, at_places
from prism_vo.batch.numbers import COUNT, KAPPA
from prism_vo.batch.system import linearize

FREE = np.full(COUNT, np.inf)


def test_places_make_metres_and_fix_the_gauge() -> None:
    truth = world()
    turn = se3.exp(np.array([0.3, -1.0, 0.2, 0.4, 0.1, -0.7]))
    positions = truth.centres @ turn[:3, :3].T + turn[:3, 3]
    start = disturbed(truth, 0.01).scaled(0.8)
    moved = at_places(start, positions)
    assert moved is not None
    prior = camera_prior(moved[0].camera.values, FREE, kappa_held=False)
    found = adjust(moved[0], seen_in(truth), prior, places=KnownPlaces(positions, 1e-4))
    assert np.allclose(found.state.camera.values, truth.camera.values, rtol=1e-5, atol=1e-8)
    assert np.abs(found.state.centres - positions).max() < 1e-5
    assert found.free[KAPPA]


def test_their_derivatives() -> None:
    truth = world()
    places = KnownPlaces(truth.centres + 0.01, 0.02)
    state = disturbed(truth, 0.02)
    _, h, b = places.linearize(state)
    for k in range(6):
        ends = []
        for sign in (1, -1):
            step = np.zeros((len(state.poses), 6))
            step[:, k] = sign * 1e-6
            ends.append(places.linearize(state.moved(np.zeros(COUNT), step, np.zeros_like(state.points)))[0])
        slope = (ends[0] - ends[1]) / 2e-6
        assert np.isclose(slope, 2 * b[:, k].sum() if k < 3 else 0.0, rtol=1e-5, atol=1e-4)
    assert np.allclose(h, np.eye(3) / 0.02**2)
    prior = camera_prior(state.camera.values, FREE)
    seen = seen_in(truth)
    added = linearize(state, seen, prior, places).energy - linearize(state, seen, prior).energy
    assert np.isclose(added, places.linearize(state)[0])


def test_a_straight_path_is_no_frame_to_hang_a_world_on() -> None:
    truth = world()
    line = np.outer(np.linspace(0, 1, len(truth.poses)), [1.0, 0.2, 0.1])
    assert at_places(truth, line) is None
