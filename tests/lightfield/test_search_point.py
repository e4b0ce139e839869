# SPDX-License-Identifier: Apache-2.0
"""The search about one point, all rungs at once, against the search rung by rung that blocks use."""

from dataclasses import replace

import numpy as np
import pytest
from camera_model import raw_from_tf
from test_kernels import FALL, geometry_of, noise_image

from prism_vo.config import DecodeConfig
from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.geometry import StereoGeometry, raw_border
from prism_vo.lightfield.ladders import MOST_RUNGS, lenses_per_sample, search_ladder
from prism_vo.lightfield.matcher import Matcher
from prism_vo.lightfield.nearby import Area, gather_lenses, lens_room
from prism_vo.lightfield.records import MatchingImage, SampleGrid
from prism_vo.lightfield.sample_steps import OUTSIDE, STEPS_A_PIXEL
from prism_vo.lightfield.search import search, search_scratch
from prism_vo.lightfield.search_point import NOTHING, point_search
from prism_vo.lightfield.workspace import block_workspace


def costs(
    geometry: StereoGeometry, image: np.ndarray, at: np.ndarray, at_once: bool
) -> tuple[np.ndarray, ...]:
    """Cost and degrees of freedom (N, K) about raw positions (N, 2)."""
    matcher = Matcher(geometry, DecodeConfig(view=geometry.view.name), Bands(1))
    tables, ladder = matcher._tables(0.0), search_ladder(geometry)
    border = STEPS_A_PIXEL * raw_border(geometry)
    padded = np.pad(np.where(image > 0, image, OUTSIDE), border, constant_values=OUTSIDE)
    scratch = search_scratch(point_search(ladder) if at_once else block_workspace(), ladder, 1)
    reach, half = float(np.max(ladder.radius / ladder.slope)), 3.0 * matcher.sampling.search_pitch
    found = []
    for x, y in at:
        area = Area(x - half, y - half, x + half, y + half)
        lenses = gather_lenses(tables.lenses, ladder.slope[0], reach, area, lens_room(tables.lenses))
        node = SampleGrid(half, half, matcher.sampling.search_pitch, 1, 1)
        search(tables, MatchingImage(padded, FALL), lenses, node, scratch)
        found.append((scratch.cost[:, 0, 0].copy(), scratch.freedom[:, 0, 0].copy()))
    cost, freedom = (np.array(each) for each in zip(*found))
    return cost, freedom


@pytest.mark.parametrize("view", ["central", "focal"])
@pytest.mark.parametrize("distorted", [False, True])
def test_equals_the_search_rung_by_rung(view: str, distorted: bool) -> None:
    geometry = geometry_of(view, distorted)
    image = noise_image(geometry)
    size = geometry.camera.calibration.sensor.width
    at = raw_from_tf(geometry.camera, np.random.default_rng(3).uniform(0.0, size / 2 - 1, (60, 2)))
    at[:4] = [(0.0, 0.0), (size, 0.0), (0.0, size), (size, size)]  # corners: lenses whose images are cut off
    (cost, freedom), (slow_cost, slow_freedom) = (
        costs(geometry, image, at, at_once) for at_once in (True, False)
    )
    np.testing.assert_array_equal(cost == NOTHING, slow_cost == NOTHING)
    known = cost < NOTHING
    assert known.mean() > 0.8
    np.testing.assert_allclose(freedom, slow_freedom, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(cost[known], slow_cost[known], rtol=1e-3)


def test_each_rung_sees_as_many_lenses() -> None:
    """Also those outside the range: their costs are compared with the others."""
    geometry = geometry_of("central", False)
    ladder = search_ladder(geometry)
    seen = lenses_per_sample(geometry, ladder.radius, ladder.slope)
    whole = lenses_per_sample(geometry, geometry.radius, ladder.slope)
    np.testing.assert_allclose(seen, np.minimum(whole, 4.0), rtol=1e-12)
    assert ladder.slope[0] < geometry.slope_near == ladder.slope[1]
    assert ladder.slope[-1] > ladder.slope[-2] >= geometry.slope_far > ladder.slope[-3]


def test_the_largest_micro_images_are_searched_in_coarser_steps() -> None:
    geometry = geometry_of("central", False)
    array = replace(geometry.array, diameter=400.0)
    ladder = search_ladder(replace(geometry, radius=195.0, array=array))
    assert MOST_RUNGS / 2 < len(ladder.slope) <= MOST_RUNGS
    assert ladder.slope[0] < geometry.slope_near == ladder.slope[1]
    assert ladder.slope[-2] >= geometry.slope_far
