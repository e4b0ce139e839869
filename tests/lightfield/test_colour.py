# SPDX-License-Identifier: Apache-2.0
"""Colour costs no depth: mosaics, RGB and grey of the same light are measured alike, and pictures carry the colour."""

import cv2
import numpy as np
import pytest
from colour_fields import CELL, PATTERNS, ColourField, colour_field, mini_camera

from prism_vo.arrays import Array
from prism_vo.evaluate.decoding import psnr
from prism_vo.lightfield import Decoder
from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.mosaic import PreparedMosaic
from prism_vo.lightfield.sample_steps import STEPS_A_PIXEL
from prism_vo.odometry import Odometry
from prism_vo.optics.mosaic import DEMOSAIC, find_pattern, mosaic_of, over_sensor
from prism_vo.types import DecodedFrame, RawFrame

SITES = np.array([[0.6, 1.0], [0.9, 0.75]])  # what the four channels of a sensor see of white light
NEARBY = 0.02  # of ρ_v: two estimates further apart are of different things
WINDOW_PIXELS = 50  # TF pixels that share one matching window


def decoded(image: np.ndarray, bayer: str | None = None, white: np.ndarray | None = None) -> DecodedFrame:
    return Decoder(mini_camera(bayer), white=white).dense(RawFrame(0, 0.0, image))


def scale_ratio(frame: DecodedFrame, other: DecodedFrame) -> float:
    """Median ratio of the depths in metres where both are valid, less one."""
    near = np.abs(frame.inv_virtual_depth - other.inv_virtual_depth) < NEARBY
    both = frame.valid & other.valid & near
    depths = [
        1.0 / f.view.inv_depth_from_virtual(f.inv_virtual_depth[both].astype(float)) for f in (frame, other)
    ]
    return float(np.median(depths[0] / depths[1])) - 1.0


def errors(frame: DecodedFrame, field: ColourField) -> Array:
    return (frame.inv_virtual_depth - field.rho)[frame.valid]


@pytest.fixture(scope="module")
def field() -> ColourField:
    return colour_field("table")


@pytest.fixture(scope="module")
def grey(field: ColourField) -> DecodedFrame:
    return decoded(field.grey(), white=field.white)


def mean_difference(frame: DecodedFrame, other: DecodedFrame) -> tuple[float, float]:
    """Information-weighted mean difference of ρ_v where both are valid, and its standard deviation.

    Mosaics are read through other kernels than grey images: single pixels differ by a share of their σ.
    """
    difference = frame.inv_virtual_depth - other.inv_virtual_depth
    both = frame.valid & other.valid & (np.abs(difference) < NEARBY)
    e, w = difference[both].astype(float), 1.0 / (frame.variance + other.variance)[both].astype(float)
    return float((w @ e) / w.sum()), float(np.sqrt(WINDOW_PIXELS * (w * w) @ (e * e)) / w.sum())


@pytest.mark.parametrize("pattern", PATTERNS)
def test_grey_light_behind_a_mosaic_is_measured_as_grey(
    pattern: str, field: ColourField, grey: DecodedFrame
) -> None:
    frame = decoded(field.grey(), pattern, field.white)
    mean, sigma = mean_difference(frame, grey)
    assert sigma < 1e-4 and abs(mean) < 1e-4 + 2 * sigma
    assert frame.valid.sum() > 0.999 * grey.valid.sum()
    assert psnr(frame.image, grey.image) > 40.0


@pytest.mark.parametrize("pattern", PATTERNS)
def test_coloured_light_behind_a_mosaic_is_measured_as_its_luminance(
    pattern: str, field: ColourField, grey: DecodedFrame
) -> None:
    plain = decoded(field.grey(), pattern, field.white)
    frame = decoded(field.mosaic(pattern), pattern, field.white)
    mean, sigma = mean_difference(frame, plain)  # other noise: that of the colours
    assert sigma < 1.5e-4 and abs(mean) < 1e-4 + 2 * sigma
    e, uncoloured = errors(frame, field), errors(plain, field)
    assert np.median(np.abs(e)) < 1.15 * np.median(np.abs(uncoloured))
    assert psnr(frame.image, field.picture @ CELL) > psnr(grey.image, field.picture @ CELL) - 1.2


def test_all_channels_of_rgb_and_half_resolution_colour(field: ColourField, grey: DecodedFrame) -> None:
    rgb = field.rgb()
    video = cv2.cvtColor(cv2.cvtColor(rgb, cv2.COLOR_RGB2YUV_I420), cv2.COLOR_YUV2RGB_I420)
    full, half = (decoded(image, white=field.white) for image in (rgb, video))
    assert abs(scale_ratio(full, grey)) < 2.5e-3  # other noise
    assert abs(scale_ratio(half, full)) < 1e-3


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("way", ["", "_EA"])
def test_images_demosaiced_elsewhere_are_seen_through(pattern: str, way: str, field: ColourField) -> None:
    mosaic = field.mosaic(pattern)
    rgb = cv2.cvtColor(mosaic, getattr(cv2, f"COLOR_Bayer{pattern}2RGB{way}"))
    assert find_pattern(rgb) == pattern
    assert find_pattern(rgb.astype(np.uint16) * 257) == pattern
    if pattern == "GRBG":
        white = cv2.cvtColor(field.white, DEMOSAIC[pattern])
        frame, direct = decoded(rgb, white=white), decoded(mosaic, pattern, field.white)
        assert abs(scale_ratio(frame, direct)) < 3e-4  # the outermost pixels are lost


def test_a_mosaic_of_three_full_channels_is_not_imagined(field: ColourField) -> None:
    rgb = field.rgb()
    assert find_pattern(rgb) is None
    assert find_pattern(np.stack([field.grey()] * 3, -1)) is None
    video = cv2.cvtColor(cv2.cvtColor(rgb, cv2.COLOR_RGB2YUV_I420), cv2.COLOR_YUV2RGB_I420)
    assert find_pattern(video) is None


@pytest.mark.parametrize("white", ["of that light", "of another light", "none"])
def test_coloured_light_on_a_grey_scene_leaves_no_mosaic(white: str, field: ColourField) -> None:
    """16 bits, four gains: what remains is the grey image times one brightness."""
    gains = over_sensor(SITES, field.grey().shape)
    raw, tinted = (np.rint(image * gains * 257.0).astype(np.uint16) for image in (field.grey(), field.white))
    given = {"of that light": tinted, "of another light": field.white, "none": None}[white]
    frame = decoded(raw, "RGGB", given)
    plain = decoded(field.grey(), "RGGB", None if given is None else field.white)
    brightness = np.median(frame.image / plain.image)
    assert psnr(frame.image / brightness, plain.image) > 45.0
    assert abs(scale_ratio(frame, plain)) < 5e-4


def test_matching_image_of_a_mosaic_is_its_luminance_up_to_the_rim(field: ColourField) -> None:
    """For constant colour on light that rises evenly no alternation is left, not even at rims."""
    micro_images = (
        Decoder(mini_camera(), white=field.white).vignetting(RawFrame(0, 0.0, field.grey())).gain > 0
    )
    y, x = np.mgrid[: micro_images.shape[0], : micro_images.shape[1]].astype(np.float32)
    luminance = 100 + 0.05 * x + 0.08 * y
    colour = np.array([30.0, -20.0, 10.0], np.float32)  # R + 2G + B is zero
    values = mosaic_of(luminance[..., None] + colour, "GRBG")
    border = 8
    prepared = PreparedMosaic(values, micro_images.astype(np.float32), border, Bands(1))
    inner = np.s_[border:-border, border:-border]
    between = np.s_[2 * border : -2 * border, 2 * border : -2 * border]
    matched = prepared.matching_image[between]
    half = np.mgrid[: matched.shape[0], : matched.shape[1]].astype(np.float32) / 2
    known = matched > 0
    # the last luminance lies half a pixel before the last pixel of a row
    assert known[::2, ::2][micro_images].mean() > 0.6 and not known[::2, ::2][~micro_images].any()
    np.testing.assert_allclose(matched[known], (100 + 0.05 * half[1] + 0.08 * half[0])[known], atol=1e-3)
    sharp = prepared.sharpened(0.0)[inner]
    inside = known[::2, ::2]  # along the edges of the sensor some pixels have no neighbour of a known colour
    np.testing.assert_allclose(sharp[inside], luminance[inside], atol=1e-3)
    assert np.mean(np.abs(sharp - luminance)[micro_images] < 1e-3) > 0.999
    for n, site in enumerate(((0, 1), (0, 0), (1, 0))):
        np.testing.assert_allclose(prepared.channel(*site)[inner][inside], colour[n], atol=1e-3)


def test_pictures_carry_the_colour_without_fringes(field: ColourField, grey: DecodedFrame) -> None:
    frame = Decoder(mini_camera("BGGR"), white=field.white).focus(RawFrame(0, 0.0, field.mosaic("BGGR")))
    assert callable(frame.picture)  # nobody has looked at it yet
    assert frame.color is not None and frame.color.dtype == np.uint8
    assert all(psnr(frame.color[..., n], field.picture[..., n]) > 29.0 for n in range(3))
    assert grey.color is None
    plain = Decoder(mini_camera("BGGR"), white=field.white).focus(RawFrame(0, 0.0, field.grey()))
    spread = plain.color.max(axis=-1).astype(int) - plain.color.min(axis=-1)
    assert np.percentile(spread, 95) <= 8 and spread.max() < 40  # a grey scene has no coloured rims


def test_rgb_pictures_are_grey_where_the_white_image_is(field: ColourField) -> None:
    light = np.array([0.9, 0.8, 0.5])
    rgb, white = (np.rint(image[..., None] * light).astype(np.uint8) for image in (field.grey(), field.white))
    picture = Decoder(mini_camera(), white=white).focus(RawFrame(0, 0.0, rgb)).color
    means = picture.reshape(-1, 3).mean(axis=0)
    np.testing.assert_allclose(means / means.mean(), 1.0, atol=0.01)


def test_one_saturated_channel_is_not_matched(field: ColourField) -> None:
    decoder = Decoder(mini_camera(), white=field.white)
    rgb = np.stack([field.grey() // 2] * 3, -1)
    rgb[90:100, 90:100, 2] = 255
    image = decoder.prepare(RawFrame(0, 0.0, rgb)).matching_image
    border = (len(image) // STEPS_A_PIXEL - len(rgb)) // 2
    saturated = slice(STEPS_A_PIXEL * (border + 90), STEPS_A_PIXEL * (border + 100))
    assert (image[saturated, saturated] < 0).all()


def test_map_points_have_the_colour_of_their_pixel(field: ColourField) -> None:
    odometry = Odometry(mini_camera("RGGB"), white=field.white, threads=False)
    odometry(RawFrame(0, 0.0, field.mosaic("RGGB")))
    points, picture = odometry.window.points, odometry.frame.focused.color
    assert len(points) > 100
    np.testing.assert_array_equal(points.rgb, picture[points.v.astype(int), points.u.astype(int)])
    finished = odometry.window.finished_points(np.ones(len(points), np.bool_))
    np.testing.assert_array_equal(finished.rgb, points.rgb)
    assert np.ptp(points.rgb.astype(int), axis=1).mean() > 5


def test_points_of_grey_images_are_grey(field: ColourField) -> None:
    odometry = Odometry(mini_camera(), white=field.white, threads=False)
    odometry(RawFrame(0, 0.0, field.grey()))
    points, image = odometry.window.points, odometry.frame.focused.image
    expected = np.clip(image[points.v.astype(int), points.u.astype(int)], 0, 255).astype(np.uint8)
    np.testing.assert_array_equal(points.rgb, np.repeat(expected[:, None], 3, 1))
