# SPDX-License-Identifier: Apache-2.0
"""The decoder as a sensor: same numbers at three speeds, unbiased, honest about its errors, silent where blind."""

import numpy as np
import pytest
from light_fields import LightField, changed, mini, render

from prism_vo.config import DecodeConfig
from prism_vo.errors import ConfigError, InputError
from prism_vo.evaluate.decoding import decoding_metrics, psnr
from prism_vo.lightfield import Decoder
from prism_vo.optics.visibility import owner_maps
from prism_vo.simulate import preset_camera
from prism_vo.types import RawFrame


def decoder_of(field: LightField, **settings: object) -> Decoder:
    return Decoder(field.camera, DecodeConfig(**settings), field.white)  # type: ignore[arg-type]


def test_three_speeds_give_the_same_numbers() -> None:
    field = mini()
    decoder = decoder_of(field)
    dense = decoder.dense(field.raw)
    np.testing.assert_array_equal(decoder.focus(field.raw).image, dense.image)
    rng = np.random.default_rng(0)
    xy = rng.integers(0, dense.image.shape[0], (600, 2))
    points = decoder.measure(field.raw, xy)
    rho, variance = dense.inv_virtual_depth[xy[:, 1], xy[:, 0]], dense.variance[xy[:, 1], xy[:, 0]]
    assert np.mean(points.valid == np.isfinite(rho)) > 0.995
    both = points.valid & np.isfinite(rho)
    assert both.sum() > 200
    sigma = np.sqrt(variance[both])
    assert np.percentile(np.abs(points.inv_virtual_depth[both] - rho[both]) / sigma, 99) < 0.01
    # a root that lies on a rung may be found on either side of it, with the residuals of that side
    assert np.percentile(np.abs(points.variance[both] / variance[both] - 1), 99) < 0.01


@pytest.mark.parametrize(("side", "window"), [(388, None), (384, 5), (384, 20)])
def test_points_and_maps_agree_in_small_blocks_and_with_large_windows(side: int, window: int | None) -> None:
    """194 pixels leave a block of 2 × 2 in the corner; 11 × 11 nodes are too many for a tile."""
    field = render(changed(preset_camera("mini"), sensor={"width": side, "height": side}), "table")
    decoder = Decoder(field.camera, DecodeConfig(threads=1, window=window), field.white)
    frame = decoder.dense(field.raw)
    x, y = (c.ravel() for c in np.meshgrid(*(np.arange(side // 2 - 20, side // 2),) * 2))
    points = decoder.measure(field.raw, np.stack([x, y], -1))
    assert points.valid[(x >= 192) & (y >= 192)].any() or side == 384
    np.testing.assert_array_equal(points.valid, frame.valid[y, x])
    np.testing.assert_allclose(points.inv_virtual_depth, frame.inv_virtual_depth[y, x], atol=1e-5)


def test_results_do_not_depend_on_threads_or_repetition() -> None:
    field = mini()
    one, three = decoder_of(field, threads=1).dense(field.raw), decoder_of(field, threads=3).dense(field.raw)
    for a, b in ((one.image, three.image), (one.inv_virtual_depth, three.inv_virtual_depth)):
        assert a.tobytes() == b.tobytes()
    assert one.variance.tobytes() == three.variance.tobytes()


def test_measurement_moves_smoothly_between_pixels() -> None:
    field = mini(0.75, noise=0.5)
    decoder = decoder_of(field)
    line = np.stack([np.linspace(80, 84, 81), np.full(81, 90.0)], -1)
    found = decoder.measure(field.raw, line)
    assert found.valid.all()
    assert np.abs(np.diff(found.inv_virtual_depth)).max() < 0.5 * np.sqrt(found.variance.max())


@pytest.mark.parametrize(
    ("scene", "noise", "exposure"),
    [("table", 1.0, 1.0), ("room", 1.0, 1.0), ("table", 3.0, 1.0), ("table", 1.0, 0.5)],
)
def test_accuracy_and_honesty(scene: str, noise: float, exposure: float) -> None:
    honesty = []
    for place in (7, 17, 27, 37):
        field = mini(scene, noise, exposure, place)
        frame = decoder_of(field).dense(field.raw)
        m = decoding_metrics(frame.inv_virtual_depth, frame.variance, field.rho, field.depth, field.image)
        assert m.count > 300
        independent = m.count / 60
        assert abs(m.bias) < 2e-4 + 3 * 1.25 * m.error / np.sqrt(independent)
        assert m.gross < 0.005
        assert m.coverage > 0.85
        honesty.append(m.honesty)
    assert 0.85 < np.mean(honesty) < 1.2  # one image has a few hundred independent errors: 0.77 to 1.12


def test_error_grows_no_faster_than_the_noise() -> None:
    errors = []
    for noise in (1.0, 3.0):
        field = mini("table", noise, 1.0)
        frame = decoder_of(field).dense(field.raw)
        m = decoding_metrics(frame.inv_virtual_depth, frame.variance, field.rho, field.depth, field.image)
        errors.append(m.error)
    assert errors[0] < errors[1] < 3.0 * errors[0]


def test_focused_image_is_close_to_the_pinhole_image() -> None:
    field = mini()
    image = decoder_of(field).focus(field.raw).image
    assert psnr(image[8:-8, 8:-8], field.image[8:-8, 8:-8]) > 30.0


def test_flat_dark_and_saturated_areas_are_invalid() -> None:
    field = mini()
    decoder = decoder_of(field)
    shape = field.raw.image.shape
    rng = np.random.default_rng(1)
    flat = np.clip(rng.normal(90, 2, shape) * field.white / 200.0, 0, 255).astype(np.uint8)
    dark = np.clip(rng.normal(3, 1, shape), 0, 255).astype(np.uint8)
    for image in (flat, dark, np.full(shape, 255, np.uint8)):
        frame = decoder.dense(RawFrame(1, 0.0, image))
        assert frame.valid.mean() < 0.02
        assert np.isnan(frame.inv_virtual_depth[~frame.valid]).all()
        assert np.isinf(frame.variance[~frame.valid]).all()


def test_repeated_texture_is_invalid_rather_than_wrong() -> None:
    field = mini()
    camera, array = field.camera, decoder_of(field).geometry.array
    sensor = camera.calibration.sensor
    pixels = np.stack(np.meshgrid(np.arange(sensor.width), np.arange(sensor.height)), -1).reshape(-1, 2)
    centre = array.lens_centres[owner_maps(array, sensor.width, sensor.height).owner.ravel()]
    rho, period = (
        0.34,
        array.diameter * 0.36,
    )  # neighbouring lenses see stripes one period apart: any slope fits
    virtual = centre + (pixels - centre) / rho
    stripes = 110 + 70 * np.sin(2 * np.pi * virtual / (period / rho)).sum(-1) / 2
    raw = (stripes.reshape(sensor.height, sensor.width) * field.white / 200.0).clip(0, 255).astype(np.uint8)
    frame = decoder_of(field, near=0.12).dense(RawFrame(0, 0.0, raw))
    wrong = frame.valid & (np.abs(frame.inv_virtual_depth - rho) > 0.02)
    assert wrong.mean() < 0.02


def test_points_outside_the_image_are_invalid_and_none_is_fine() -> None:
    field = mini()
    decoder = decoder_of(field)
    far_off = decoder.measure(field.raw, [[-500.0, 3.0], [1e5, 1e5]])
    assert not far_off.valid.any()
    assert decoder.measure(field.raw, np.zeros((0, 2))).valid.shape == (0,)


def test_impossible_settings_and_images_are_one_sentence() -> None:
    field = mini()
    with pytest.raises(ConfigError, match="near"):
        decoder_of(field, near=3.0, far=1.0)
    for window in (0, 21):
        with pytest.raises(ConfigError, match="between 1 and 20"):
            decoder_of(field, window=window)
    with pytest.raises(InputError, match="calibration of this camera"):
        decoder_of(field).focus(RawFrame(0, 0.0, np.zeros((40, 40), np.uint8)))
