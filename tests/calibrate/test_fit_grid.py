# SPDX-License-Identifier: Apache-2.0
"""The grid from images with a start that is off: bars of the calibration, stated uncertainty, refusals."""

import cv2
import numpy as np
import pytest
from micro_images import Look, raw_image
from scenes import centre_rms, recording, wrong_start

from prism_vo.calibrate import Grid, GridUncertainError, fit_grid
from prism_vo.errors import InputError, PrismError

SCENES = ("table", "room", "street")


def test_white_image() -> None:
    truth, _, white = recording("table")
    fit = fit_grid(white, wrong_start(truth, white.shape, 0.4, -7e-4))
    assert centre_rms(fit.grid, truth, white.shape) <= 0.03
    assert fit.feature == "light" and fit.recognised == 1.0


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize(("vignetting", "bar"), [(True, 0.1), (False, 0.2)])
def test_ordinary_images(scene: str, vignetting: bool, bar: float) -> None:
    truth, frames, white = recording(scene, vignetting)
    fit = fit_grid(frames, wrong_start(truth, white.shape, 0.4, -7e-4))
    assert centre_rms(fit.grid, truth, white.shape) <= bar
    assert fit.feature == ("light" if vignetting else "edges")
    assert fit.centre_sigma <= bar


@pytest.mark.parametrize("scene", SCENES)
def test_check_of_a_camera_sees_what_is_wrong(scene: str) -> None:
    truth, frames, white = recording(scene)
    start = wrong_start(truth, white.shape, 0.5, 5e-4, 1e-4)
    fit = fit_grid(frames, start)
    seen = fit.start_offsets
    expected = truth.points(start.cells(fit.zones.centre)) - fit.zones.centre
    assert np.abs(np.nanmean(seen - expected, axis=0)).max() <= 0.05
    assert np.sqrt(np.nanmean((seen - expected) ** 2)) <= 0.05
    assert fit.pitch_error == pytest.approx(5e-4, abs=1e-4)
    assert fit.rotation_error == pytest.approx(1e-4, abs=4e-5)
    assert fit.rotation_error > 2 * fit.rotation_sigma


def test_far_start_and_other_axes() -> None:
    truth, frames, white = recording("room")
    start = wrong_start(truth, white.shape, 1.5, 0.015, 0.004)
    turned = Grid("hexagonal", np.array([[0.0, 1.0], [-1.0, 1.0]]) @ start.axes, start.origin)
    fit = fit_grid(frames, turned)
    assert centre_rms(fit.grid, truth, white.shape) <= 0.1
    assert np.abs(fit.grid.axes - turned.axes).max() < 0.5


def test_sixteen_bits_and_colour_tell_the_same() -> None:
    truth, frames, _ = recording("table")
    start = wrong_start(truth, frames[0].shape, 0.3, 0.0)
    grey = fit_grid(frames[:1], start).grid
    wide = fit_grid([frames[0].astype(np.uint16) * 257], start).grid
    colour = fit_grid(np.repeat(frames[0][..., None], 3, 2), start).grid
    for other in (wide, colour):
        assert np.abs(other.origin - grey.origin).max() < 1e-4
        assert np.abs(other.axes - grey.axes).max() < 1e-5


def test_shear_is_found_on_request() -> None:
    regular = Grid.regular("hexagonal", 14.3, 0.1, (150.2, 148.9))
    sheared = regular.moved(np.zeros(2), np.array([[1e-3, 5e-4], [5e-4, -1e-3]]), np.array([160.0, 160.0]))
    image = raw_image(sheared, Look(shape=(320, 320), contrast=0.0))
    stiff, free = fit_grid(image, regular), fit_grid(image, regular, shear=True)
    assert centre_rms(free.grid, sheared, image.shape) < 0.01
    assert centre_rms(stiff.grid, sheared, image.shape) > 0.05


@pytest.mark.parametrize("vignetting", ["rim", "none"])
def test_bad_light(vignetting: str) -> None:
    """Saturated and empty parts, uneven light, compression."""
    truth = Grid.regular("hexagonal", 17.3, 0.02, (199.4, 204.1))
    frames = []
    for seed in range(3):
        image = raw_image(truth, Look(shape=(480, 480), vignetting=vignetting, slope=1.0, seed=seed))
        image[:110, :180] = 255
        image[300:, :100] = 0
        frames.append(cv2.imdecode(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 70])[1], 0))
    fit = fit_grid(frames, wrong_start(truth, (480, 480), 0.4, -7e-4))
    assert centre_rms(fit.grid, truth, (480, 480)) <= (0.1 if vignetting == "rim" else 0.2)


def test_stated_uncertainty_holds() -> None:
    """Over unlike images, errors of pitch and origin are what their standard deviations say."""
    ratios = []
    for seed in range(12):
        truth = Grid.regular("hexagonal", 11.3 + 0.37 * seed, 0.05 * seed, (150.3, 149.6 - 0.11 * seed))
        look = Look(shape=(300, 300), seed=seed, vignetting="rim" if seed % 2 else "none", noise=2.0)
        fit = fit_grid(raw_image(truth, look), truth)
        ratios.append((fit.grid.pitch - truth.pitch) / fit.pitch_sigma)
        ratios.append((fit.grid.rotation - truth.rotation) / fit.rotation_sigma)
        ratios.append(centre_rms(fit.grid, truth, (300, 300)) / fit.centre_sigma)
    assert 0.4 < np.sqrt(np.mean(np.square(ratios))) < 1.6


def test_refuses_what_is_no_grid() -> None:
    rng = np.random.default_rng(0)
    start = Grid.regular("hexagonal", 13.0, 0.1, (100.0, 100.0))
    noise = rng.normal(120, 20, (256, 256)).clip(0, 255).astype(np.uint8)
    for image in (noise, np.full((256, 256), 255, np.uint8), np.zeros((256, 256), np.uint8)):
        with pytest.raises(GridUncertainError, match="same camera"):
            fit_grid(image, start)
    assert issubclass(GridUncertainError, PrismError)
    with pytest.raises(InputError, match="differ in size"):
        fit_grid([noise, noise[:100]], start)
    with pytest.raises(InputError, match="at least one"):
        fit_grid([], start)


def test_refuses_the_grid_of_another_camera() -> None:
    truth, frames, _ = recording("table")
    other = Grid.regular("hexagonal", truth.pitch * 1.4, 0.3, (190.0, 190.0))
    with pytest.raises(GridUncertainError):
        fit_grid(frames, other)
