# SPDX-License-Identifier: Apache-2.0
"""Gain and offset between a frame and its reference: unbiased where single pixels are not."""

from dataclasses import replace

import cv2
import numpy as np
import pytest
from smooth_scene import SmoothScene, sideways_poses, small_view

from prism_vo import se3
from prism_vo.optics.pinhole import Pinhole
from prism_vo.tracking.brightness import (
    LEAST_MATCH,
    ZONES,
    Blurred,
    Brightness,
    BrightnessReference,
    Seen,
    ZoneAgreement,
    blurred,
    measure_brightness,
    zone_of,
)
from prism_vo.tracking.brightness_kernels import PlaneNumbers, correlation, in_view, zone_sums
from prism_vo.tracking.pyramid import image_pyramid, levels_of

SIZE, FOCAL = 160, 200.0
LEVEL = Pinhole(SIZE, SIZE, FOCAL, SIZE / 2, SIZE / 2)


def sharp_texture(seed: int) -> np.ndarray:
    """Eight times finer than the image's pixels, with detail down to a pixel."""
    rng = np.random.default_rng(seed)
    fine = cv2.GaussianBlur(rng.normal(0, 1, (SIZE * 8, SIZE * 8)), (0, 0), 5.0)
    coarse = cv2.GaussianBlur(rng.normal(0, 1, (SIZE * 8, SIZE * 8)), (0, 0), 40.0)
    return 120 + 25 * fine / fine.std() + 15 * coarse / coarse.std()


def pixels_of(texture: np.ndarray, shift_eighths: tuple[int, int], noise: float, seed: int) -> np.ndarray:
    """The image after a shift by eighths of a pixel: exact box-shaped pixels, with sensor noise."""
    moved = np.roll(texture, (-shift_eighths[1], -shift_eighths[0]), (0, 1))
    boxes = moved.reshape(SIZE, 8, SIZE, 8).mean((1, 3))
    return (boxes + np.random.default_rng(seed).normal(0, noise, boxes.shape)).astype(np.float32)


def reference_of(image: np.ndarray) -> BrightnessReference:
    y, x = np.mgrid[10 : SIZE - 10 : 2, 10 : SIZE - 10 : 2].reshape(2, -1)
    rays = np.stack([(x - LEVEL.cx) / FOCAL, (y - LEVEL.cy) / FOCAL, np.ones(len(x))], -1)
    exact = np.zeros(len(x))
    return BrightnessReference(rays, np.ones(len(x)), blurred(image_pyramid(image, 1)[0])[y, x], exact)


def shifted(shift_eighths: tuple[int, int]) -> np.ndarray:
    """T_frame_ref of a plane at 1 m whose image moves by (−dx, −dy)/8 px."""
    dx, dy = shift_eighths
    return se3.exp(np.array([-dx / 8 / FOCAL, -dy / 8 / FOCAL, 0, 0, 0, 0]))


@pytest.mark.parametrize("noise", [0.0, 4.0])
@pytest.mark.parametrize("shift", [(4, 4), (13, -5), (0, 4)])
def test_interpolation_and_noise_leave_the_gain_alone(shift: tuple[int, int], noise: float) -> None:
    texture = sharp_texture(0)
    first, second = pixels_of(texture, (0, 0), noise, 1), pixels_of(texture, shift, noise, 2)
    found = measure_brightness(
        Blurred.of(image_pyramid(second, 1)[0]), LEVEL, reference_of(first), shifted(shift), Brightness()
    )
    assert found.gain == pytest.approx(1.0, abs=2e-3)
    assert found.gain * 120 + found.offset == pytest.approx(120, abs=0.2)


def test_single_pixels_would_be_biased() -> None:
    """The reason for the blur: a least-squares fit on interpolated single pixels sees less contrast."""
    texture = sharp_texture(0)
    first, second = pixels_of(texture, (0, 0), 4.0, 1), pixels_of(texture, (4, 4), 4.0, 2)
    half = 0.25 * (second[:-1, :-1] + second[1:, :-1] + second[:-1, 1:] + second[1:, 1:])
    slope = np.polyfit(first[1:, 1:].ravel(), half.ravel(), 1)[0]
    assert slope < 0.9


@pytest.mark.parametrize("gain, offset", [(1.3, 0.0), (0.7, 12.0), (1.0, -9.0)])
def test_changes_of_brightness_are_measured(gain: float, offset: float) -> None:
    texture = sharp_texture(3)
    first, second = pixels_of(texture, (0, 0), 2.0, 1), pixels_of(texture, (11, 6), 2.0, 2)
    frame = (gain * second + offset).astype(np.float32)
    found = measure_brightness(
        Blurred.of(image_pyramid(frame, 1)[0]), LEVEL, reference_of(first), shifted((11, 6)), Brightness()
    )
    assert found.gain == pytest.approx(gain, rel=3e-3)
    assert found.gain * 120 + found.offset == pytest.approx(gain * 120 + offset, abs=0.5)


def test_occlusions_are_trimmed() -> None:
    texture = sharp_texture(4)
    first, second = pixels_of(texture, (0, 0), 2.0, 1), pixels_of(texture, (3, 3), 2.0, 2)
    second[40:80, 40:80] = 250.0
    found = measure_brightness(
        Blurred.of(image_pyramid(second, 1)[0]), LEVEL, reference_of(first), shifted((3, 3)), Brightness()
    )
    assert found.gain == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("approach", [0.05, -0.05, 0.1])
def test_approaching_does_not_look_brighter(approach: float) -> None:
    """The same texture seen larger keeps more contrast after the same blur: corrected point by point."""
    view, scene = small_view(256, 192, 300.0), SmoothScene.build(1, finest=0.08)
    motion = se3.exp(np.array([0.0, 0.0, -approach * 1.5, 0, 0, 0]))  # T_frame_ref: the camera moves forward
    (first, q), (second, _) = scene.image(view, np.eye(4)), scene.image(view, motion)
    level = levels_of(view, 2)[1]
    y, x = np.mgrid[8 : level.height - 8, 8 : level.width - 8].reshape(2, -1)
    rays = np.stack([(x - level.cx) / level.focal, (y - level.cy) / level.focal, np.ones(len(x))], -1)
    depth = 0.5 * (q[2 * y, 2 * x] + q[2 * y + 1, 2 * x + 1])
    grey = blurred(image_pyramid(first, 2)[1])[y, x]
    reference = BrightnessReference(rays, depth, grey, np.zeros(len(x)))
    smooth = Blurred.of(image_pyramid(second, 2)[1])
    found = measure_brightness(smooth, level, reference, motion, Brightness())
    naive = measure_brightness(
        Blurred(smooth.value, 0 * smooth.laplacian), level, reference, motion, Brightness()
    )
    assert abs(naive.gain - 1.0) > 0.03
    assert abs(found.gain - 1.0) < 0.2 * abs(naive.gain - 1.0)


def test_gain_does_not_drift_over_many_keyframes() -> None:
    """Every second frame measured against the one before: errors that do not cancel would add up."""
    view, scene = small_view(256, 192, 300.0), SmoothScene.build(0, finest=0.08)
    poses = sideways_poses(7, 0.03)
    level = levels_of(view, 2)[1]
    y, x = np.mgrid[8 : level.height - 8 : 2, 8 : level.width - 8 : 2].reshape(2, -1)
    rays = np.stack([(x - level.cx) / level.focal, (y - level.cy) / level.focal, np.ones(len(x))], -1)
    seen = [scene.image(view, pose) for pose in poses]
    drift = 0.0
    for k in range(6):
        (first, q), (second, _) = seen[k], seen[k + 1]
        grey = blurred(image_pyramid(first, 2)[1])[y, x]
        reference = BrightnessReference(rays, q[2 * y, 2 * x], grey, np.zeros(len(x)))
        motion = poses[k + 1] @ se3.inverse(poses[k])
        light = measure_brightness(
            Blurred.of(image_pyramid(second, 2)[1]), level, reference, motion, Brightness()
        )
        drift += np.log(light.gain)
    assert abs(drift) < 0.01


def test_with_too_little_to_see_the_start_is_kept() -> None:
    texture = sharp_texture(5)
    first = pixels_of(texture, (0, 0), 0.0, 1)
    start = Brightness(1.1, 3.0)
    smooth = Blurred.of(image_pyramid(first, 1)[0])
    away = se3.exp(np.array([0, 0, 0, 0, 1.2, 0]))
    unseen = measure_brightness(smooth, LEVEL, reference_of(first), away, start)
    assert (unseen.gain, unseen.offset) == (1.1, 3.0) and unseen.match < LEAST_MATCH
    for flat in (0.0, 255.0):  # a gain of 0 would explain them perfectly
        image = np.full((SIZE, SIZE), flat, np.float32)
        found = measure_brightness(Blurred.of(image), LEVEL, reference_of(first), np.eye(4), start)
        assert (found.gain, found.offset) == (1.1, 3.0) and found.match < LEAST_MATCH
    other = Blurred.of(image_pyramid(pixels_of(sharp_texture(6), (0, 0), 0.0, 1), 1)[0])
    assert measure_brightness(other, LEVEL, reference_of(first), np.eye(4), start).match < LEAST_MATCH
    assert measure_brightness(smooth, LEVEL, reference_of(first), np.eye(4), start).match > 0.99


def test_zones_whose_depth_is_hardly_known_are_not_judged() -> None:
    """A picture that goes with the camera covers the left half; if depth is coarse there, it may be the depth."""
    texture = sharp_texture(3)
    reference = reference_of(pixels_of(texture, (0, 0), 0.0, 0))
    pose = shifted((16, 0))  # 2 px
    sigma = np.where(reference.rays[:, 0] < 0, 0.2, 0.01)  # of 1: the left half is known to 0.4 px
    known = replace(reference, sigma=sigma).known_zones(LEVEL, pose).reshape(4, 4)
    assert known[:, 2:].all() and not known[:, 0].any()
    assert reference.known_zones(LEVEL, pose).all()
    assert (
        replace(reference, sigma=sigma).known_zones(LEVEL, np.eye(4)).all()
    )  # nothing moves without parallax
    left = np.zeros((4, 4), bool)
    left[:, 0] = True
    found = ZoneAgreement(0.75, left.ravel())
    assert found.only(known.ravel()) is None and found.only(~known.ravel()) is not None


def test_pixels_in_view_are_those_that_the_pinhole_says() -> None:
    rng = np.random.default_rng(2)
    plane = small_view().image_plane
    rays, inv_depth = (
        np.column_stack([rng.normal(0, 0.12, (400, 2)), np.ones(400)]),
        rng.uniform(0.1, 2.0, 400),
    )
    pose = se3.exp(np.array([0.1, -0.1, -0.6, 0.05, 0.1, -0.1]))
    (x, y, z), which = np.empty((3, 400)), np.empty(400, np.intp)
    numbers = PlaneNumbers(plane.focal, plane.cx, plane.cy, plane.width - 5.0, plane.height - 5.0, 4.0)
    count = in_view(rays, inv_depth, pose, numbers, x, y, z, which)
    p = rays @ pose[:3, :3].T + pose[:3, 3] * inv_depth[:, None]
    p[:, 2] = np.maximum(p[:, 2], 1e-3)
    u, v = plane.project(p)
    inside = np.flatnonzero(plane.contains(u, v, 4))
    assert 50 < count == len(inside) < 350
    np.testing.assert_array_equal(which[:count], inside)
    np.testing.assert_allclose((x[:count], y[:count], z[:count]), (u[inside], v[inside], p[inside, 2]))


def test_zones_and_correlation_are_those_of_numpy() -> None:
    rng = np.random.default_rng(3)
    plane = small_view().image_plane
    x, y = rng.uniform(0, plane.width - 1, 300), rng.uniform(0, plane.height - 1, 300)
    a = rng.normal(100, 20, 300)
    b = 0.7 * a + rng.normal(0, 10, 300)
    sums = zone_sums(x, y, float(plane.width), float(plane.height), ZONES, a, b)
    zone = zone_of(x, y, plane)
    for row, values in zip(sums, (np.ones(300), a, b, a * a, b * b, a * b)):
        np.testing.assert_allclose(row, np.bincount(zone, values, ZONES**2))
    assert correlation(a, b) == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert correlation(a, np.full(300, 7.0)) == 0.0 and correlation(np.zeros(0), np.zeros(0)) == 0.0


@pytest.mark.parametrize("hidden, is_covered", [(0.3, False), (1.0, True)])
def test_a_zone_in_which_near_things_hide_a_part_is_not_covered(hidden: float, is_covered: bool) -> None:
    """Both correlate badly; where something covers a zone hardly any of its pixels fit."""
    rng = np.random.default_rng(4)
    x, y = (each.ravel().astype(float) for each in np.mgrid[0:SIZE:4, 0:SIZE:4])
    reference = 120 + 30 * rng.normal(size=len(x))
    seen = 0.8 * reference + 5 + rng.normal(0, 0.5, len(x))
    there = zone_of(x, y, LEVEL) == 6
    other = there & (rng.random(len(x)) < hidden)
    seen[other] = 0.8 * (120 + 30 * rng.normal(size=other.sum())) + 5
    found, known = Seen(x, y, reference, seen), np.ones(ZONES**2, np.bool_)
    assert found.agreement(LEVEL).covered[6]
    covered = found.covered(LEVEL, Brightness(0.8, 5.0), known)
    assert (covered is not None) == is_covered
    if covered is not None:
        assert np.flatnonzero(covered.covered).tolist() == [6]
    assert found.covered(LEVEL, Brightness(0.8, 5.0), ~known) is None
