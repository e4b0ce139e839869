# SPDX-License-Identifier: Apache-2.0
"""Micro-images that lie beside where the camera has them: seen in one frame, and part of σ."""

from dataclasses import replace

import numpy as np
import pytest
from light_fields import LightField, mini
from scipy import ndimage

from prism_vo.config import DecodeConfig
from prism_vo.evaluate.decoding import near_depth_edge, robust_std
from prism_vo.lightfield import Decoder
from prism_vo.lightfield.displaced import Clustered, PlacedMatches, clustered_variance, fit_displacement
from prism_vo.optics.mla import MicroLensArray
from prism_vo.types import RawFrame

DISPLACED = 0.25  # px, standard deviation along either axis


def displaced(field: LightField, sigma: float) -> RawFrame:
    """Every micro-image moved by its own random amount, under the same vignetting."""
    white = np.maximum(field.white.astype(np.float64), 1.0)
    light = field.raw.image / white
    centres = MicroLensArray.of(field.camera).image_centres
    y, x = np.mgrid[: light.shape[0], : light.shape[1]].astype(np.float64)
    nearest = np.full(light.shape, -1)
    closest = np.full(light.shape, np.inf)
    for n, (cx, cy) in enumerate(centres):
        rows = slice(max(int(cy) - 14, 0), max(int(cy) + 15, 0))
        columns = slice(max(int(cx) - 14, 0), max(int(cx) + 15, 0))
        distance = np.hypot(x[rows, columns] - cx, y[rows, columns] - cy)
        closer = distance < closest[rows, columns]
        nearest[rows, columns][closer], closest[rows, columns][closer] = n, distance[closer]
    moves = np.random.default_rng(5).normal(0.0, sigma, (len(centres), 2))
    moved = ndimage.map_coordinates(
        light, [y + moves[nearest, 1], x + moves[nearest, 0]], order=3, mode="nearest"
    )
    image = np.clip(np.rint(moved * white), 0, 255).astype(field.raw.image.dtype)
    return replace(field.raw, image=image)


def honesty(decoder: Decoder, field: LightField, raw: RawFrame) -> float:
    frame = decoder.dense(raw)
    assert frame.valid is not None and frame.inv_virtual_depth is not None and frame.variance is not None
    good = frame.valid & ~near_depth_edge(field.depth)
    error = frame.inv_virtual_depth[good] - field.rho[good]
    return robust_std(error / np.sqrt(frame.variance[good]))


def test_displaced_micro_images_are_seen_and_make_sigma_larger() -> None:
    field = mini()
    raw = displaced(field, DISPLACED)
    decoder = Decoder(field.camera, DecodeConfig(threads=1), field.white)
    noise = decoder.noise(raw)
    assert 0.05 < np.sqrt(noise.displaced) < DISPLACED  # residuals alone account for a part of it
    assert 0.9 < honesty(decoder, field, raw) < 1.1
    believing = Decoder(field.camera, DecodeConfig(threads=1), field.white)
    believing._noise = replace(noise, displaced=0.0)
    assert honesty(believing, field, raw) > 1.15


def test_an_undisturbed_frame_has_next_to_none() -> None:
    field = mini()
    assert (
        np.sqrt(Decoder(field.camera, DecodeConfig(threads=1), field.white).noise(field.raw).displaced) < 0.03
    )


@pytest.mark.parametrize("displacement", [0.0, 0.1, 0.3])
def test_displacement_is_found_whatever_the_number_of_lenses_and_some_gross_errors(
    displacement: float,
) -> None:
    rng = np.random.default_rng(2)
    stated, by_one_px = rng.uniform(1.0, 3.0, (2, 4000)) * np.array([[1.0], [50.0]])
    freedom = rng.integers(2, 12, 4000)
    seen = (stated + displacement**2 * by_one_px) * rng.chisquare(freedom) / freedom
    seen[::20] *= 30.0
    found = fit_displacement(Clustered(seen, freedom.astype(float)), stated, by_one_px)
    assert np.sqrt(found) == pytest.approx(displacement, abs=0.06)


def test_few_points_say_nothing() -> None:
    ones = np.ones(20)
    assert fit_displacement(Clustered(9.0 * ones, 5.0 * ones), ones, ones) == 0.0


def test_lenses_that_the_match_left_out_are_left_out_here_too() -> None:
    """Near points are matched with every second lens: a quarter of them, with the curvature of a quarter."""
    field = mini()
    decoder = Decoder(field.camera, DecodeConfig(threads=1), field.white)
    image, matcher = decoder.matching_image(field.raw), decoder._matcher
    at = np.full((1, 2), 190.0)
    seen = [
        clustered_variance(
            image,
            decoder.geometry,
            PlacedMatches(at, np.array([0.1]), np.array([1e6]), np.array([stride])),
            matcher.sampling.pitch,
            matcher.sampling.window,
        )
        for stride in (1, 2)
    ]
    assert 2.0 < (seen[0].freedom[0] + 1) / (seen[1].freedom[0] + 1) < 6.0
