# SPDX-License-Identifier: Apache-2.0
"""The pose of a frame that is no keyframe, from all points of the window."""

from dataclasses import replace

import numpy as np
import pytest
from exact_windows import exact_window

from prism_vo import se3
from prism_vo.points.pattern import IN, NONE
from prism_vo.window.energy import WindowEnergy
from prism_vo.window.keyframe import BLOCK, POSE
from prism_vo.window.locate import locate


@pytest.mark.parametrize("seed", range(3))
def test_the_pose_of_the_last_frame_is_found_from_all_points(seed: int) -> None:
    exact = exact_window(count=5, each=300, seed=seed, step=0.05, zoom=2)
    older = exact.points.host < 4
    term = replace(exact.photometric, points=exact.points.take(older))
    poses = exact.state.base_pose.copy()
    poses[-1] = se3.exp(np.random.default_rng(seed).normal(0, 2e-3, 6)) @ poses[-1]
    state = replace(exact.state, base_pose=poses, inv_depth=exact.state.inv_depth[older])
    located = locate(term, state, 20).located
    other = locate(term, replace(state, base_pose=exact.state.base_pose), 20).located
    assert located is not None and other is not None
    found, from_truth = located.T_view_world, other.T_view_world
    assert located.covariance is not None and (np.linalg.eigvalsh(located.covariance) > 0).all()
    assert np.linalg.norm(se3.log(found @ se3.inverse(from_truth))) < 2e-5  # wherever it starts
    # translation and rotation errors that cancel in the image are not seen: judge where points fall
    view, p = exact.view, term.points
    rays = np.stack([(p.u - view.cx) / view.focal_px, (p.v - view.cy) / view.focal_px, np.ones(len(p))], -1)
    hosts = np.array([se3.inverse(pose) for pose in exact.state.base_pose])[p.host]
    q = state.inv_depth[:, None]
    world = np.einsum("nij,nj->ni", hosts[:, :3, :3], rays) + hosts[:, :3, 3] * q  # times q
    pixels = []
    for pose in (found, exact.state.base_pose[-1]):
        there = world @ pose[:3, :3].T + pose[:3, 3] * q
        pixels.append(view.focal_px * there[:, :2] / there[:, 2:])
    apart = np.linalg.norm(pixels[0] - pixels[1], axis=1)
    assert np.median(apart) < 0.01


def test_a_frame_that_shows_something_else_has_no_pose() -> None:
    exact = exact_window(count=4, each=100)
    images = exact.photometric.images.copy()
    images[-1] = images[-1][::-1, ::-1]
    older = exact.points.host < 3
    term = replace(
        exact.photometric,
        images=images,
        points=exact.points.take(older),
        outlier_energy=np.full(4, 400.0, np.float32),
    )
    assert locate(term, replace(exact.state, inv_depth=exact.state.inv_depth[older]), 20).located is None


def test_the_equations_of_the_last_pose_are_those_of_the_whole_window() -> None:
    exact = exact_window(count=4, each=80)
    poses = exact.state.base_pose.copy()
    poses[-1] = se3.exp(np.full(6, 1e-3)) @ poses[-1]
    state = replace(exact.state, base_pose=poses, inv_depth=exact.state.inv_depth[exact.points.host < 3])
    points = exact.points.take(exact.points.host < 3)
    only_last = np.full_like(points.residual_status, NONE)
    only_last[:, -1] = IN
    term = replace(exact.photometric, points=replace(points, residual_status=only_last))
    found, whole = term.of_last_pose(state), WindowEnergy(term).linearize(state)
    rows = slice(3 * BLOCK, 3 * BLOCK + POSE)
    assert found.energy == whole.energy
    np.testing.assert_allclose(found.h, whole.h[rows, rows], rtol=1e-12)
    np.testing.assert_allclose(found.b, whole.b[rows], rtol=1e-12)
    np.testing.assert_array_equal(found.photometric.status, whole.photometric.status)
