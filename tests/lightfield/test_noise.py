# SPDX-License-Identifier: Apache-2.0
"""Noise: how it reaches a match, and how its level is read from one image."""

from dataclasses import replace

import numpy as np
import pytest
from light_fields import mini
from scipy import ndimage
from sums_twin import half_step_image

from prism_vo.config import DecodeConfig
from prism_vo.evaluate.decoding import robust_std
from prism_vo.lightfield import Decoder
from prism_vo.lightfield.sample_steps import RIM, STEPS_A_PIXEL
from prism_vo.lightfield.variance import (
    fit_noise,
    noise_in_gradients,
    pixel_correlation,
    repeats,
    rim_share,
)
from prism_vo.types import RawFrame

NOISES = 40


@pytest.mark.parametrize("distance", [0.0, 0.7, 1.5, 2.3])
def test_samples_of_blurred_noise_correlate_as_predicted(distance: float) -> None:
    image = half_step_image(np.random.default_rng(3).normal(size=(400, 400)))
    x, y = np.random.default_rng(4).uniform(2, 390, (2, 60_000))
    here, there = (
        ndimage.map_coordinates(image, [STEPS_A_PIXEL * y, STEPS_A_PIXEL * at], order=1, mode="nearest")
        for at in (x, x + distance)
    )
    across = pixel_correlation(0.0)[0]  # both lie on one row
    assert np.mean(here * there) == pytest.approx(pixel_correlation(distance)[0] * across, abs=0.004)


@pytest.mark.parametrize(("alike", "period"), [(0.3, 5.0), (0.5, 8.0), (0.8, 6.0), (0.97, 30.0)])
def test_repeats_are_those_of_correlated_errors_on_a_wave(alike: float, period: float) -> None:
    """The variance of a window's sum written out, pair by pair, over all phases of the wave and of the point."""
    window, theta = 2, 2 * np.pi / period
    nodes = np.arange(-window, window + 2)
    correlation = alike ** ((nodes[:, None] - nodes[None]) ** 2)
    spread = information = 0.0
    for phase in np.linspace(0, 2 * np.pi, 12, endpoint=False):
        for u in np.linspace(0.02, 0.98, 25):
            share = np.ones(len(nodes))  # between two nodes the window slides from one to the next
            share[0], share[-1] = 1 - u, u
            wave = share * np.cos(theta * nodes + phase)  # along x; y is the same with a flat wave
            spread += wave @ correlation @ wave
            information += share @ np.cos(theta * nodes + phase) ** 2
    sliding = [np.array([1 - u, 1, 1, 1, 1, u]) for u in np.linspace(0.02, 0.98, 25)]
    along = np.mean([(share @ correlation @ share) / share.sum() for share in sliding])
    # b' holds the product of the true gradient and the difference over two nodes
    flat = theta / np.sin(theta)
    expected = spread / information * along / flat
    assert repeats(np.tan(theta / 2) ** 2, alike, window) == pytest.approx(expected, rel=0.02)


def test_rim_share_is_that_of_a_disc_of_lenses() -> None:
    rng = np.random.default_rng(5)
    d = rng.uniform(-1, 1, (200_000, 2))
    q = (d**2).sum(-1)
    d, q = d[q < 1], q[q < 1]
    w = np.minimum(1, (1 - q) / RIM) * (1 - 0.4 * q)
    assert rim_share(0.4) == pytest.approx((w**2 * d[:, 0] ** 2).sum() / (w * d[:, 0] ** 2).sum(), rel=0.01)


def test_matches_scatter_by_their_sigma_when_noise_is_all_there_is() -> None:
    """The same frame under two noises, loud enough that errors of the model do not count."""
    field = mini("table")
    rng = np.random.default_rng(6)
    grid = np.stack(np.meshgrid(np.arange(20.0, 170.0, 5.0), np.arange(20.0, 170.0, 5.0)), -1).reshape(-1, 2)
    decoder = Decoder(field.camera, DecodeConfig(threads=1, max_sigma=0.03), field.white)
    found = []
    for index in (1, 2):
        light = field.raw.image + rng.normal(0, 12, field.raw.image.shape) * (field.raw.image > 0)
        found.append(decoder.measure(RawFrame(index, 0.0, light.clip(1, 255).astype(np.float32)), grid))
    one, two = found
    both = one.valid & two.valid
    assert both.sum() > 150
    scatter = (one.inv_virtual_depth - two.inv_virtual_depth)[both]
    predicted = np.sqrt(one.variance + two.variance)[both]
    assert robust_std(scatter / predicted) == pytest.approx(1.0, abs=0.15)


def test_noise_is_the_residual_without_texture() -> None:
    rng = np.random.default_rng(1)
    grey, texture = rng.uniform(20, 200, 2000), rng.uniform(0, 50, 2000)
    residual = 0.3 + 0.004 * grey + 0.03 * texture
    noise = fit_noise(grey, residual * rng.normal(1, 0.05, 2000), texture)
    assert float(noise.variance(100)) == pytest.approx(0.7, rel=0.1)


def test_more_noise_is_seen_as_such() -> None:
    """Known noise on top of a rendered frame raises the estimate by its variance, less what the blur takes."""
    field = mini("table")
    trial = np.random.default_rng(2).normal(0, 1, field.raw.image.shape)
    quiet, loud, louder = (
        float(Decoder(field.camera, DecodeConfig(threads=1), field.white).noise(frame).variance(100))
        for frame in (
            replace(field.raw, image=(field.raw.image + sigma * trial).astype(np.float32))
            for sigma in (0.0, 3.0, 6.0)
        )
    )
    assert (louder - quiet) / (loud - quiet) == pytest.approx(4.0, rel=0.1)
    blur = pixel_correlation(0.0)[0] ** 2
    assert blur < (louder - quiet) / 36 < 2 * blur  # devignetting and the rim, which has no neighbours, add


def test_gradients_of_nothing_but_noise_are_recognised() -> None:
    """Differences over two nodes of the mean of five lenses are as large as predicted: no signal is left."""
    rng = np.random.default_rng(7)
    lenses, variance = 5, 2.3
    right, left, below, above = rng.normal(0, np.sqrt(variance), (4, 50_000, lenses)).mean(-1)
    steepness = np.mean((right - left) ** 2 + (below - above) ** 2)
    share = noise_in_gradients(np.array([variance]), np.array([steepness]), np.array([lenses - 1.0]))
    assert share[0] == pytest.approx(1.0, abs=0.02)


def test_noise_moves_no_depth_in_the_mean() -> None:
    """Roots of a noisy score lie 2 σ²/h too far, which is taken off: the mean of many noises is the quiet frame's."""
    field = mini("table", noise=0.0)
    grid = np.stack(np.meshgrid(np.arange(16.0, 176.0, 4.0), np.arange(16.0, 176.0, 4.0)), -1).reshape(-1, 2)
    decoder = Decoder(field.camera, DecodeConfig(threads=2, max_sigma=0.05), field.white)
    quiet = decoder.measure(field.raw, grid)
    loud = Decoder(field.camera, DecodeConfig(threads=2, max_sigma=0.05), field.white)
    rng, lit = np.random.default_rng(8), field.raw.image > 0
    frames = [field.raw.image + rng.normal(0, 9, field.raw.image.shape) * lit for _ in range(NOISES)]
    found = [
        loud.measure(RawFrame(n, 0.0, f.clip(1, 255).astype(np.float32)), grid) for n, f in enumerate(frames)
    ]
    rho = np.stack([f.inv_virtual_depth for f in found])
    scatter = rho.std(0, ddof=1)
    seen = quiet.valid & np.isfinite(rho).all(0) & (np.abs(rho - np.median(rho, 0)) < 5 * scatter).all(0)
    shift = (rho.mean(0) - quiet.inv_virtual_depth)[seen]
    slope = decoder.geometry.slope(quiet.inv_virtual_depth[seen])
    expected = decoder.view.beta * scatter[seen] ** 2 / slope
    assert abs(shift.sum() / expected.sum()) < 0.8


def test_noise_is_learnt_again_after_a_frame_that_was_no_good() -> None:
    field = mini()
    rng = np.random.default_rng(2)
    image = np.clip(field.raw.image + rng.normal(0, 40, field.raw.image.shape), 0, 255)
    bad = replace(field.raw, image=image.astype(field.raw.image.dtype))
    decoder, fresh = (Decoder(field.camera, DecodeConfig(threads=1), field.white) for _ in range(2))
    assert decoder.noise(bad).read > 10.0 * fresh.noise(field.raw).read
    assert decoder.noise(field.raw) == decoder.noise(bad)  # once and for all …
    decoder.unlearn()
    assert decoder.noise(field.raw) == fresh.noise(field.raw)  # … unless it is told otherwise
