# SPDX-License-Identifier: Apache-2.0
"""How light falls off is learnt from frames without a white image, or with one that is not theirs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from light_fields import LightField, mini
from numpy.typing import NDArray

from prism_vo import pipeline
from prism_vo.config import DecodeConfig
from prism_vo.datasets.source import Stream
from prism_vo.lightfield import Decoder
from prism_vo.lightfield.fall_off import FallOff, fall_off
from prism_vo.lightfield.geometry import MEASURED_X, MEASURED_Y, StereoGeometry
from prism_vo.lightfield.same_points import SamePoints, fit_levels


def decoder_of(field: LightField, white: NDArray[Any] | None) -> Decoder:
    return Decoder(field.camera, DecodeConfig(threads=1), white)


def other_aperture(white: NDArray[Any]) -> NDArray[np.uint8]:
    """A white image with half of the fall-off."""
    return np.asarray(255.0 * np.sqrt(white / white.max())).astype(np.uint8)


def far_off(decoder: Decoder, field: LightField) -> tuple[float, float]:
    """Information-weighted mean of the error of ρ_v, and what all depths together would know it to."""
    frame = decoder.dense(field.raw)
    assert frame.inv_virtual_depth is not None and frame.variance is not None
    good = np.isfinite(frame.inv_virtual_depth) & np.isfinite(field.rho)
    error = (frame.inv_virtual_depth - field.rho)[good]
    information = np.where(np.abs(error) < 0.02, 1.0 / frame.variance[good], 0.0)
    return float(information @ error / information.sum()), float(information.sum() ** -0.5)


def drawn_points(geometry: StereoGeometry, noise: float, seed: int = 0) -> tuple[SamePoints, FallOff]:
    """Points in lenses whose light falls off in a known way, each type in its own."""
    rng = np.random.default_rng(seed)
    point = np.repeat(np.arange(4000, dtype=np.int32), 5)
    lens = rng.integers(0, len(geometry.lenses), len(point)).astype(np.int32)
    share, angle = np.sqrt(rng.random(len(point))), rng.uniform(0, 2 * np.pi, len(point))
    centres = geometry.lenses[lens][:, [MEASURED_X, MEASURED_Y]]
    x, y = (centres + geometry.radius * share[:, None] * np.stack([np.cos(angle), np.sin(angle)], -1)).T
    radii = np.linspace(0.0, geometry.radius, 25)
    at = radii / geometry.radius
    inside = -0.05 * at**2 - 0.04 * at**6 + 0.03 * np.array([1.0, 0.0, -1.0])[:, None] * at**2
    calibration = geometry.camera.calibration
    apart = geometry.lenses[:, [MEASURED_X, MEASURED_Y]] - calibration.main_lens.principal_point_px
    far = np.hypot(*apart.T) / (0.5 * max(calibration.sensor.width, calibration.sensor.height))
    lenses = -0.2 * far**2
    kinds = geometry.lens_type[lens]
    light = lenses[lens] + np.choose(kinds, [np.interp(share, at, curve) for curve in inside])
    level = rng.uniform(40, 160, 4000)[point] * np.exp(light) + rng.normal(0, noise, len(point))
    good = level > 3.0
    shape = calibration.sensor.height, calibration.sensor.width
    seen = SamePoints(point, lens, x, y, geometry.radius * (1 - share), level, shape)
    return seen.where(good), FallOff(radii, inside, lenses, 0.0)


@pytest.mark.parametrize("noise", [0.5, 12.0])
def test_a_known_fall_off_is_found_by_types_and_over_the_sensor(noise: float) -> None:
    geometry = decoder_of(mini(), mini().white).geometry
    seen, true = drawn_points(geometry, noise)
    found = fall_off(seen, geometry)
    assert found is not None
    area = true.radii / true.radii.sum()
    apart = found.inside - true.inside
    # a gain that all share, and what curve and gain of one type trade against each other, show nowhere
    wrong = np.sqrt(((apart - (apart @ area)[:, None]) ** 2 @ area).max())
    assert wrong < 4.0 * found.sigma < 0.02
    lenses = found.lenses - true.lenses
    assert (
        np.std(
            lenses - np.array([lenses[geometry.lens_type == t].mean() for t in range(3)])[geometry.lens_type]
        )
        < 0.01
    )


def test_noise_that_grows_towards_the_rim_hardly_bends_the_curve() -> None:
    """Without vignetting it does; logarithms would be too small by ½ (noise/level)², by 0.8 % more at the rim here."""
    rng, points = np.random.default_rng(5), 20000
    point = np.repeat(np.arange(points, dtype=np.int32), 12)
    rim = np.tile(np.repeat([0.0, 1.0], 6), points)
    level = 20.0 + rng.normal(0, 1.0, len(point)) * np.where(rim, 3.2, 2.0)
    zero = np.zeros(len(point))
    (found,), _ = fit_levels(
        SamePoints(point, point, zero, zero, zero, level, (1, 1)), rim[:, None], np.zeros((1, 1))
    )
    logarithm = np.log(level)
    assert abs(found) < 0.003 < 0.007 < logarithm[rim == 0].mean() - logarithm[rim == 1].mean()


def test_without_a_white_image_depth_is_as_good_as_with_one() -> None:
    field = mini("table")
    (with_white, known), (without, also) = (far_off(decoder_of(field, w), field) for w in (field.white, None))
    assert abs(without - with_white) < 2e-4
    assert also < 1.35 * known  # 1.54 with the mean of the micro-images alone, and 4.5e-4 farther


def test_a_white_image_that_fits_is_left_alone_and_nothing_is_said() -> None:
    field = mini("table")
    decoder = decoder_of(field, field.white)
    gain = decoder.vignetting(field.raw).gain.copy()
    decoder.dense(field.raw)
    np.testing.assert_array_equal(decoder.vignetting(field.raw).gain, gain)
    assert decoder.remarks() == []


def test_a_white_image_of_another_aperture_is_said_and_corrected() -> None:
    field = mini("table")
    decoder = decoder_of(field, other_aperture(field.white))
    found, known = far_off(decoder, field)
    with_white, well = far_off(decoder_of(field, field.white), field)
    assert abs(found - with_white) < 3e-4 and known < 1.5 * well  # as it is: 36e-4, and 4.7 times
    (sentence,) = decoder.remarks()
    assert sentence.startswith(
        "The white image does not fit the recording: inside the micro-images light differs by "
    )
    assert 4 < int(sentence.split("differs by ")[1].split(" %")[0]) < 10


def test_a_run_says_so() -> None:
    field = mini("table")
    frames = [replace(field.raw, index=n, time=0.1 * n) for n in range(3)]
    white = other_aperture(field.white)
    result = pipeline.run(Stream(frames, field.camera, "table", white=white), threads=False)
    assert any("white image does not fit" in notice for notice in result.notices)


def test_a_frame_that_shows_nothing_leaves_it_to_the_next() -> None:
    field = mini("table")
    decoder, fresh = (decoder_of(field, None) for _ in range(2))
    black = replace(field.raw, image=np.full_like(field.raw.image, 1), index=0)
    decoder.focus(black)
    shown = replace(field.raw, index=1)
    ours, theirs = decoder.vignetting(shown), fresh.vignetting(shown)
    np.testing.assert_array_equal(ours.gain, theirs.gain)
    np.testing.assert_array_equal(ours.profile, theirs.profile)


@pytest.mark.parametrize("level, noise", [(1, 0), (4, 0), (16, 1), (128, 0), (128, 5)])
def test_an_even_first_frame_speaks_against_no_white_image(level: int, noise: int) -> None:
    """A lens cap on a sensor with a black level, or a grey start: the white image prints the array into it."""
    field = mini("table")
    even = np.clip(np.random.default_rng(0).normal(level, noise, field.raw.image.shape), 0, 255)
    decoder = decoder_of(field, field.white)
    decoder.focus(replace(field.raw, image=even.astype(np.uint8), index=0))
    shown = replace(field.raw, index=1)
    assert decoder.remarks() == []
    np.testing.assert_array_equal(
        decoder.vignetting(shown).gain, decoder_of(field, field.white).vignetting(shown).gain
    )


def test_a_wrong_white_image_is_seen_once_a_frame_shows_something() -> None:
    field = mini("table")
    decoder = decoder_of(field, other_aperture(field.white))
    for n, image in enumerate((np.full_like(field.raw.image, 1), field.raw.image)):
        assert decoder.remarks() == []
        decoder.focus(replace(field.raw, image=image, index=n))
    assert decoder.remarks() != []


def test_what_a_later_frame_shows_changes_nothing_about_those_before() -> None:
    """However far another thread has gone ahead."""
    field = mini("table")
    y, x = np.mgrid[: field.raw.image.shape[0], : field.raw.image.shape[1]]
    middle = np.hypot(x - x.mean(), y - y.mean()) < 0.1 * len(y)
    dim = (field.white * (60 / field.white.max())).astype(np.uint8)
    little = replace(field.raw, image=np.where(middle, field.raw.image, dim), index=0)
    shown = replace(field.raw, index=1)
    found = []
    for ahead in (False, True):
        decoder = decoder_of(field, None)
        decoder.focus(little)
        if ahead:
            decoder.focus(shown)
        found.append(decoder.matching_image(little))
        assert decoder.light_learning.asked[2].is_known == ahead
        gains = [decoder.vignetting(frame).gain for frame in (little, shown)]
        assert not np.array_equal(*gains)
    np.testing.assert_array_equal(found[0].pixels, found[1].pixels)
    np.testing.assert_array_equal(found[0].fall, found[1].fall)


def test_frames_that_show_nothing_are_asked_ever_more_rarely() -> None:
    field = mini("table")
    decoder, black = decoder_of(field, None), np.full_like(field.raw.image, 1)
    asked = []
    for n in range(120):
        decoder.light_learning.see(replace(field.raw, image=black, index=n))
        asked.append(decoder.light_learning.asked[2].newest)
    assert asked[:20] == list(range(20)) and 40 < len(set(asked)) < 60
    decoder.light_learning.see(replace(field.raw, index=200))
    assert decoder.light_learning.asked[2].is_known and decoder.light_learning.frames == [0, 200]


def test_light_over_the_sensor_is_left_where_a_frame_tells_little_of_it() -> None:
    """Neighbouring lenses are compared: a bright middle says nothing of the corners."""
    geometry = decoder_of(mini(), mini().white).geometry
    seen, true = drawn_points(geometry, 0.5)
    centres = geometry.lenses[:, [MEASURED_X, MEASURED_Y]]
    calibration = geometry.camera.calibration
    away = np.hypot(*(centres - np.asarray(calibration.main_lens.principal_point_px)).T)
    whole = fall_off(seen, geometry)
    middle = fall_off(seen.where(away[seen.lens] < 0.15 * calibration.sensor.width), geometry)
    assert whole is not None and middle is not None
    assert np.ptp(whole.lenses) == pytest.approx(np.ptp(true.lenses), rel=0.2)
    assert len(np.unique(middle.lenses)) == len(calibration.mla.lens_types), "a gain for each type alone"


def test_what_was_learnt_is_remembered() -> None:
    field = mini("table")
    decoder = decoder_of(field, other_aperture(field.white))
    first = decoder.measure(field.raw, np.array([[60.0, 60.0], [90.0, 70.0]]))
    resumed = decoder_of(field, other_aperture(field.white))
    resumed.remember(decoder.memory(), decoder.learned())
    later = replace(field.raw, index=5)
    again = resumed.measure(later, np.array([[60.0, 60.0], [90.0, 70.0]]))
    np.testing.assert_array_equal(again.inv_virtual_depth, first.inv_virtual_depth)
    assert resumed.remarks() == decoder.remarks() != []
