# SPDX-License-Identifier: Apache-2.0
"""Direct alignment on one level: Jacobian, known motions, weights by depth variance."""

import numpy as np
import pytest
from alignments import problem
from central_differences import with_gradients
from smooth_scene import Waves

from prism_vo import se3
from prism_vo.optics.pinhole import Pinhole
from prism_vo.tracking.align import (
    Alignment,
    ReferencePixels,
    RobustWeights,
    Warp,
    _normal_equations,
    align_level,
)
from prism_vo.tracking.brightness import Brightness

MOTION = se3.exp(np.array([0.03, -0.02, 0.02, 0.01, -0.015, 0.02]))


def kernel(
    image,
    level: Pinhole,
    reference: ReferencePixels,
    pose,
    gain=1.0,
    offset=0.0,
    noise=4.0,
    huber=9.0,
    cutoff=1e4,
):
    """(energy, H, b, visible, inliers) with plain numbers."""
    h, b = np.empty((6, 6)), np.empty(6)
    energy, visible, inliers = _normal_equations(
        image,
        level.intrinsics,
        Warp.of(pose, Brightness(gain, offset)),
        reference,
        RobustWeights.of(noise, huber, cutoff),
        h,
        b,
    )
    return energy, h, b, visible, inliers


def align(
    image: np.ndarray,
    level: Pinhole,
    reference: ReferencePixels,
    start: np.ndarray,
    brightness: Brightness | None = None,
    iterations: int = 30,
) -> Alignment:
    """With the weights that tracking uses."""
    weights = RobustWeights.of(noise=4.0, huber=9.0, cutoff=20.0)
    return align_level(image, level, reference, start, brightness or Brightness(), weights, iterations)


def one_pixel(seed: int) -> tuple[np.ndarray, Pinhole, ReferencePixels, np.ndarray]:
    """A single residual on a linear image: interpolation and its gradient are exact there."""
    rng = np.random.default_rng(seed)
    level = Pinhole(120, 90, 150.0, 60.0, 45.0)
    y, x = np.mgrid[:90, :120].astype(np.float64)
    slope = rng.normal(0, 1.5, 2)
    image = 100 + slope[0] * x + slope[1] * y
    one = [np.array([value], np.float32) for value in (0.11, -0.07, 0.8, 1e-12, 100.0)]
    return np.ascontiguousarray(image, dtype=np.float32), level, ReferencePixels(*one), slope


def exact_residual(level: Pinhole, reference: ReferencePixels, slope: np.ndarray, pose: np.ndarray) -> float:
    ray = np.array([float(reference.ray_x[0]), float(reference.ray_y[0]), 1.0])
    p = pose[:3, :3] @ ray + pose[:3, 3] * float(reference.inv_depth[0])
    x, y = level.focal * p[0] / p[2] + level.cx, level.focal * p[1] / p[2] + level.cy
    return 100 + slope[0] * x + slope[1] * y - float(reference.color[0])


@pytest.mark.parametrize("seed", range(5))
def test_jacobian_equals_central_differences(seed: int) -> None:
    image, level, reference, slope = one_pixel(seed)
    pose = se3.exp(np.random.default_rng(seed).normal(0, 0.05, 6))
    _, h, b, visible, _ = kernel(image, level, reference, pose, huber=1e6)
    assert visible == 1
    residual = exact_residual(level, reference, slope, pose)
    numeric = np.empty(6)
    for c in range(6):
        d = np.zeros(6)
        d[c] = 1e-6
        numeric[c] = (
            exact_residual(level, reference, slope, se3.exp(d) @ pose)
            - exact_residual(level, reference, slope, se3.exp(-d) @ pose)
        ) / 2e-6
    np.testing.assert_allclose(b / residual, numeric, rtol=1e-3, atol=1e-5 * np.abs(numeric).max())
    np.testing.assert_allclose(h, np.outer(numeric, numeric), atol=1e-5 * np.abs(numeric).max() ** 2)


@pytest.mark.parametrize("seed", range(3))
def test_a_known_motion_is_recovered(seed: int) -> None:
    image, level, reference = problem(MOTION, seed)
    start = se3.exp(np.array([0.004, -0.004, 0.003, 0.004, -0.003, 0.002])) @ MOTION
    found = align(image, level, reference, start)
    error = se3.log(found.T_frame_ref @ se3.inverse(MOTION))
    assert np.linalg.norm(error[:3]) < 2e-4 * 1.5
    assert np.linalg.norm(error[3:]) < 2e-4
    assert found.converged and found.visible > 0.8 and found.inliers > 0.99 and found.rms < 1.5


def test_brightness_is_taken_into_account() -> None:
    image, level, reference = problem(MOTION)
    brighter = (1.2 * image + 7.0).astype(np.float32)
    right = align(brighter, level, reference, MOTION, Brightness(1.2, 7.0))
    wrong = align(brighter, level, reference, MOTION)
    assert right.rms < 1.5 and wrong.rms > 5.0


def test_a_wrong_depth_pulls_less_the_less_certain_it_is() -> None:
    image, level, reference = problem(MOTION)
    wrong = np.arange(len(reference.ray_x)) % 3 == 0
    depth = np.where(wrong, reference.inv_depth * 1.1, reference.inv_depth).astype(np.float32)
    errors = []
    for sigma in (1e-4, 0.05, 0.2, 1.0):
        variance = np.where(wrong, np.float32(sigma**2), reference.variance).astype(np.float32)
        spoilt = reference._replace(inv_depth=depth, variance=variance)
        found = align(image, level, spoilt, MOTION)
        errors.append(np.linalg.norm(se3.log(found.T_frame_ref @ se3.inverse(MOTION))))
    assert (np.diff(errors) < 0).all()
    assert errors[2] < 0.5 * errors[0] and errors[3] < 0.1 * errors[0]


def test_without_motion_an_uncertain_depth_weighs_as_much_as_a_certain_one() -> None:
    """∂r/∂q vanishes without translation: the weight is σ²/(σ² + (∂r/∂q)² σ_q²) = 1."""
    image, level, reference = problem(np.eye(4))
    _, certain, *_ = kernel(image, level, reference, np.eye(4))
    vague = reference._replace(variance=np.full(len(reference.ray_x), 1.0, np.float32))
    _, uncertain, *_ = kernel(image, level, vague, np.eye(4))
    np.testing.assert_allclose(uncertain, certain, rtol=1e-5)
    _, moved, *_ = kernel(image, level, vague, MOTION)
    assert np.trace(moved) < 0.2 * np.trace(certain)


def test_weight_is_the_documented_one() -> None:
    image, level, reference, slope = one_pixel(2)
    pose = se3.exp(np.array([0.1, -0.05, 0.08, 0, 0, 0]))
    _, h0, *_ = kernel(image, level, reference, pose, huber=1e6)
    vague = reference._replace(variance=np.array([0.01], np.float32))
    _, h1, *_ = kernel(image, level, vague, pose, huber=1e6)
    step = 1e-5
    up = reference._replace(inv_depth=reference.inv_depth.astype(np.float64) + step)
    down = reference._replace(inv_depth=reference.inv_depth.astype(np.float64) - step)
    by_depth = (exact_residual(level, up, slope, pose) - exact_residual(level, down, slope, pose)) / (
        2 * step
    )
    assert h1[0, 0] / h0[0, 0] == pytest.approx(16.0 / (16.0 + by_depth**2 * 0.01), rel=1e-3)


def test_points_behind_or_out_of_view_are_not_visible_and_saturated_ones_are_no_inliers() -> None:
    image, level, reference = problem(np.eye(4))
    behind = se3.exp(np.array([0, 0, -5.0, 0, 0, 0]))
    assert kernel(image, level, reference, behind)[3] == 0
    turned = se3.exp(np.array([0, 0, 0, 0, 1.0, 0]))
    assert kernel(image, level, reference, turned)[3] == 0
    energy, h, _, visible, inliers = kernel(image, level, reference, np.eye(4), offset=-100.0, cutoff=20.0)
    assert inliers == 0 and visible > 1000 and not h.any()
    assert energy == pytest.approx(visible * 9.0 * (40.0 - 9.0))


def test_too_few_points_give_no_pose_and_no_error() -> None:
    image, level, reference = problem(np.eye(4))
    few = ReferencePixels(*(column[:3] for column in reference))
    found = align(image, level, few, np.eye(4), iterations=10)
    assert found.rms == np.inf
    none = ReferencePixels(*(column[:0] for column in reference))
    assert align(image, level, none, np.eye(4), iterations=10).visible == 0


def test_flat_images_do_not_move_the_pose() -> None:
    _, level, reference = problem(np.eye(4))
    flat = np.full((level.height, level.width), 100.0, np.float32)
    grey = reference._replace(color=np.full(len(reference.ray_x), 100.0, np.float32))
    found = align(flat, level, grey, MOTION, iterations=10)
    np.testing.assert_allclose(found.T_frame_ref, MOTION, atol=1e-9)


def test_waves_gradient_is_right() -> None:
    """The tests' own image: its gradient against differences."""
    waves = Waves.random(3, 8.0, 25.0, 30.0)
    x, y = np.array([3.0, 50.0]), np.array([7.0, 20.0])
    gx, gy = waves.gradient(x, y)
    np.testing.assert_allclose(gx, (waves.value(x + 1e-5, y) - waves.value(x - 1e-5, y)) / 2e-5, rtol=1e-6)
    np.testing.assert_allclose(gy, (waves.value(x, y + 1e-5) - waves.value(x, y - 1e-5)) / 2e-5, rtol=1e-6)


def plain_normal_equations(image, level: Pinhole, reference: ReferencePixels, pose, noise, huber, cutoff):
    """What the kernel does chunk by chunk, pixel by pixel in double precision."""
    energy, visible, inliers, h, b = 0.0, 0, 0, np.zeros((6, 6)), np.zeros(6)
    stacked = with_gradients(image)
    for ray_x, ray_y, q, variance, color in zip(*(column.astype(np.float64) for column in reference)):
        p = pose[:3, :3] @ [ray_x, ray_y, 1.0] + pose[:3, 3] * q
        if p[2] < 1e-3:
            continue
        x, y = p[:2] / p[2]
        u, v = x * level.focal + level.cx, y * level.focal + level.cy
        if not (1 <= u < image.shape[1] - 2 and 1 <= v < image.shape[0] - 2):
            continue
        visible += 1
        column, row = int(u), int(v)
        right, down = u - column, v - row
        corners = stacked[row : row + 2, column : column + 2]
        weights = np.outer([1 - down, down], [1 - right, right])
        value, gx, gy = (weights[..., None] * corners).sum((0, 1)) * [1.0, level.focal, level.focal]
        residual = value - color
        if abs(residual) > cutoff:
            energy += huber * (2 * cutoff - huber)
            continue
        inliers += 1
        by_depth = (gx * (pose[0, 3] - x * pose[2, 3]) + gy * (pose[1, 3] - y * pose[2, 3])) / p[2]
        robust = min(1.0, huber / max(abs(residual), 1e-9))
        weight = robust * noise**2 / (noise**2 + by_depth**2 * variance)
        energy += weight * residual**2 * (2.0 - robust)
        by_point = np.array([gx, gy, -(gx * x + gy * y)])
        place = np.array([x, y, 1.0])
        jac = np.concatenate([by_point * q / p[2], np.cross(place, by_point)])
        h += weight * np.outer(jac, jac)
        b += weight * jac * residual
    return energy, h, b, visible, inliers


def test_kernel_agrees_with_its_plain_twin():
    second, level, reference = problem(MOTION)
    count = 150  # two whole chunks and a part of one
    some = ReferencePixels(*(column[:: len(column) // count][:count].copy() for column in reference))
    some.inv_depth[::11] = -40.0  # behind the camera or far out of view
    some.color[:] += np.linspace(-3.0, 3.0, count, dtype=np.float32)
    some.color[::7] += 60.0  # saturated
    some.variance[:] = 1e-3
    found = kernel(second, level, some, MOTION, huber=2.0, cutoff=20.0)
    plain = plain_normal_equations(second, level, some, MOTION, 4.0, 2.0, 20.0)
    assert found[3:] == plain[3:] and plain[4] < plain[3] < count
    for one, other in zip(found[:3], plain[:3]):
        assert np.abs(np.asarray(one) - other).max() < 2e-4 * np.abs(other).max()
