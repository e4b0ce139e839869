# SPDX-License-Identifier: Apache-2.0
"""The image that matches read, and that it does not matter where a micro-image is cut.

No renderer is involved: the light field of a plane with a texture of waves, integrated over each pixel exactly.
"""

from functools import lru_cache

import numpy as np
import pytest
from light_fields import changed
from sums_twin import half_step_image

from prism_vo.arrays import Array
from prism_vo.config import DecodeConfig
from prism_vo.lightfield import Decoder
from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.mosaic import PreparedMosaic
from prism_vo.lightfield.raw import PreparedRaw
from prism_vo.lightfield.sample_steps import STEPS_A_PIXEL
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.mla import MicroLensArray
from prism_vo.optics.visibility import owner_maps
from prism_vo.simulate import preset_camera
from prism_vo.types import RawFrame

BORDER = 5
WAVES = 60
CONTRAST = 30.0  # grey levels: standard deviation of the texture
SLOPES = (0.32, 0.345, 0.37, 0.395)


def matching_image(light: Array) -> Array:
    """NaN: must not be used."""
    image = PreparedRaw(light.astype(np.float32), np.ones_like(light), BORDER, Bands(1)).matching_image
    inner = image[
        STEPS_A_PIXEL * BORDER : -STEPS_A_PIXEL * BORDER, STEPS_A_PIXEL * BORDER : -STEPS_A_PIXEL * BORDER
    ]
    return np.where(inner > 0, inner, np.nan)


def test_matching_image_equals_the_slow_twin() -> None:
    rng = np.random.default_rng(1)
    light = rng.uniform(20, 200, (40, 50))
    light[rng.random(light.shape) < 0.2] = 0.0
    expected = half_step_image(np.where(light > 0, light, np.nan))
    np.testing.assert_allclose(matching_image(light), expected, rtol=1e-5)


def test_blur_is_the_same_at_pixels_and_between_them() -> None:
    """A parabola is raised by one constant; at the rim, where less is known, it is hardly blurred, but not moved."""
    x = np.arange(14.0)
    parabola = np.tile(50.0 + x**2, (16, 1))
    middle = matching_image(parabola)[16]
    at = np.arange(len(middle)) / STEPS_A_PIXEL
    raised = middle - (50.0 + at**2)
    np.testing.assert_allclose(raised[1:-3], 0.25, atol=1e-4)
    np.testing.assert_allclose(raised[[0, -2]], -0.05, atol=1e-4)
    straight = matching_image(np.tile(50.0 + x, (16, 1)))[16]
    np.testing.assert_allclose(straight[:-1], 50.0 + at[:-1], atol=1e-4)


def test_what_is_even_stays_even() -> None:
    light = np.where(np.hypot(*np.mgrid[-9:10, -9:10]) < 7.2, 100.0, 0.0)
    image = matching_image(light)
    np.testing.assert_allclose(image[np.isfinite(image)], 100.0, rtol=1e-5)
    np.testing.assert_array_equal(np.isfinite(image[::2, ::2]), light > 0)


def plane(camera: PlenopticCamera, slope: float, shortest: float, seed: int) -> Array:
    """Raw image (H, W) of a plane at one slope; 0 outside the micro-images. Periods from ``shortest`` px of it up."""
    rng = np.random.default_rng(seed)
    side, array = camera.calibration.sensor.width, MicroLensArray.of(camera)
    frequency = 2 * np.pi / (shortest * rng.uniform(1.0, 4.0, WAVES))
    angle, phase = rng.uniform(0, 2 * np.pi, (2, WAVES))
    centre = array.image_centres[owner_maps(array, side, side).owner]
    y, x = np.mgrid[:side, :side].astype(float)
    tf = centre + (np.stack([x, y], -1) - centre) / slope
    image = np.full((side, side), 128.0)
    for f, a, p in zip(frequency, angle, phase):
        wave = f * np.array([np.cos(a), np.sin(a)])  # per raw pixel of a micro-image
        seen = np.prod(np.sinc(wave / (2 * np.pi)))  # mean over the area of a pixel
        image += CONTRAST * np.sqrt(2 / WAVES) * seen * np.cos(tf @ (wave * slope) + p)
    inside = np.hypot(x - centre[..., 0], y - centre[..., 1]) < array.diameter / 2
    return np.where(inside, image, 0.0)


@lru_cache(maxsize=8)
def bias(border: float, shortest: float, bayer: str | None = None) -> tuple[float, float]:
    """Information-weighted mean error of the slope over several planes, and its standard deviation."""
    calibration = changed(preset_camera("mini"), mla={"border_px": border}, sensor={"bayer": bayer})
    camera = PlenopticCamera.from_calibration(calibration)
    side = calibration.sensor.width
    white = np.full((side, side), 200, np.uint8)
    grid = np.stack(np.meshgrid(*(np.arange(18.0, side / 2 - 18, 3.0),) * 2), -1).reshape(-1, 2)
    errors, weights = [], []
    for n, slope in enumerate(SLOPES):
        light = plane(camera, slope, shortest, n).clip(0, 250).astype(np.float32)
        decoder = Decoder(camera, DecodeConfig(threads=1), white)
        found = decoder.measure(RawFrame(n, 0.0, light), grid)
        errors.append((decoder.geometry.slope(found.inv_virtual_depth) - slope)[found.valid])
        weights.append(1.0 / found.variance[found.valid])
    e, w = np.concatenate(errors).astype(float), np.concatenate(weights).astype(float)
    overlap = 50 / 9  # a window covers about 50 pixels, of which every ninth is measured
    return float((w * e).sum() / w.sum()), float(np.sqrt(overlap * ((w * e) ** 2).sum()) / w.sum())


@pytest.mark.parametrize("shortest", [3.0, 5.0])
@pytest.mark.parametrize("border", [1.0, 1.5, 2.0])
def test_no_bias_wherever_a_micro_image_is_cut(border: float, shortest: float) -> None:
    mean, sigma = bias(border, shortest)
    assert sigma < 0.5e-4
    assert abs(mean) < 1e-4 + 2 * sigma


@pytest.mark.parametrize("shortest", [3.0, 5.0])
@pytest.mark.parametrize("border", [1.0, 1.5])
def test_no_bias_behind_a_mosaic_either(border: float, shortest: float) -> None:
    mean, sigma = bias(border, shortest, "GRBG")
    assert sigma < 0.5e-4
    assert abs(mean) < 1e-4 + 2 * sigma


def mosaic_kernels(line: Array) -> Array:
    """Slow twin along one line, see docs/decoding.md; NaN: must not be used."""
    values = np.full(2 * len(line), np.nan)
    p = np.concatenate([[np.nan] * 3, line, [np.nan] * 3])
    for x in range(len(line)):
        far, before, here, after, beyond, third = p[x + 1 : x + 7]
        values[2 * x] = (before + 2 * here + after) / 4
        values[2 * x + 1] = (before + 7 * here + 7 * after + beyond) / 16
        if np.isnan(values[2 * x + 1]):
            last, inner, second, next_one = (
                (after, here, before, far) if np.isfinite(before) else (here, after, beyond, third)
            )
            rim = (39 * last + 41 * inner + second - next_one) / 80
            values[2 * x + 1] = rim if np.isfinite(rim) else (here + after) / 2
    return values


def test_matching_image_of_a_mosaic_equals_the_slow_twin() -> None:
    rng = np.random.default_rng(2)
    light = rng.uniform(20, 200, (40, 50))
    light[rng.random(light.shape) < 0.1] = 0.0
    image = PreparedMosaic(light.astype(np.float32), np.ones(light.shape, np.float32), BORDER, Bands(1))
    twice = slice(STEPS_A_PIXEL * BORDER, -STEPS_A_PIXEL * BORDER)
    found = image.matching_image[twice, twice]
    down = np.apply_along_axis(mosaic_kernels, 0, np.where(light > 0, light, np.nan))
    expected = np.apply_along_axis(mosaic_kernels, 1, down)
    np.testing.assert_allclose(np.where(found > 0, found, np.nan), expected, rtol=1e-5)


def test_kernels_of_a_mosaic_see_no_alternation_and_displace_nothing() -> None:
    x = np.arange(14.0)
    at = np.arange(2 * len(x)) / 2
    known = slice(1, -3)  # from half a pixel after the first to half a pixel before the last
    alternating = mosaic_kernels(50.0 + x + 20.0 * (-1.0) ** x)
    np.testing.assert_allclose(alternating[known], (50.0 + at)[known], atol=1e-9)
    np.testing.assert_allclose((mosaic_kernels(x**2) - at**2)[3:-5], 0.5, atol=1e-9)
    # moments of the kernel at the rim and of the step before it: what the last half pixel displaces on average
    blur, skew = (mosaic_kernels((x - 12.5) ** n)[-3] for n in (2, 3))
    assert 0.5 * skew + 0.25 * (blur - 0.5) == pytest.approx(0.0, abs=1e-9)
