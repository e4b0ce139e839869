# SPDX-License-Identifier: Apache-2.0
"""What a match gives must not depend on where the rungs of the ladder happen to lie."""

import numpy as np
import pytest
from light_fields import mini

from prism_vo.config import DecodeConfig
from prism_vo.evaluate.decoding import robust_std
from prism_vo.lightfield import Decoder
from prism_vo.lightfield.geometry import LARGEST_SLOPE
from prism_vo.lightfield.matcher import Matches
from prism_vo.lightfield.matching import Between, _straightened
from prism_vo.lightfield.nearby import Area, gather_lenses, lens_grid, lens_room
from prism_vo.lightfield.records import Overlay, SampleGrid
from prism_vo.lightfield.score import CHANNELS, FREEDOM, SCORE, score
from prism_vo.lightfield.workspace import workspace_for
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.simulate import preset_camera

FIRST_NODE = Between(0, 0, *np.float32([1.0, 0.0, 0.0, 0.0]))
GRID = np.stack(np.meshgrid(np.arange(20.0, 170.0, 5.0), np.arange(20.0, 170.0, 5.0)), -1).reshape(-1, 2)


def matches(rungs_up: float) -> tuple[Matches, np.ndarray]:
    """All points matched with the ladder moved up by so many rungs; and their σ of the slope."""
    field = mini()
    decoder = Decoder(field.camera, DecodeConfig(threads=1), field.white)
    matcher = decoder._matcher
    noise = decoder.noise(field.raw)
    slopes = matcher.ladder.slope
    step = slopes[1] / slopes[0]
    matcher.ladder = matcher.ladder._replace(slope=slopes * step**rungs_up)
    found = matcher.points(decoder.matching_image(field.raw)._replace(fall=0.0), GRID)
    _, variance, _ = matcher.judge(found, noise, 0.0)
    return found, np.sqrt(variance) * decoder.geometry.view.beta


def test_slopes_do_not_move_with_the_rungs() -> None:
    (here, sigma), (there, _) = matches(0.0), matches(0.5)
    both = np.isfinite(here.slope) & np.isfinite(there.slope) & np.isfinite(sigma)
    assert both.sum() > 300
    moved = (there.slope - here.slope)[both] / sigma[both]
    # adds a fiftieth to the variance at the most; with rungs twice as far apart a quarter of σ was seen here, and in a
    # shallow scene, whose depths all lie between two rungs, that is a focus wrong by half a micrometre
    assert robust_std(moved) < 0.15


def test_straightened_score_is_straight() -> None:
    """One rung below, at and above each root: the score alone bends by a tenth, straightened hardly."""
    field = mini()
    decoder = Decoder(field.camera, DecodeConfig(threads=1), field.white)
    matcher, geometry, window = decoder._matcher, decoder.geometry, 2
    image, grid = decoder.matching_image(field.raw)._replace(fall=0.0), lens_grid(geometry)
    found = matcher.points(image, GRID)
    step = matcher.ladder.slope[1] / matcher.ladder.slope[0] - 1.0
    pitch, room, workspace = matcher.sampling.pitch, lens_room(grid), workspace_for(2 * window + 4)
    straight, bent = [], []
    for (x, y), slope in zip(GRID[np.isfinite(found.slope)], found.slope[np.isfinite(found.slope)]):
        centre = matcher.sampling.scale * (np.array([x, y]) + 0.5) - 0.5
        low, high = centre - 10 * pitch, centre + 10 * pitch
        least = float(slope) * (1 - step)
        lenses = gather_lenses(grid, least, geometry.radius / least, Area(*low, *high), room)
        nodes = SampleGrid(*(centre - low), pitch, 2, 2)
        scores, at = (
            np.zeros((3, 2, 2, CHANNELS), np.float32),
            float(slope) * (1 + step * np.arange(-1.0, 2.0)),
        )
        for h, out in zip(at, scores):
            score(image, lenses, Overlay(h, geometry.radius, 1, True), nodes, window, workspace, out)
        alone = scores[:, 0, 0, SCORE] / scores[:, 0, 0, FREEDOM]
        straightened = [_straightened(scores, k, FIRST_NODE, h)[0] for k, h in enumerate(at)]
        for values, into in ((straightened, straight), (alone, bent)):
            into.append((values[2] - 2 * values[1] + values[0]) / (values[2] - values[0]))
    assert len(straight) > 300
    assert abs(np.median(straight)) < 0.05  # moves the root of a chord by 1 % of a rung at the most
    assert np.median(bent) < -0.1


def test_residuals_are_those_of_the_root_and_not_of_a_rung() -> None:
    (here, _), (there, _) = matches(0.0), matches(0.5)
    both = np.isfinite(here.slope) & np.isfinite(there.slope)
    pairs = (
        (here.residual, there.residual),
        (np.sqrt(here.repeats), np.sqrt(there.repeats)),
    )
    for first, second in pairs:
        ratio = second[both] / first[both]
        assert 0.97 < np.median(ratio) < 1.03
        assert robust_std(ratio) < 0.12


@pytest.mark.parametrize("preset", ["r5", "small", "mini"])
def test_the_ladder_reaches_three_sigma_beyond_infinity(preset: str) -> None:
    """A match whose root lies beyond the last rung is lost: with half of this a street's least certain fifth of depths
    was 12e-4 too near."""
    camera = PlenopticCamera.from_calibration(preset_camera(preset))
    decoder = Decoder(camera, DecodeConfig(threads=1))
    infinity = float(decoder.geometry.slope(camera.inv_virtual_depth(0.0)))
    sigma = decoder.config.max_sigma * decoder.view.beta
    assert decoder._matcher.ladder.slope[-1] >= min(infinity + 3.0 * sigma, LARGEST_SLOPE)
