# SPDX-License-Identifier: Apache-2.0
"""Which of the spread pixels become candidates and whose depth is trusted."""

from dataclasses import replace

import numpy as np
import pytest
from smooth_scene import SmoothScene, small_view

from prism_vo.config import SelectConfig
from prism_vo.points.candidates import select_candidates
from prism_vo.points.records import DEPTH_NONE, DEPTH_UNCERTAIN, DEPTH_USED
from prism_vo.points.select import (
    LEAST_SPREAD,
    classify,
    independent_information,
    prefer_depth,
    smooth_depth,
)
from prism_vo.points.spread import spread_pixels
from prism_vo.tracking.pyramid import image_pyramid
from prism_vo.types import PointDepth

VIEW = small_view(192, 160, 240.0)


def textured(seed: int = 0, contrast: float = 35.0) -> np.ndarray:
    return image_pyramid(
        SmoothScene.build(seed, finest=0.06, contrast=contrast).image(VIEW, np.eye(4))[0], 1
    )[0]


def measured(rho: np.ndarray, sigma: float) -> PointDepth:
    return PointDepth(
        rho.astype(np.float32), np.full(len(rho), sigma**2, np.float32), np.ones(len(rho), np.bool_)
    )


def test_classes_follow_validity_and_certainty() -> None:
    rho = VIEW.inv_virtual_depth(np.full(300, 1.0))
    depth = measured(rho, 0.003)
    valid = np.arange(300) % 3 != 0
    variance = np.where(np.arange(300) % 3 == 1, np.float32(0.05**2), depth.variance)
    kind = classify(PointDepth(depth.inv_virtual_depth, variance, valid), SelectConfig())
    assert (kind[~valid] == DEPTH_NONE).all()
    assert (kind[valid & (variance > 0.015**2)] == DEPTH_UNCERTAIN).all()
    assert (kind[valid & (variance < 0.015**2)] == DEPTH_USED).all()


def test_noise_does_not_decide_which_depths_are_used() -> None:
    """Of a wall that recedes from 2 to 40 m, what is kept at any distance is as far on average as it is in truth."""
    rng = np.random.default_rng(3)
    truth = VIEW.inv_virtual_depth(VIEW.inv_depth_of(np.linspace(2.0, 40.0, 6000)))
    sigma = 0.004
    depth = measured(truth + rng.normal(0, sigma, 6000), sigma)
    used = classify(depth, SelectConfig()) == DEPTH_USED
    error = depth.inv_virtual_depth.astype(np.float64) - truth
    for part in np.array_split(np.arange(6000), 6):
        kept = part[used[part]]
        assert len(kept) > 900
        assert abs(error[kept].mean() - error[part].mean()) < 0.02 * sigma
    # the trap, for comparison: the farthest share left out by each depth's own noise
    cut = depth.inv_virtual_depth <= np.quantile(depth.inv_virtual_depth, 0.7)
    far = np.arange(6000) > 3000
    assert error[far & cut].mean() < -0.2 * sigma


def test_depth_is_preferred_where_gradients_are_alike() -> None:
    image = textured()
    pixels = spread_pixels(image, 800, np.random.default_rng(4))
    kind = np.where(np.arange(len(pixels)) % 2 == 0, DEPTH_USED, DEPTH_NONE)
    keep = prefer_depth(image, pixels, kind, 300, 2.0)
    assert len(np.unique(keep)) == len(keep) and len(keep) >= 300
    assert (kind[keep] == DEPTH_USED).mean() > 0.55
    assert (kind[keep] == DEPTH_NONE).any()  # points without depth still cover the image


def test_depths_of_one_matching_window_are_counted_once() -> None:
    pixels = np.array([[20, 20], [21, 20], [22, 21], [100, 90]], np.int32)
    depth = measured(np.full(4, 0.4), 0.01)
    info = independent_information(pixels, depth, np.array([True, True, True, True]), 9)
    assert info[:3].sum() == pytest.approx(1e4, rel=1e-5)
    assert info[3] == pytest.approx(1e4, rel=1e-5)
    without = independent_information(pixels, depth, np.array([True, False, False, True]), 9)
    np.testing.assert_allclose(without, [1e4, 0, 0, 1e4], rtol=1e-5)


def test_candidates_carry_the_interval_of_their_measurement() -> None:
    q = 0.6
    sigma = 0.0008  # fine enough to stand alone

    def measure(points: np.ndarray) -> PointDepth:
        return measured(np.full(len(points), float(VIEW.inv_virtual_depth(q))), sigma)

    c = select_candidates(VIEW, textured(), measure, 200, SelectConfig(), 50.0, np.random.default_rng(0))
    assert len(c) >= 150
    np.testing.assert_allclose(c.inv_depth, q, rtol=1e-5)
    half = 2 * sigma / abs(float(VIEW.inv_virtual_depth_slope(q)))
    assert np.all(c.low < q) and np.all(c.high > q)
    np.testing.assert_allclose(c.high - c.low, 2 * half, rtol=0.02)
    # beyond infinity is noise: the start is clamped, the measurement kept
    beyond = float(VIEW.inv_virtual_depth(-0.01))
    c = select_candidates(
        VIEW,
        textured(),
        lambda p: measured(np.full(len(p), beyond), sigma),
        200,
        SelectConfig(),
        50.0,
        np.random.default_rng(0),
    )
    assert (c.inv_depth > 0).all() and (c.low == 0).all()
    np.testing.assert_allclose(c.measured, beyond, rtol=1e-5)


def test_what_candidates_know_of_scale_is_how_well_one_factor_of_all_depths_is_found() -> None:
    q, rng = 0.5, np.random.default_rng(1)

    def wall(points: np.ndarray) -> PointDepth:
        return measured(np.full(len(points), float(VIEW.inv_virtual_depth(q))), 0.004)

    how = 300, SelectConfig(), 50.0, np.random.default_rng(0)
    c = select_candidates(VIEW, textured(), wall, *how)
    slope = q * float(VIEW.inv_virtual_depth_slope(q))  # of ρ_v by the logarithm of inverse depth
    # errors as the information says: those of one matching window are one
    errors = rng.normal(size=(400, len(c))) / np.sqrt(c.information)
    factors = (errors * c.information * slope).sum(1) / (c.information * slope**2).sum()
    assert c.scale_sigma(VIEW) == pytest.approx(factors.std(), rel=0.15)
    none = select_candidates(VIEW, textured(), lambda p: PointDepth.none(len(p)), *how)
    assert none.scale_sigma(VIEW) == np.inf


def test_without_depth_the_whole_ray_is_open() -> None:
    def no_depth(points: np.ndarray) -> PointDepth:
        return PointDepth.none(len(points))

    c = select_candidates(VIEW, textured(), no_depth, 200, SelectConfig(), 50.0, np.random.default_rng(0))
    assert np.isnan(c.inv_depth).all() and np.isnan(c.high).all() and (c.low == 0).all()
    assert (c.kind == DEPTH_NONE).all() and not c.information.any()


def test_coarse_depths_of_a_wall_are_averaged_and_edges_stay() -> None:
    rng = np.random.default_rng(4)
    pixels = rng.integers(5, 150, (600, 2)).astype(np.int32)
    near, far = (float(VIEW.inv_virtual_depth(q)) for q in (1.2, 0.15))
    truth = np.where(pixels[:, 0] < 75, near, far)
    sigma = 0.012
    noisy = measured(truth + sigma * rng.normal(size=600), sigma)
    smooth, _ = smooth_depth(VIEW, pixels, noisy, 9)
    inside = np.abs(pixels[:, 0] - 75) > 25
    wall = inside & (pixels[:, 0] > 75)
    before = np.std(noisy.inv_virtual_depth[wall] - far)
    assert np.std(smooth[wall] - far) < 0.4 * before
    assert abs(far - near) > 6 * sigma  # so that the edge can be seen in the noise
    assert np.abs(smooth - truth).max() < 0.5 * abs(far - near)


def test_neighbours_in_one_matching_window_count_as_one() -> None:
    """Their errors are the same, so that a mean of a few of them is as coarse as each."""
    rng = np.random.default_rng(6)
    pixels = rng.integers(5, 150, (2000, 2)).astype(np.int32)
    truth, sigma = float(VIEW.inv_virtual_depth(0.3)), 0.005
    patch = rng.normal(size=(20, 20))[pixels[:, 1] // 9, pixels[:, 0] // 9]
    noisy = measured(truth + sigma * patch, sigma)
    by_window, one_by_one = (np.std(smooth_depth(VIEW, pixels, noisy, side)[0] - truth) for side in (9, 1))
    assert by_window < 0.4 * sigma < 0.55 * sigma < one_by_one


def reach(share: float) -> np.ndarray:
    """Of candidates of which many or few share a matching window, over the σ of single depths."""
    rng = np.random.default_rng(7)
    noise = 0.012
    c = select_candidates(
        VIEW,
        textured(),
        lambda p: measured(float(VIEW.inv_virtual_depth(0.15)) + noise * rng.normal(size=len(p)), noise),
        300,
        replace(SelectConfig(), matching_window=int(share)),
        50.0,
        rng,
    )
    middle = VIEW.inv_virtual_depth(c.inv_depth)
    known = (c.kind == DEPTH_USED) & (c.low > 0)
    assert known.sum() > 50
    return np.asarray((VIEW.inv_virtual_depth(c.low[known]) - middle[known]) / (2 * noise))


def test_a_mean_over_windows_is_known_better_but_never_as_well_as_its_noise_says() -> None:
    """A wide search along the ray ends at other texture; a surface may have a relief below the noise."""
    np.testing.assert_allclose(reach(1), np.sqrt(LEAST_SPREAD), rtol=1e-3)
    np.testing.assert_allclose(reach(400), 1.0, rtol=1e-3)  # all of them are one window


def test_depths_that_are_good_enough_are_left_alone() -> None:
    pixels = np.random.default_rng(5).integers(5, 150, (200, 2)).astype(np.int32)
    fine = measured(np.full(200, float(VIEW.inv_virtual_depth(1.0))) + 1e-5 * np.arange(200), 1e-4)
    smooth, spread = smooth_depth(VIEW, pixels, fine, 9)
    np.testing.assert_allclose(smooth, fine.inv_virtual_depth, atol=1e-9)
    np.testing.assert_array_equal(spread, fine.variance)
