# SPDX-License-Identifier: Apache-2.0
"""Bands of a lamp are seen in a single raw image, and taken out of it; depth near saturated pixels counts less."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.datasets import open_sequence
from prism_vo.lightfield import Decoder
from prism_vo.lightfield.decode import DOUBT
from prism_vo.lightfield.row_light import even_rows, is_lamp, is_uneven, row_curve
from prism_vo.lightfield.same_points import SamePoints
from prism_vo.types import RawFrame


@pytest.fixture(scope="module")
def shown(recording: Path) -> tuple[Decoder, RawFrame]:
    sequence = open_sequence(recording)
    return Decoder(sequence.camera, white=sequence.white), sequence[0]


def lamp(rows: int, amplitude: float = 0.15, phase: float = 0.3) -> Array:
    return np.asarray(1.0 + amplitude * np.sin(2 * np.pi * (1.5 * np.arange(rows) / rows + phase)))


def lit(raw: RawFrame, factor: Array) -> RawFrame:
    image = np.clip(np.rint(raw.image * factor[:, None]), 0, 255).astype(np.uint8)
    return replace(raw, image=image)


@pytest.mark.parametrize("phase", [0.0, 0.3, 0.7])
def test_bands_are_taken_out_of_one_image(shown: tuple[Decoder, RawFrame], phase: float) -> None:
    decoder, raw = shown
    bands = lamp(len(raw.image), phase=phase)
    banded = lit(raw, bands)
    found = decoder.without_bands(banded, decoder.focus(banded))
    assert found is not None and found[0] is not banded
    evened = np.log(found[0].image[:, 0].astype(float) + 1e-9) - np.log(banded.image[:, 0] + 1e-9)
    curve = np.log(bands) - np.log(bands).mean()
    left = (evened + curve)[banded.image[:, 0] > 0]
    ramp = np.linspace(-1.0, 1.0, len(left))
    bent = left - left.mean() - ramp * (left @ ramp) / (ramp @ ramp)
    # what is left is mostly a ramp: no depth is moved by it, and a straight part is what one image knows worst
    assert np.std(bent) < 0.012 and np.std(left) < 0.025 and np.std(curve) > 0.1
    again = decoder.without_bands(banded, decoder.focus(banded))
    assert again is not None
    np.testing.assert_array_equal(again[0].image, found[0].image)
    np.testing.assert_array_equal(again[1].image, found[1].image)


def test_a_frame_without_bands_stays_what_it_is(shown: tuple[Decoder, RawFrame]) -> None:
    decoder, raw = shown
    for image in (raw, lit(raw, np.full(len(raw.image), 0.5)), lit(raw, lamp(len(raw.image), 0.01))):
        focused = decoder.focus(image)
        found = decoder.without_bands(image, focused)
        assert found is not None and found[0] is image and found[1] is focused


def test_a_dark_frame_cannot_tell(shown: tuple[Decoder, RawFrame]) -> None:
    decoder, raw = shown
    dark = replace(raw, image=np.full_like(raw.image, 2))
    assert decoder.without_bands(dark, decoder.focus(dark)) is None


def points(curve: Array, columns: Array | None = None, seed: int = 0) -> SamePoints:
    """Points that four micro-images show, on a sensor of 200 × 200 px; logarithms of the light of rows and columns."""
    rng = np.random.default_rng(seed)
    number = np.repeat(np.arange(1000, dtype=np.int32), 4)
    x, y = (rng.uniform(20, 180, 1000)[number] + rng.uniform(-20, 20, 4000) for _ in range(2))
    light = curve[y.astype(int)] + (0.0 if columns is None else columns[x.astype(int)])
    level = rng.uniform(50, 150, 1000)[number] * np.exp(light) + rng.normal(0, 0.5, 4000)
    return SamePoints(number, np.zeros_like(number), x, y, np.full(len(x), 9.0), level, (200, 200))


def test_what_columns_or_one_half_show_is_no_lamp() -> None:
    bands = np.log(lamp(200))
    seen = points(bands)
    curve = row_curve(seen)
    assert curve is not None and is_uneven(curve) and is_lamp(curve, seen)
    np.testing.assert_allclose(curve, bands - bands.mean(), atol=0.02)
    both = points(bands, columns=bands)
    curve = row_curve(both)
    assert curve is not None and is_uneven(curve) and not is_lamp(curve, both)
    left = seen._replace(level=np.where(seen.x < 100, seen.level, points(np.zeros(200)).level))
    curve = row_curve(left)
    assert curve is not None and not is_lamp(curve, left)
    flat = row_curve(points(np.zeros(200)))
    assert flat is not None and not is_uneven(flat)
    assert row_curve(seen.where(np.arange(4000) < 400)) is None


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_rows_are_evened_in_light_and_saturation_stays(
    shown: tuple[Decoder, RawFrame], kind: type[np.generic]
) -> None:
    decoder, raw = shown
    image: NDArray[np.generic] = raw.image.astype(np.float32)
    image[10, 10] = 255.0
    image = (image * (257 if kind == np.uint16 else 1)).astype(kind)
    out = even_rows(decoder.camera, image, np.full(len(image), np.log(2.0)))
    assert out.dtype == np.float32 and out[10, 10] == 255.0
    np.testing.assert_allclose(out[20:], raw.image[20:] / 2.0, rtol=1e-5)


def test_depth_near_saturated_pixels_counts_less(shown: tuple[Decoder, RawFrame]) -> None:
    decoder, raw = shown
    height = len(raw.image)
    bright = raw.image.copy()
    bright[: height // 4] = 255
    hot = raw.image.copy()
    hot[::31, ::29] = 255
    y, x = np.mgrid[8 : decoder.view.height - 8 : 9, 8 : decoder.view.width - 8 : 9].reshape(2, -1)
    where = np.stack([x, y], -1).astype(np.float32)
    plain, partly = decoder.measure(raw, where), decoder.measure(replace(raw, image=bright), where)
    far, near = (
        y > 0.45 * decoder.view.height,
        (y > 0.25 * decoder.view.height) & (y < 0.28 * decoder.view.height),
    )
    np.testing.assert_array_equal(plain.variance[far], partly.variance[far])
    both = near & plain.valid & partly.valid
    assert both.any() and (partly.variance[both] > 0.5 * DOUBT * plain.variance[both]).all()
    speckled = decoder.measure(
        replace(raw, image=hot), where
    )  # single hot pixels are left out, and that is all
    both = plain.valid & speckled.valid
    assert both.mean() > 0.5 and np.median(speckled.variance[both] / plain.variance[both]) < 2.0


def test_depth_of_a_saturated_image_may_be_asked_for_up_to_its_border(
    shown: tuple[Decoder, RawFrame],
) -> None:
    decoder, raw = shown
    bright = raw.image.copy()
    bright[len(bright) // 2 :] = 255
    right, bottom = decoder.view.width - 0.5, decoder.view.height - 0.5
    corners = np.array([[-0.5, -0.5], [right, -0.5], [-0.5, bottom], [right, bottom]])
    assert len(decoder.measure(replace(raw, image=bright), corners).valid) == len(corners)
