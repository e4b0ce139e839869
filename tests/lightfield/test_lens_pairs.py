# SPDX-License-Identifier: Apache-2.0
"""Where bias comes from: every pair of lens types must agree best at the exact depth, whatever their focus."""

from dataclasses import replace

import numpy as np
import pytest
from light_fields import mini

from prism_vo.config import DecodeConfig
from prism_vo.lightfield import Decoder
from prism_vo.lightfield.matcher import Matcher

PLANE = 0.75  # m


@pytest.mark.parametrize("pair", [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)])
def test_cost_of_a_pair_has_its_minimum_at_the_exact_depth(pair: tuple[int, int]) -> None:
    field = mini(PLANE, noise=0.5)
    decoder = Decoder(field.camera, DecodeConfig(threads=1), field.white)
    g = decoder.geometry
    index = g.array.index.copy()
    lens = index >= 0
    index[lens] = np.where(np.isin(g.lens_type[index[lens]], pair), index[lens], -1)
    subset = replace(g, array=replace(g.array, index=index))
    matcher = Matcher(subset, decoder.config, decoder._bands)
    found = matcher.everywhere(decoder.prepare(field.raw).even, decoder._fall(field.raw))
    inner = np.zeros(field.rho.shape, bool)
    inner[12:-12, 12:-12] = True
    good = inner & np.isfinite(found.slope) & (found.curvature > np.nanmedian(found.curvature))
    deviation = (g.inv_virtual_depth(found.slope) - field.rho)[good]
    assert good.sum() > 1500
    spread = 1.4826 * np.median(np.abs(deviation - np.median(deviation)))
    independent = good.sum() / 50  # a window covers about 50 pixels
    assert abs(np.median(deviation)) < 2e-4 + 3 * 1.25 * spread / np.sqrt(independent)
    assert spread < 0.01
