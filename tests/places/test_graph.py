# SPDX-License-Identifier: Apache-2.0
"""The pose graph: Jacobians against differences, a loop that closes, a false place that fades."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from prism_vo import se3
from prism_vo.places.graph import Edge, _Stack, components
from prism_vo.places.joints import Joints, Step
from prism_vo.places.tangents import exps

COVARIANCE = np.diag([0.002] * 3 + [0.002] * 3) ** 2


def circle(count: int = 30) -> dict[int, np.ndarray]:
    """T_view_world around a circle of 1 m, the last where the first is."""
    out = {}
    for k in range(count):
        T_world_view = se3.exp(np.array([0, 0, 0, 0, 2 * np.pi * k / (count - 1), 0]))
        T_world_view[:3, 3] = T_world_view[:3, :3] @ np.array([1.0, 0.0, 0.0])
        out[k] = se3.inverse(T_world_view)
    return out


def relative(poses: dict[int, np.ndarray], a: int, b: int) -> np.ndarray:
    return poses[b] @ se3.inverse(poses[a])


def drifted(true: dict[int, np.ndarray], size: float = 0.004) -> dict[int, np.ndarray]:
    """The same by odometry whose steps are all wrong the same way."""
    error = se3.exp(size * np.array([1, 0.5, -0.5, 0.2, 1, -0.3]))
    out = {0: true[0]}
    for k in range(1, len(true)):
        out[k] = error @ relative(true, k - 1, k) @ out[k - 1]
    return out


def steps(count: int) -> list[Step]:
    return [Step(k - 1, k, COVARIANCE) for k in range(1, count)]


def place(true: dict[int, np.ndarray], a: int, b: int) -> Edge:
    return Edge(a, b, relative(true, a, b), np.linalg.inv(0.01 * COVARIANCE), True)


def worst(found: dict[int, np.ndarray], true: dict[int, np.ndarray]) -> float:
    return max(
        float(np.linalg.norm(se3.inverse(found[k])[:3, 3] - se3.inverse(true[k])[:3, 3])) for k in true
    )


def test_jacobians_against_differences() -> None:
    rng = np.random.default_rng(2)
    poses = np.array([se3.exp(rng.normal(0, 0.4, 6)) for _ in range(5)])
    edges = [Edge(a, b, se3.exp(rng.normal(0, 0.4, 6)), np.eye(6), True) for a, b in ((0, 1), (3, 2), (4, 0))]
    stack = _Stack.of(edges, {k: k for k in range(5)})
    by_a, by_b = stack.jacobians(stack.residuals(poses))
    step = 1e-6
    for node_of, analytic in ((stack.a, by_a), (stack.b, by_b)):
        for e in range(len(edges)):
            for k in range(6):
                delta = np.zeros((5, 6))
                delta[node_of[e], k] = step
                there, back = stack.residuals(exps(delta) @ poses), stack.residuals(exps(-delta) @ poses)
                np.testing.assert_allclose(analytic[e, :, k], (there - back)[e] / (2 * step), atol=1e-7)


def test_loop_takes_the_drift_away() -> None:
    true = circle()
    odometry = drifted(true)
    joints = Joints(steps(len(true)), [place(true, 0, 29), place(true, 1, 28)])
    assert joints.say_something(odometry)
    found = joints.solve(odometry)
    end = len(true) - 1
    before = np.linalg.norm((relative(odometry, 0, end) - relative(true, 0, end))[:3, 3])
    after = np.linalg.norm((relative(found.poses, 0, end) - relative(true, 0, end))[:3, 3])
    assert before > 0.05 and after < before / 20
    assert not found.refused and worst(found.poses, true) < 0.6 * worst(odometry, true)


def test_a_place_that_agrees_with_odometry_counts_only_if_it_is_known_much_better() -> None:
    true = circle()
    seen = place(true, 0, 29)
    assert Joints(steps(len(true)), [seen]).say_something(true)
    vague = replace(seen, information=1e-3 * seen.information)
    assert not Joints(steps(len(true)), [vague]).say_something(true)


def test_a_false_place_fades_out() -> None:
    true = circle()
    odometry = drifted(true, 0.001)
    false = Edge(
        5,
        20,
        relative(true, 5, 20) @ se3.exp(np.array([0.3, 0, 0, 0, 0.2, 0])),
        np.linalg.inv(COVARIANCE),
        True,
    )
    good = [place(true, a, b) for a, b in ((0, 29), (1, 28), (4, 21), (6, 19), (5, 22))]
    found = Joints(steps(len(true)), [*good, false]).solve(odometry)
    assert [(e.a, e.b) for e in found.refused] == [(5, 20)]
    without = Joints(steps(len(true)), good).solve(odometry)
    assert worst(found.poses, without.poses) < 1e-3 < 0.1 * worst(odometry, true)


def test_odometry_cannot_have_drifted_that_far() -> None:
    true = circle()
    joints = Joints(steps(len(true)))
    far = relative(true, 0, 29) @ se3.exp(np.array([1.0, 0, 0, 0, 0, 0]))
    assert joints.plausible(0, 29, relative(true, 0, 29), np.linalg.inv(COVARIANCE), drifted(true, 0.001))
    assert not joints.plausible(0, 29, far, np.linalg.inv(COVARIANCE), true)


def test_a_segment_goes_where_a_place_says_and_others_stay() -> None:
    true = circle(20)
    elsewhere = se3.exp(np.array([3.0, -2.0, 1.0, 0.3, 2.5, 0.1]))
    odometry = {k: pose @ elsewhere if k >= 12 else pose for k, pose in true.items()}
    chain = [s for s in steps(20) if s.b != 12]
    alone = Joints(chain).solve(odometry)
    np.testing.assert_allclose(alone.poses[15], odometry[15])
    joined = Joints(chain, [place(true, 3, 15)])
    assert len(joined.parts(sorted(true))) == 1
    assert worst(joined.solve(odometry).poses, true) < 1e-6


def test_keyframes_of_a_map_stay_where_they_are() -> None:
    true = circle(20)
    shift = se3.exp(np.array([0.5, 0, 0, 0, 0.4, 0]))
    odometry = {k: pose @ shift if k >= 10 else pose for k, pose in true.items()}
    joints = Joints([s for s in steps(20) if s.a >= 10], [place(true, 4, 12)], set(range(10)))
    found = joints.solve(odometry)
    assert worst(found.poses, true) < 1e-6
    for k in range(10):
        np.testing.assert_array_equal(found.poses[k], true[k])


def test_components() -> None:
    edges = [Edge(a, b, np.eye(4), np.eye(6), False) for a, b in ((1, 4), (2, 3))]
    assert components(range(5), edges) == [[0], [1, 4], [2, 3]]
