# SPDX-License-Identifier: Apache-2.0
"""Bit depth, response, colour and vignetting on the way from raw numbers to the focused image."""

import numpy as np
from light_fields import changed, mini

from prism_vo.config import DecodeConfig
from prism_vo.lightfield import Decoder, model_variance
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.mla import MicroLensArray
from prism_vo.optics.photometric import linear, vignetting_from_scene, vignetting_from_white
from prism_vo.simulate import preset_camera
from prism_vo.types import RawFrame


def test_sixteen_bit_images_mean_the_same_light() -> None:
    field = mini()
    decoder = Decoder(field.camera, white=field.white)
    wide = RawFrame(0, 0.0, field.raw.image.astype(np.uint16) * 257)
    np.testing.assert_allclose(decoder.focus(wide).image, decoder.focus(field.raw).image, atol=1e-3)


def test_response_is_inverted() -> None:
    camera = PlenopticCamera.from_calibration(changed(preset_camera("mini"), response={"gamma": 2.0}))
    field = mini()
    light = linear(PlenopticCamera.from_calibration(preset_camera("mini")), field.raw.image)
    stored = (np.sqrt(light / 255.0) * 65535).astype(np.uint16)
    np.testing.assert_allclose(linear(camera, stored), light, atol=0.02)


def test_colour_raw_gives_a_colour_image_and_the_same_depth_as_its_luminance() -> None:
    field = mini()
    decoder = Decoder(field.camera, DecodeConfig(threads=1), field.white)
    grey = field.raw.image
    rgb = np.stack([grey, grey, grey], -1)
    colour = decoder.dense(RawFrame(0, 0.0, rgb))
    plain = decoder.dense(field.raw)
    assert colour.color is not None and colour.color.shape == (*plain.image.shape, 3)
    assert np.abs(colour.color[..., 1].astype(float) - plain.image.clip(0, 255)).max() <= 0.51
    both = colour.valid & plain.valid
    np.testing.assert_allclose(colour.inv_virtual_depth[both], plain.inv_virtual_depth[both], atol=1e-4)


def test_vignetting_without_a_white_image_is_that_of_the_white_image() -> None:
    field = mini("table")
    array = MicroLensArray.of(field.camera)
    measured = vignetting_from_white(field.camera, array, field.white)
    estimated = vignetting_from_scene(field.camera, array, field.raw.image)
    radii = np.linspace(0.5, array.usable_radius - 0.5, 8)
    ratio = estimated.transmission(radii) / measured.transmission(radii)
    np.testing.assert_allclose(ratio / ratio.mean(), 1.0, atol=0.04)


def test_modelled_variance_follows_texture_and_range() -> None:
    field = mini()
    view = field.camera.view()
    x = np.arange(view.width)
    weak, strong = (np.tile(100 + a * np.sin(x / 3.0), (view.height, 1)) for a in (10.0, 40.0))
    rho = np.full((view.height, view.width), 0.33)
    rho[0, 0] = np.nan
    low, high = (model_variance(field.camera, view, image, rho) for image in (strong, weak))
    assert np.isinf(low[0, 0])
    inner = np.s_[20:-20, 20:-20]
    assert (low[inner] < high[inner]).all()
    nearer = model_variance(field.camera, view, weak, np.full_like(rho, 0.2))
    assert np.median(nearer[inner]) < np.median(high[inner])  # more lenses, longer baselines


def test_modelled_variance_is_of_the_size_of_the_measured_one() -> None:
    field = mini()
    frame = Decoder(field.camera, white=field.white).dense(field.raw)
    modelled = model_variance(field.camera, frame.view, frame.image, frame.inv_virtual_depth)
    ratio = np.sqrt(modelled[frame.valid] / frame.variance[frame.valid])
    assert 0.5 < np.median(ratio) < 2.0


def test_dead_lenses_leave_no_veil_on_the_focused_image() -> None:
    """A tenth of the lenses is black: what the others show is not darkened by it."""
    field = mini("table")
    decoder = Decoder(field.camera, DecodeConfig(threads=1), field.white)
    whole = decoder.focus(field.raw).image
    cells = np.random.default_rng(6).random((40, 40)) < 0.1
    pitch = field.camera.calibration.mla.pitch_px
    y, x = ((np.arange(n) / pitch).astype(int) for n in field.raw.image.shape)
    image = np.where(cells[np.ix_(y, x)], 0, field.raw.image).astype(field.raw.image.dtype)
    dead = Decoder(field.camera, DecodeConfig(threads=1), field.white).focus(RawFrame(1, 0.0, image)).image
    inner = np.s_[20:-20, 20:-20]
    assert abs(np.median((dead - whole)[inner])) < 0.3
    assert np.mean(np.abs(dead - whole)[inner]) < 3.0


def test_a_dark_scene_is_not_taken_for_dead_lenses() -> None:
    field = mini("table")
    decoder = Decoder(field.camera, DecodeConfig(threads=1), field.white)
    night = RawFrame(1, 0.0, (field.raw.image * 0.01).astype(np.uint8))
    assert decoder.prepare(night).lit() is None
    assert decoder.prepare(field.raw).lit() is None
