# SPDX-License-Identifier: Apache-2.0
"""Noise: how it reaches a match, and how its level is read from one image."""

from dataclasses import replace

import numpy as np
import pytest
from light_fields import mini

from prism_vo.config import DecodeConfig
from prism_vo.lightfield import Decoder
from prism_vo.lightfield.variance import Propagation, fit_noise, propagation
from prism_vo.types import RawFrame


def test_propagation_is_read_from_matches_with_and_without_noise() -> None:
    rng = np.random.default_rng(0)
    slope, information = np.full(4000, 0.3), rng.uniform(1e3, 1e5, 4000)
    noisy = slope + rng.normal(size=4000) * np.sqrt(0.3 / information)
    residual = rng.uniform(1, 5, 4000)
    found = propagation(slope, noisy, residual, residual + rng.normal(0.2, 0.05, 4000), information)
    assert found.score == pytest.approx(0.3, rel=0.05)
    assert found.sample == pytest.approx(0.2, rel=0.05)


def test_a_frame_without_matches_gets_the_usual_propagation() -> None:
    nothing = np.full(100, np.nan)
    assert propagation(nothing, nothing, nothing, nothing, nothing) == Propagation()


def test_noise_is_the_residual_without_texture() -> None:
    rng = np.random.default_rng(1)
    grey, texture = rng.uniform(20, 200, 2000), rng.uniform(0, 50, 2000)
    residual = 0.2 * (1.5 + 0.02 * grey) + 0.03 * texture
    noise = fit_noise(grey, residual * rng.normal(1, 0.05, 2000), texture, Propagation(0.2, 0.3))
    assert float(noise.variance(100)) == pytest.approx(3.5, rel=0.1)


def test_more_noise_is_seen_as_such() -> None:
    """Known noise on top of a rendered frame raises the estimate by its variance."""
    field = mini("table")
    rng = np.random.default_rng(2)
    added = field.raw.image.astype(np.float32) + rng.normal(0, 3, field.raw.image.shape).astype(np.float32)
    quiet, loud = (
        Decoder(field.camera, DecodeConfig(threads=1), field.white).sensor_noise(frame)
        for frame in (field.raw, replace(field.raw, image=added))
    )
    rise = float(loud.variance(100) - quiet.variance(100))
    assert rise == pytest.approx(9.0, rel=0.25)


def test_blur_keeps_what_is_even_and_marks_what_is_outside() -> None:
    field = mini("table")
    decoder = Decoder(field.camera, DecodeConfig(threads=1), field.white)
    light = (100.0 / np.maximum(decoder.vignetting(field.raw).gain, 1e-6)).astype(np.float32)
    even = RawFrame(3, 0.0, np.where(decoder.vignetting(field.raw).gain > 0, light, 0).astype(np.float32))
    image = decoder.prepare(even).even
    border = (image.shape[0] - light.shape[0]) // 2
    inside = image[border:-border, border:-border][decoder.vignetting(field.raw).gain > 0]
    np.testing.assert_allclose(inside, 100.0, rtol=1e-5)
    assert (image[:border] < 0).all()
