# SPDX-License-Identifier: Apache-2.0
"""Of large images less is kept, and nothing else changes."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from light_fields import mini

from prism_vo.config import DecodeConfig
from prism_vo.lightfield import Decoder, kept_images
from prism_vo.types import DecodedFrame, PointDepth

POINTS = np.random.default_rng(4).uniform(20, 160, (200, 2))


def decoded(frames: int) -> tuple[list[DecodedFrame], list[PointDepth], Decoder]:
    """Frames that are focused one ahead of where depth is measured."""
    field = mini()
    decoder = Decoder(field.camera, DecodeConfig(threads=1), field.white)
    raws = [replace(field.raw, index=n) for n in range(frames)]
    focused, depths = [decoder.focus(raws[0])], []
    for raw, following in pairwise(raws):
        focused.append(decoder.focus(following))
        depths += [decoder.measure(raw, POINTS)]
    return focused, depths, decoder


def test_large_images_give_the_same_and_are_kept_where_depth_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual, usual_depths, small = decoded(4)
    monkeypatch.setattr(kept_images, "LARGE", 1e3)
    large, large_depths, decoder = decoded(4)
    assert len(small._images._prepared) == kept_images.FRAMES_KEPT
    assert [frame.index for frame, _ in decoder._images._prepared] == [2]
    assert all(
        image._matching is None for _, image in decoder._images._prepared
    )  # measured in: of no more use
    for ours, theirs in zip(large, usual, strict=True):
        np.testing.assert_array_equal(ours.image, theirs.image)
    for one, other in zip(large_depths, usual_depths, strict=True):
        np.testing.assert_array_equal(one.inv_virtual_depth, other.inv_virtual_depth)
        np.testing.assert_array_equal(one.variance, other.variance)


def test_at_rest_nothing_is_kept_and_measuring_goes_on_as_before() -> None:
    _, depths, decoder = decoded(2)
    (raw, _), *_ = decoder._images._prepared
    decoder.rest()
    assert not decoder._images._prepared
    again = decoder.measure(raw, POINTS)
    np.testing.assert_array_equal(again.inv_virtual_depth, depths[0].inv_virtual_depth)


def test_memory_of_an_image_that_nobody_reads_is_used_again_and_no_other() -> None:
    field = mini()
    decoder = Decoder(field.camera, DecodeConfig(threads=1), field.white)
    raws = [
        replace(field.raw, index=n, image=np.roll(field.raw.image, n, axis=1)) for n in range(6)
    ]  # all different
    held = decoder.matching_image(raws[0])
    before = held.pixels.copy()
    places = [decoder.matching_image(raw).pixels.ctypes.data for raw in raws[1:]]
    np.testing.assert_array_equal(held.pixels, before)
    assert held.pixels.ctypes.data not in places
    assert len(set(places)) < len(places)
    fresh = Decoder(field.camera, DecodeConfig(threads=1), field.white)
    fresh.vignetting(raws[0])
    np.testing.assert_array_equal(
        decoder.matching_image(raws[5]).pixels, fresh.matching_image(raws[5]).pixels
    )
