# SPDX-License-Identifier: Apache-2.0
"""Image and depth pyramids."""

import numpy as np
import pytest
from smooth_scene import small_view

from prism_vo.tracking.pyramid import depth_pyramid, image_pyramid, level_count, levels_of


def halved(values: list[list[float]], variances: list[list[float]]) -> tuple[float, float]:
    """One 2×2 block through the depth pyramid."""
    maps = depth_pyramid(np.array(values, np.float32), np.array(variances, np.float32), 2)
    return float(maps[1][0][0, 0]), float(maps[1][1][0, 0])


def test_each_level_is_the_mean_of_two_by_two() -> None:
    image = np.random.default_rng(0).uniform(0, 255, (37, 50)).astype(np.float32)
    levels = image_pyramid(image, 3)
    assert [level.shape for level in levels] == [(37, 50), (18, 25), (9, 12)]
    expected = image[:36, :50].reshape(18, 2, 25, 2).mean((1, 3))
    np.testing.assert_allclose(levels[1], expected, rtol=1e-5)
    np.testing.assert_allclose(levels[2], expected[:, :24].reshape(9, 2, 12, 2).mean((1, 3)), rtol=1e-5)


def test_intrinsics_follow_the_pixels() -> None:
    """A linear image I = u must read (u_l + 0.5)·2^l − 0.5 on level l, at the ray the level's intrinsics give."""
    view = small_view()
    image = np.tile(np.arange(view.width, dtype=np.float32), (view.height, 1))
    for number, (level, pixels) in enumerate(zip(levels_of(view, 3), image_pyramid(image, 3))):
        assert pixels.shape == (level.height, level.width)
        u = 5
        assert pixels[3, u] == pytest.approx((u + 0.5) * 2**number - 0.5)
        ray = (u - level.cx) / level.focal
        assert ray == pytest.approx((pixels[3, u] - view.cx) / view.focal_px, rel=1e-5)


def test_level_count_stops_at_the_least_area() -> None:
    assert level_count(small_view(512, 512), 5000) == 3
    assert level_count(small_view(64, 64), 5000) == 2


def test_depth_is_the_weighted_mean_and_averaging_does_not_shrink_its_variance() -> None:
    rho = np.array([[0.500, 0.502], [0.501, 0.499]])
    var = np.array([[1e-4, 4e-4], [2e-4, 1e-4]])
    value, variance = halved(rho.tolist(), var.tolist())
    assert value == pytest.approx((rho / var).sum() / (1 / var).sum(), rel=1e-6)
    assert variance == pytest.approx(4.0 / (1 / var).sum(), rel=1e-6)  # harmonic mean, not a quarter of it
    same = halved([[0.5, 0.5], [0.5, 0.5]], [[1e-4, 1e-4], [1e-4, 1e-4]])
    assert same[1] == pytest.approx(1e-4, rel=1e-6)


def test_only_valid_children_count() -> None:
    value, variance = halved([[np.nan, 0.6], [np.nan, np.nan]], [[np.inf, 1e-4], [np.inf, np.inf]])
    assert value == pytest.approx(0.6) and variance == pytest.approx(1e-4)
    value, variance = halved([[np.nan] * 2] * 2, [[np.inf] * 2] * 2)
    assert np.isnan(value) and variance == np.inf


def test_an_edge_keeps_the_nearer_surface() -> None:
    near, far = 0.9, 0.5
    for values in ([[near, far], [far, far]], [[far, far], [far, near]], [[far, near], [near, far]]):
        value, variance = halved(values, [[1e-4] * 2] * 2)
        assert value == pytest.approx(near)
        assert variance == pytest.approx(1e-4)
    # the same values, known too badly to call it an edge, are averaged
    value, _ = halved([[near, far], [far, far]], [[0.04] * 2] * 2)
    assert value == pytest.approx(0.6)
