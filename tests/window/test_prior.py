# SPDX-License-Identifier: Apache-2.0
"""The marginalisation prior against dense marginals."""

from dataclasses import replace

import numpy as np
import pytest
from windows import exact_window, random_system

from prism_vo import se3
from prism_vo.mapping.marginal import Prior, marginalise
from prism_vo.mapping.schur import Step


def dense_marginal(h: np.ndarray, b: np.ndarray, drop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Textbook Schur complement through the inverse of the dropped block, in scaled variables."""
    scale = 1.0 / np.sqrt(np.diag(h))
    h, b = h * np.outer(scale, scale), b * scale
    keep = ~drop
    gain = h[np.ix_(keep, drop)] @ np.linalg.inv(h[np.ix_(drop, drop)])
    reduced, gradient = h[np.ix_(keep, keep)] - gain @ h[np.ix_(drop, keep)], b[keep] - gain @ b[drop]
    return reduced / np.outer(scale[keep], scale[keep]), gradient / scale[keep]


def assert_same(
    ours: tuple[np.ndarray, np.ndarray], dense: tuple[np.ndarray, np.ndarray], full: np.ndarray
) -> None:
    """Equal to 1e-8 in units of the full system's own scale."""
    root = np.sqrt(full)
    assert np.abs((ours[0] - dense[0]) / np.outer(root, root)).max() < 1e-8
    assert np.abs((ours[1] - dense[1]) / root).max() < 1e-8 * max(np.abs(dense[1] / root).max(), 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_points_and_then_a_keyframe_equal_the_dense_marginal_of_both(seed: int) -> None:
    system, h, b = random_system(seed)
    k = len(system.b_frames)
    points = np.arange(len(b)) >= k
    h1, b1 = system.reduced()
    assert_same((h1, b1), dense_marginal(h, b, points), np.diag(h)[:k])
    prior = Prior(h1, b1).without(1, fixed=False)
    both = points.copy()
    both[8:16] = True
    assert_same((prior.h, prior.b), dense_marginal(h, b, both), np.diag(h)[~both])


def test_marginal_keeps_the_minimum() -> None:
    """Minimising what is left gives the remaining part of the full minimum."""
    system, h, b = random_system(9)
    k = len(system.b_frames)
    prior = Prior(*system.reduced()).without(2, fixed=False)
    full = np.linalg.solve(h, -b)
    root = np.sqrt(np.diag(h)[:16])
    assert (
        np.abs((np.linalg.solve(prior.h, -prior.b) - full[:16]) * root).max()
        < 1e-8 * np.abs(full[:k] * np.sqrt(np.diag(h)[:k])).max()
    )


def test_variables_without_information_do_no_harm() -> None:
    """A keyframe's b that nothing has measured must not turn the prior into infinities."""
    system, _, _ = random_system(2)
    h, b = system.h_frames.copy(), system.b_frames.copy()
    h[15], h[:, 15], b[15] = 0.0, 0.0, 0.0
    drop = np.zeros(24, bool)
    drop[8:16] = True
    reduced, gradient = marginalise(h, b, drop)
    known = np.delete(np.arange(24), 15)
    expected = dense_marginal(h[np.ix_(known, known)], b[known], drop[known])
    assert_same((reduced, gradient), expected, np.diag(h)[~drop])


def test_a_fixed_keyframe_is_conditioned_on() -> None:
    system, _, _ = random_system(6)
    prior = Prior(system.h_frames, system.b_frames)
    out = prior.without(0, fixed=True)
    np.testing.assert_array_equal(out.h, prior.h[8:, 8:])
    x = np.random.default_rng(0).normal(size=16) * 1e-3
    assert out.energy(x) == pytest.approx(prior.energy(np.concatenate([np.zeros(8), x])), rel=1e-12)
    free = prior.without(0, fixed=False)
    assert np.trace(free.h) < np.trace(out.h)  # conditioning knows more than marginalising


def test_energy_and_gradient_agree() -> None:
    system, _, _ = random_system(7)
    prior = Prior(system.h_frames, system.b_frames)
    rng = np.random.default_rng(1)
    x = rng.normal(size=24) * 1e-3
    for c in range(24):
        d = np.zeros(24)
        d[c] = 1e-4
        numeric = (prior.energy(x + d) - prior.energy(x - d)) / 2e-4
        assert 2.0 * prior.gradient(x)[c] == pytest.approx(numeric, rel=1e-5)


def test_a_new_keyframe_changes_nothing_and_is_not_tied() -> None:
    system, _, _ = random_system(8)
    prior = Prior(system.h_frames, system.b_frames).with_new_keyframe()
    x = np.random.default_rng(2).normal(size=32)
    assert prior.energy(x) == pytest.approx(Prior(system.h_frames, system.b_frames).energy(x[:24]), rel=1e-12)
    assert [prior.ties(k) for k in range(4)] == [True, True, True, False]


def test_window_energy_holds_the_prior_and_the_brightness_terms() -> None:
    """Without points, E is prior + brightness: its numeric gradient must be twice b for every frame variable."""
    exact = exact_window(count=3, each=1)
    system, _, _ = random_system(11)
    rng = np.random.default_rng(3)
    energy = replace(
        exact.energy, points=exact.energy.points.take(np.zeros(3, bool)), prior=Prior(system.h_frames, system.b_frames),
        affine_centre=rng.normal(0, 0.1, (3, 2)),
    )  # fmt: skip
    x = rng.normal(size=(3, 8)) * 1e-2
    tied = replace(exact.state, x=x, tied=np.ones(3, bool), inv_depth=np.zeros(0))
    here = energy.linearize(tied).system
    for c in range(24):
        d = np.zeros(24)
        d[c] = 1e-3
        up = energy.linearize(replace(tied, x=x + d.reshape(3, 8))).system.energy
        down = energy.linearize(replace(tied, x=x - d.reshape(3, 8))).system.energy
        assert 2.0 * here.b_frames[c] == pytest.approx((up - down) / 2e-3, rel=1e-5)


def test_tied_keyframes_keep_their_base_and_free_ones_take_it_along() -> None:
    exact = exact_window(count=3, each=5)
    state = replace(exact.state, tied=np.array([False, True, False]))
    rng = np.random.default_rng(4)
    step = Step(rng.normal(size=24) * 1e-2, np.zeros(15), ok=True)
    moved = state.moved(step)
    np.testing.assert_array_equal(moved.base_pose[1], state.base_pose[1])
    np.testing.assert_allclose(moved.x[1], step.frames[8:16])
    assert not moved.x[[0, 2]].any()
    for k in range(3):
        np.testing.assert_allclose(
            moved.poses[k], se3.exp(step.frames[8 * k : 8 * k + 6]) @ state.poses[k], atol=1e-12
        )
        np.testing.assert_allclose(moved.affine[k], step.frames[8 * k + 6 : 8 * k + 8])
