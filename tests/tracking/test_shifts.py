# SPDX-License-Identifier: Apache-2.0
"""Images whose parts belong to different poses: every zone would like to move."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from alignments import reference_of
from looked_up import look_up
from smooth_scene import SmoothScene, small_view

from prism_vo import se3
from prism_vo.tracking.align import ReferencePixels, Warp
from prism_vo.tracking.brightness import ZONES, Brightness, ZoneAgreement, zone_of
from prism_vo.tracking.judge import LARGEST_SHIFT
from prism_vo.tracking.pyramid import image_pyramid, levels_of
from prism_vo.tracking.shifts import _sum_zones, shift_of_zones
from prism_vo.tracking.track import Track

CUTOFF = 20.0
NOISE = 2.0  # grey levels
VIEW = small_view(192, 144, 240.0)
SCENE = SmoothScene.build(0)


@dataclass(frozen=True)
class Seen:
    """What the shift of zones asks of a frame and of a reference."""

    pyramid: list[Any]
    planes: list[Any]
    levels: list[Any]


def at(x: float) -> np.ndarray:
    return se3.exp(np.array([x, 0.0, 0.0, 0.0, 0.0, 0.0]))


def picture(x: float) -> np.ndarray:
    noise = np.random.default_rng(int(1e4 * x)).normal(0.0, NOISE, (VIEW.height, VIEW.width))
    return (SCENE.image(VIEW, at(x))[0] + noise).astype(np.float32)


def torn(above: float, below: float) -> np.ndarray:
    """The upper half as one pose sees it, the lower half as another one does."""
    half = VIEW.height // 2
    return np.concatenate([picture(above)[:half], picture(below)[half:]])


def track_at(x: float) -> Track:
    return Track(True, at(x), Brightness(), NOISE, NOISE, 1.0, 1.0, 5.0, 5.0, 1)


def shift(image: np.ndarray, track: Track) -> float:
    first, q = SCENE.image(VIEW, np.eye(4))
    seen: Any = Seen(image_pyramid(image, 1), levels_of(VIEW, 1), [reference_of(VIEW, first, q, 1e-8)])
    return shift_of_zones(seen, seen, track, CUTOFF)


@pytest.mark.parametrize("x", [0.0, 0.01, 0.03])
def test_a_true_pose_leaves_noise(x: float) -> None:
    assert 0.3 < shift(picture(x), track_at(x)) < 2.5


def test_a_pose_between_two_halves_leaves_every_zone_beside_its_place() -> None:
    assert shift(torn(0.010, 0.014), track_at(0.012)) > LARGEST_SHIFT


def test_covered_zones_are_not_asked() -> None:
    below = np.arange(ZONES**2) >= ZONES**2 // 2
    track = replace(track_at(0.01), covered=ZoneAgreement(0.5, below))
    assert shift(torn(0.010, 0.014), track) < 2.5


def test_the_gain_of_a_frame_is_no_shift() -> None:
    track = replace(track_at(0.02), brightness=Brightness(gain=0.5))
    assert shift(0.5 * picture(0.02), track) < 2.5


def test_an_image_without_texture_says_nothing() -> None:
    flat = np.full((VIEW.height, VIEW.width), 90.0, np.float32)
    assert shift(flat, track_at(0.0)) == 0.0


def test_the_sums_of_zones_are_those_of_arrays() -> None:
    image, track = torn(0.010, 0.013), replace(track_at(0.012), brightness=Brightness(gain=1.02, offset=-1.0))
    first, q = SCENE.image(VIEW, np.eye(4))
    plane, pixels = levels_of(VIEW, 1)[0], reference_of(VIEW, first, q, 1e-8)
    found = np.zeros((7, ZONES**2))
    covered = np.arange(ZONES**2) == 5
    warp = Warp.of(track.T_frame_ref, track.brightness)
    _sum_zones(image, plane.intrinsics, warp, pixels, 2, covered, np.float32(CUTOFF), found)
    some = ReferencePixels(*(column[::2] for column in pixels))
    rays = np.stack([some.ray_x, some.ray_y, np.ones_like(some.ray_x)], -1).astype(np.float64)
    x, y = plane.project(rays + track.T_frame_ref[:3, 3] * some.inv_depth[:, None])
    inside = plane.contains(x, y, 3) & ~covered[zone_of(x, y, plane)]
    x, y = x[inside], y[inside]
    value, gx, gy = look_up(image, x, y)
    residual = value - 1.02 * some.color[inside] + 1.0
    fits = np.abs(residual) < CUTOFF
    weight = np.minimum(1.0, 0.3 * CUTOFF / np.abs(residual[fits]))
    rows = [np.ones(fits.sum()), *(weight * part[fits] for part in (gx * gx, gx * gy, gy * gy))]
    rows += [weight * part[fits] for part in (gx * residual, gy * residual, residual**2)]
    zone = zone_of(x[fits], y[fits], plane)
    expected = [np.bincount(zone, row, ZONES**2) for row in rows]
    assert found[0].sum() > 1000 and found[0, 5] == 0
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3 * np.abs(other).max())
