# SPDX-License-Identifier: Apache-2.0
"""Points are followed once each, and placed in images focused at their own depth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from exact_batch import seen_in, world

from prism_vo.arrays import Array, Floats
from prism_vo.batch.hosts import APART, corners_of, host_order
from prism_vo.batch.numbers import W
from prism_vo.batch.observe import LEAST_VIRTUAL_DEPTH, in_full_view
from prism_vo.batch.projection import project
from prism_vo.batch.refocused import REACH, STEP, WINDOW, Sightings, placed_again, windows_of
from prism_vo.sensor import DecodedSensor
from prism_vo.types import InputFrame

SIZE = 80
WAVES = np.random.default_rng(0).uniform(-0.8, 0.8, (40, 2))  # rad a pixel
PHASES = np.random.default_rng(1).uniform(0, 2 * np.pi, 40)


def texture(shift_x: float = 0.0, shift_y: float = 0.0) -> Floats:
    """Known between pixels, too; moved by a shift."""
    y, x = np.mgrid[:SIZE, :SIZE].astype(np.float64)
    waves = np.cos((x - shift_x)[..., None] * WAVES[:, 0] + (y - shift_y)[..., None] * WAVES[:, 1] + PHASES)
    return np.asarray(120 + 12 * waves.sum(-1), np.float32)


class DoublingSensor(DecodedSensor):
    """Images that are moved by what their slope is wrong, as lenses on one side of a point would show it."""

    def __init__(self, slope: float, truth: tuple[float, float]) -> None:
        self.slope, self.truth = slope, truth

    def focus_at(self, frame: InputFrame, slope: float) -> Floats:
        """Right at one slope alone."""
        away = 5.0 * (slope / self.slope - 1.0)
        return texture(self.truth[0] + away, self.truth[1])


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_every_keyframe_hosts_once_and_neighbours_come_late(count: int) -> None:
    order = host_order(count)
    assert sorted(order) == list(range(count))
    if count == 40:
        assert min(abs(a - b) for a in order[:4] for b in order[:4] if a != b) >= 9


def test_corners_keep_away_from_points_that_are_there_already() -> None:
    image = texture()
    first = corners_of(image, 30, np.zeros((0, 2)))
    more = corners_of(image, 200, first)
    assert len(first) == 30
    assert len(more) > 0
    between = np.linalg.norm(more[:, None] - first, axis=2)
    assert between.min() > APART - 1.0  # the taken disc is drawn in whole pixels


def test_a_point_is_placed_where_the_image_of_its_own_slope_shows_it() -> None:
    slope = float(np.exp(STEP * round(np.log(0.3) / STEP)))
    truth = (0.31, -0.22)
    at_host, at_target = DoublingSensor(slope, (0.0, 0.0)), DoublingSensor(slope, truth)
    centre = np.array([[40.0, 40.0]])
    blurred = texture(truth[0] + 0.6, truth[1])  # one slope for the whole image
    frame: InputFrame = None  # type: ignore[assignment]  # the sensor draws its own
    windows = np.concatenate(
        [
            windows_of(frame, blurred, centre, np.array([slope]), at_host),
            windows_of(frame, blurred, centre, np.array([slope * 1.01]), at_target),
            windows_of(frame, blurred, centre, np.array([np.nan]), at_target),
        ]
    )
    assert windows.shape == (3, WINDOW, WINDOW)
    table = np.array([[0, k, 40.0, 40.0, 0, 0, 0] for k in range(3)], np.float64)
    slopes, sigma = np.array([slope, slope, np.nan]), np.full(3, 1e-3)
    poses: Array = np.repeat(np.eye(4)[None], 3, 0)
    intrinsics = np.array([500.0, SIZE / 2, SIZE / 2])
    placed, kept, _ = placed_again(
        Sightings(table, slopes, sigma, windows),
        np.zeros(1, np.intp),
        np.array([0.5]),
        poses,
        intrinsics,
    )
    np.testing.assert_allclose(placed[0, 2:4], [40.0, 40.0])  # the host is what all are compared with
    np.testing.assert_allclose(placed[1, 2:4], [40.31, 39.78], atol=0.02)
    np.testing.assert_allclose(placed[2, 2:4], [40.91, 39.78], atol=0.02)  # no slope: the image for all
    np.testing.assert_allclose(placed[0, 4:7], placed[1:, 4:7].mean(0))
    assert np.isnan(kept[2])


def test_what_does_not_fit_in_focus_is_left_out() -> None:
    random = np.random.default_rng(2).uniform(0, 255, (1, WINDOW, WINDOW)).astype(np.float32)
    whole = texture()[40 - REACH : 40 + REACH + 1, 40 - REACH : 40 + REACH + 1][None]
    table = np.array([[0, k, 40.0, 40.0, 0, 0, 0] for k in range(3)], np.float64)
    sightings = Sightings(
        table, np.full(3, 0.3), np.full(3, 1e-3), np.concatenate([whole, whole, random.astype(np.float32)])
    )
    poses: Array = np.repeat(np.eye(4)[None], 3, 0)
    placed, _, _ = placed_again(
        sightings, np.zeros(1, np.intp), np.array([0.5]), poses, np.array([500.0, 40.0, 40.0])
    )
    assert placed[:, 1].tolist() == [0.0, 1.0]


def test_slopes_count_only_where_two_lenses_see_every_place() -> None:
    state = world(distortion=(0.0, 0.0, 0.0, 0.0))
    values = state.camera.values.copy()
    values[W] = 1.6
    state = replace(state, camera=replace(state.camera, values=values))
    seen = seen_in(state, noise=1.0)
    virtual_depth = 1.0 / project(state, seen).predicted[:, 2]
    judged = in_full_view(state, seen)
    np.testing.assert_array_equal(np.isfinite(judged.slope), virtual_depth >= LEAST_VIRTUAL_DEPTH)
    assert 0 < np.isfinite(judged.slope).mean() < 1
    np.testing.assert_array_equal(judged.xy, seen.xy)
