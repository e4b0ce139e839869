# SPDX-License-Identifier: Apache-2.0
"""A window of exact observations returns the truth; depth terms, and only they, hold the scale."""

from dataclasses import replace

import numpy as np
import pytest
from exact_windows import Exact, exact_window

from prism_vo import se3
from prism_vo.window.state import State


def centres(poses: np.ndarray) -> np.ndarray:
    return np.array([se3.inverse(p)[:3, 3] for p in poses])


def scale_of(state: State, exact: Exact) -> float:
    """Size of the path over its true size."""
    ours, true = centres(state.poses), centres(exact.state.poses)
    return float((ours * true).sum() / (true**2).sum())


def disturbed(exact: Exact, seed: int, pose: float, log_depth: float) -> State:
    rng = np.random.default_rng(seed)
    poses = exact.state.base_pose.copy()
    for k in range(1, len(poses)):
        poses[k] = se3.exp(rng.normal(0, pose, 6)) @ poses[k]
    q = exact.state.inv_depth * np.exp(rng.normal(0, log_depth, len(exact.state.inv_depth)))
    return replace(exact.state, base_pose=poses, inv_depth=q)


@pytest.mark.parametrize("seed", range(3))
def test_exact_observations_return_the_truth(seed: int) -> None:
    exact = exact_window(count=5, each=300, seed=seed, step=0.05, zoom=2)
    start = disturbed(exact, seed, pose=3e-3, log_depth=0.05)
    solved = exact.minimised(start, 30)
    depth = 1.0 / np.median(exact.state.inv_depth)
    for ours, true in zip(solved.state.poses, exact.state.poses):
        error = se3.log(ours @ se3.inverse(true))
        assert np.linalg.norm(error[:3]) < 1e-4 * depth
        assert np.linalg.norm(error[3:]) < 1e-4
    assert np.abs(solved.state.affine[:, 0]).max() < 1e-3
    relative = np.abs(solved.state.inv_depth / exact.state.inv_depth - 1.0)
    assert np.median(relative) < 1e-3
    start_error = np.linalg.norm(se3.log(start.poses[1] @ se3.inverse(exact.state.poses[1])))
    assert start_error > 2e-3  # it did begin far from there


def shrunk(exact: Exact, factor: float) -> State:
    """The same images explained at another scale: a monocular camera cannot tell."""
    poses = exact.state.base_pose.copy()
    poses[:, :3, 3] *= factor
    return replace(exact.state, base_pose=poses, inv_depth=exact.state.inv_depth / factor)


@pytest.mark.parametrize("factor", [1.1, 1 / 1.1])
def test_depth_terms_pull_a_wrong_scale_back(factor: float) -> None:
    exact = exact_window(count=4, each=80)
    start = shrunk(exact, factor)
    assert scale_of(start, exact) == pytest.approx(factor)
    solved = exact.minimised(start, 30)
    assert scale_of(solved.state, exact) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("factor", [1.1, 1 / 1.1])
def test_without_depth_terms_the_scale_stays_where_it_was(factor: float) -> None:
    exact = exact_window(count=4, each=80, eta=0.0)
    solved = exact.minimised(shrunk(exact, factor), 30)
    assert scale_of(solved.state, exact) == pytest.approx(factor, rel=0.02)
    # and photometry has no opinion: the energy is the same at every scale
    at = [exact.photometric_alone(shrunk(exact, f)).energy for f in (1.0, factor)]
    assert at[0] == pytest.approx(at[1], rel=1e-3)


def test_known_exposures_explain_brighter_images() -> None:
    """With t_j/t_i in the residual, (a, b) = 0 stays right although images differ in brightness."""
    exact = exact_window(count=3, each=60)
    times = np.array([1.0, 1.3, 0.8])
    images = exact.photometric.images * times[:, None, None].astype(np.float32)
    color = exact.points.color * times[exact.points.host, None].astype(np.float32)
    points = replace(exact.points, color=color)
    known = replace(
        exact, photometric=replace(exact.photometric, images=images, points=points, exposure=times)
    )
    unknown = replace(known, photometric=replace(known.photometric, exposure=np.ones(3)))
    right = known.photometric_alone(exact.state).energy
    assert right < 1.5 * exact.photometric_alone(exact.state).energy
    assert unknown.photometric_alone(exact.state).energy > 20 * right
    loose = replace(exact.brightness, information=16.0 / np.array([2.0, 50.0]) ** 2)
    solved = replace(unknown, brightness=loose).minimised(exact.state, 40)
    np.testing.assert_allclose(np.exp(solved.state.affine[:, 0]), times, rtol=0.03)
