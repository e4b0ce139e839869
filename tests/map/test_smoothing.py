# SPDX-License-Identifier: Apache-2.0
"""Keyframes that left follow what is learnt later, as the full solution says they should."""

import numpy as np
from exact_windows import keyframes_along
from random_systems import random_system

from prism_vo import se3
from prism_vo.map.smoothing import smoothed
from prism_vo.window.conditional import ConditionalPoses


def test_back_substitution_equals_the_full_solution() -> None:
    """Move the remaining keyframes a little: minimising over the one that left gives the same move."""
    system, _, _ = random_system(1, frames=4)
    h, _ = system.reduced()
    frames = keyframes_along([0.0, 0.3, 0.6, 0.9])
    free = np.arange(32) >= 8
    left = ConditionalPoses.of(frames, [1], h, free)
    assert left.left == [1] and left.stayed == [0, 2, 3]
    rng = np.random.default_rng(0)
    delta = np.zeros(32)
    for k in (2, 3):
        delta[8 * k : 8 * k + 6] = rng.normal(0, 1e-6, 6)
    m = slice(8, 16)
    follow = -np.linalg.solve(h[m, m], h[m] @ delta)
    moved = {f.id: se3.exp(delta[8 * k : 8 * k + 6]) @ f.pose for k, f in enumerate(frames)}
    out = smoothed(moved, [left])
    ours = se3.log(out[1] @ se3.inverse(frames[1].pose))
    np.testing.assert_allclose(ours, follow[:6], rtol=1e-3, atol=1e-10)
    for k in (0, 2, 3):
        np.testing.assert_array_equal(out[k], moved[k])


def test_conditional_poses_are_undone_in_reverse_order() -> None:
    """A keyframe that left first follows one that left second."""
    system, _, _ = random_system(2, frames=4)
    h, _ = system.reduced()
    light = np.arange(32) % 8 >= 6  # poses alone follow: uncouple brightness
    h[np.ix_(light, ~light)], h[np.ix_(~light, light)] = 0.0, 0.0
    frames = keyframes_along([0.0, 0.3, 0.6, 0.9])
    free = np.arange(32) >= 8
    first = ConditionalPoses.of(frames, [1], h, free)
    rest = [frames[0], frames[2], frames[3]]
    keep = np.r_[0:8, 16:32]
    gone = np.r_[8:16]
    reduced = h[np.ix_(keep, keep)] - h[np.ix_(keep, gone)] @ np.linalg.solve(
        h[np.ix_(gone, gone)], h[np.ix_(gone, keep)]
    )
    second = ConditionalPoses.of(rest, [1], reduced, np.arange(24) >= 8)
    poses = {f.id: f.pose for f in frames}
    delta = np.array([2e-6, -1e-6, 3e-6, 1e-6, 2e-6, -1e-6])
    poses[3] = se3.exp(delta) @ poses[3]
    out = smoothed(poses, [first, second])
    full = np.zeros(32)
    full[24:30] = delta
    both = np.r_[8:24]
    expected = -np.linalg.solve(h[np.ix_(both, both)], h[both] @ full)
    np.testing.assert_allclose(
        se3.log(out[1] @ se3.inverse(frames[1].pose)), expected[:6], rtol=2e-3, atol=1e-10
    )
    np.testing.assert_allclose(
        se3.log(out[2] @ se3.inverse(frames[2].pose)), expected[8:14], rtol=2e-3, atol=1e-10
    )


def test_without_a_change_nothing_moves() -> None:
    system, _, _ = random_system(3, frames=4)
    h, _ = system.reduced()
    frames = keyframes_along([0.0, 0.3, 0.6, 0.9])
    left = ConditionalPoses.of(frames, [0, 2], h, np.arange(32) >= 8)  # the fixed one among them
    out = smoothed({f.id: f.pose for f in frames}, [left])
    for f in frames:
        np.testing.assert_allclose(out[f.id], f.pose, atol=1e-12)
