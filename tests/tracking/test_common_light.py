# SPDX-License-Identifier: Apache-2.0
"""Frames brought to the brightness of the map."""

from dataclasses import replace

import numpy as np
import pytest
from decoded_frames import CAMERA, VIEW, relative_errors, wall
from smooth_scene import small_view
from still_frames import still_frame

from prism_vo.odometry import Odometry
from prism_vo.sensor import DecodedSensor
from prism_vo.tracking.brightness import LEAST_CONTRAST, Brightness
from prism_vo.tracking.common_light import divided, light_of, track_divided
from prism_vo.tracking.track import Track
from prism_vo.types import DecodedFrame, PosedFrame


def posed(log_gain: float, exposure: float = 0.01) -> PosedFrame:
    level = np.full((96, 128, 3), 40.0, np.float32)
    return PosedFrame(still_frame(small_view(), 3, level, exposure), np.eye(4), np.array([log_gain, 6.0]))


def test_light_is_that_of_the_map() -> None:
    assert light_of(0.5, 0.01, 0.01) == pytest.approx(0.5)  # a step
    assert light_of(0.52, 0.01, 0.02) == pytest.approx(0.5)  # the reference was divided by 0.5: nothing new
    assert light_of(1.02, 0.01, 0.02) == 1.0  # the light is back
    assert light_of(3.0, 0.03, 0.01) == pytest.approx(3.0)  # exposures say the same
    assert light_of(0.01, 0.01, 0.01) == LEAST_CONTRAST  # beyond it there is only noise


def test_small_differences_do_not_add_up() -> None:
    """Shading makes frames of a long path brighter and brighter, each by a little."""
    assert all(light_of(gain, 1.0, 1.0) == 1.0 for gain in (0.92, 0.97, 1.05, 1.09))


def test_a_frame_that_was_divided_shows_the_same_of_the_map() -> None:
    """I = e (I_0 − b_0) + b with e = t exp(a): both sides divided by the gain."""
    before = posed(np.log(0.5))
    after = divided(before, 0.5, lambda image: [np.stack([image] * 3, -1)])
    np.testing.assert_allclose(after.frame.focused.image, 2.0 * before.frame.focused.image)
    assert after.frame.exposure == pytest.approx(0.02) and after.frame.source is before.frame.source
    gain = np.exp(after.affine[0]) * after.frame.exposure / 0.01
    assert gain == pytest.approx(1.0) and after.affine[1] == pytest.approx(12.0)
    assert after.frame.time == before.frame.time and after.frame.index == before.frame.index


def test_residuals_in_grey_levels_of_the_reference_stay_as_they_are() -> None:
    track = Track(True, np.eye(4), Brightness(0.5, 4.0), 2.0, 1.0, 0.9, 0.9, 3.0, 2.0, 1)
    even = track_divided(track, 0.5)
    assert even.brightness.gain == 1.0 and even.brightness.offset == 8.0
    assert even.relative_rms == pytest.approx(track.relative_rms)


def dimmed(frame: DecodedFrame, gain: float) -> DecodedFrame:
    return replace(frame, image=(frame.image * np.float32(gain)).astype(np.float32))


@pytest.mark.parametrize("gain", [0.3, 1.8])
def test_exact_images_of_another_brightness_give_the_same_map(gain: float) -> None:
    """Nothing is lost by a gain here (no noise, no rounding): what the map counts in grey levels must not show it."""
    frames, _ = wall(16)
    found = []
    for factor in (1.0, gain):
        odometry = Odometry(CAMERA, sensor=DecodedSensor(VIEW))
        reports = [odometry(dimmed(f, factor) if k >= 4 else f) for k, f in enumerate(frames)]
        odometry.finish()
        window = odometry.window
        middle = [float(window.images[k.slot].mean()) for k in window.keyframes]
        noise = [r.mapping.noise for r in reports if r.mapping is not None]
        found.append((odometry.trajectory(), middle, noise[-1], len(noise)))
    clean, other = found
    assert np.ptp(other[1]) < 0.1 * np.mean(clean[1])  # keyframes of one brightness
    assert other[2] == pytest.approx(clean[2], rel=0.02) and other[3] == clean[3]
    translation, _ = relative_errors(other[0].poses, clean[0].poses)
    assert translation.max() < 2e-5
