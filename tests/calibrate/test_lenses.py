# SPDX-License-Identifier: Apache-2.0
"""Kinds of lenses, micro-image radius and vignetting."""

import numpy as np
import pytest
from scenes import recording

from prism_vo.calibrate import lens_type_sharpness, micro_image_profile
from prism_vo.simulate import preset_camera


def test_three_kinds_and_their_order() -> None:
    truth, frames, white = recording("street")
    seen = lens_type_sharpness(frames, truth)
    assert seen.kinds == 3 and seen.certainty > 5
    # a street is far: the virtual depth of infinity is nearest to the first focus
    assert list(np.argsort(-seen.sharpness)) == [0, 1, 2]
    assert lens_type_sharpness(white, truth).kinds is None


@pytest.mark.parametrize("scene", ["table", "street"])
def test_one_kind_is_never_taken_for_three(scene: str) -> None:
    truth, frames, _ = recording(scene, frames=2, one_kind=True)
    assert lens_type_sharpness(frames, truth).kinds in (1, None)


def test_profile_and_radius() -> None:
    truth, frames, white = recording("street")
    for images, tolerance in ((white, 0.01), (frames, 0.03)):
        profile = micro_image_profile(images, truth)
        half = preset_camera("mini").mla.pitch_px / 2
        assert profile.radius == pytest.approx(half - 0.35, abs=0.15)  # the simulator's rim is centred there
        inner = profile.radii < half - 1.2
        expected = 1 - 0.42 * (profile.radii[inner] / half) ** 2
        ratio = profile.brightness[inner] / expected
        assert np.abs(ratio / np.median(ratio) - 1).max() < 0.02 + tolerance


def test_no_rim_without_vignetting() -> None:
    truth, frames, _ = recording("street", vignetting=False)
    profile = micro_image_profile(frames, truth)
    assert profile.radius is None
    assert np.isnan(profile.radius_by_class).all()
    assert np.abs(profile.brightness - 1).max() < 0.05
