# SPDX-License-Identifier: Apache-2.0
"""What the report's 3-D view is given: a cloud in few bytes, a side to look from, and how large the scene is."""

from __future__ import annotations

import base64

import numpy as np

from prism_vo import se3
from prism_vo.cloud import PointCloud
from prism_vo.report.packed_cloud import MOST_POINTS, packed
from prism_vo.report.scene3d import best_side, map_words, scene_size
from prism_vo.trajectory import Trajectory


def scattered(count: int) -> PointCloud:
    rng = np.random.default_rng(1)
    points = rng.uniform([-1, 0, 2], [1, 1, 5], (count, 3)).astype(np.float32)
    colors = rng.integers(0, 256, (count, 3)).astype(np.uint8)
    return PointCloud(points, colors, np.linspace(1e-4, 0.5, count, dtype=np.float32))


def test_packed_points_are_where_they_were() -> None:
    cloud = scattered(500)
    found = packed(cloud, np.full(500, 0.003, np.float32))
    places = np.frombuffer(base64.b64decode(found["points"]), "<u2").reshape(-1, 3)
    points = np.array(found["low"]) + places * np.array(found["step"])
    order = np.random.default_rng(0).permutation(500)
    assert np.abs(points - cloud.points[order]).max() < 1e-4
    steps = np.frombuffer(base64.b64decode(found["sigma"]), np.uint8)
    assert cloud.sigma is not None
    ratio = found["finest"] * 2 ** (steps / found["per_octave"]) / cloud.sigma[order]
    assert np.abs(ratio - 1).max() < 0.05
    assert found["count"] == found["total"] == 500


def test_large_clouds_are_thinned_and_the_rest_drawn_larger() -> None:
    count = 4 * MOST_POINTS
    found = packed(PointCloud(np.zeros((count, 3), np.float32)), np.full(count, 0.002, np.float32))
    assert (found["count"], found["total"]) == (MOST_POINTS, count)
    size = base64.b64decode(found["sizes"])[0]
    assert abs(found["finest"] * 2 ** (size / found["per_octave"]) / 0.004 - 1) < 0.05


def test_nothing_is_packed_as_nothing() -> None:
    found = packed(PointCloud(np.zeros((0, 3), np.float32)), np.zeros(0, np.float32))
    assert found["count"] == 0
    assert found["points"] == ""


def test_it_is_looked_at_as_the_camera_saw_it() -> None:
    ahead = np.tile(np.eye(4), (3, 1, 1))
    yaw, pitch = best_side(Trajectory(np.arange(3.0), ahead))
    assert -0.6 < yaw < 0
    assert 0 < pitch < 0.6
    right = np.tile(se3.exp(np.array([0, 0, 0, 0, np.pi / 2, 0])), (3, 1, 1))
    turned, _ = best_side(Trajectory(np.arange(3.0), right))
    assert abs(turned - (yaw - np.pi / 2)) < 1e-6  # the viewer's forward is (−sin, ·, cos)
    around = np.stack([se3.exp(np.array([0, 0, 0, 0, a, 0])) for a in (0, np.pi / 2, np.pi, 3 * np.pi / 2)])
    assert best_side(Trajectory(np.arange(4.0), around)) == (-0.7, 0.55)


def test_the_size_of_a_scene_is_said_without_its_outliers() -> None:
    cloud = scattered(5000)
    far = PointCloud(np.concatenate([cloud.points, np.full((10, 3), 400.0, np.float32)]))
    size = scene_size(far)
    assert size is not None
    assert np.allclose(size, [2, 1, 3], rtol=0.04)
    assert "of a scene 1.9" in map_words(far, dense=True)
    assert map_words(scattered(20), dense=False) == "map of 20 points."
