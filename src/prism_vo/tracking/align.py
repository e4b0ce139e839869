# SPDX-License-Identifier: Apache-2.0
"""Direct alignment of an image with reference pixels of known inverse depth, on one pyramid level.

State: T_frame_ref (left increments, translation first). Residual: r = I[x'] − (gain · I_ref + offset); brightness is
held here and measured apart (``brightness.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from prism_vo.arrays import Array, Floats, Integers
from prism_vo.bilinear import with_gradient
from prism_vo.compiled import njit
from prism_vo.linear.descent import Damping, descend
from prism_vo.linear.increments import incremented
from prism_vo.linear.scaling import damped_step
from prism_vo.optics.pinhole import Intrinsics, Pinhole
from prism_vo.tracking.brightness import Brightness

SMALL_STEP_PX = 0.02  # image motion (at 1 m) below which an alignment has converged
LARGEST_ROTATION = 1.0  # rad in one step: beyond it the linearisation says nothing
CHUNK = 64  # reference pixels that go through the loops together
LEAST_PIXELS = 10  # that must be visible for a residual to mean anything
DAMPING = Damping(start=1e-3, fall=0.2, least=1e-7, least_after_refusal=0.3, most=1e3)


class ReferencePixels(NamedTuple):
    """Reference pixels of one level: normalised rays, inverse depth with variance, intensity; all (N,)."""

    ray_x: Floats
    ray_y: Floats
    inv_depth: Floats
    variance: Floats
    color: Floats


class RobustWeights(NamedTuple):
    """What a residual counts, grey levels."""

    noise: np.float32  # photometric error of a warped pixel
    huber: np.float32
    cutoff: np.float32  # larger residuals are saturated

    @classmethod
    def of(cls, noise: float, huber: float, cutoff: float) -> RobustWeights:
        """As the kernel takes them."""
        return cls(np.float32(noise), np.float32(huber), np.float32(cutoff))


class Warp(NamedTuple):
    """How the reference is expected to appear in the frame."""

    rotation: Floats  # (3, 3) of T_frame_ref
    translation: Floats  # (3,)
    gain: np.float32
    offset: np.float32

    @classmethod
    def of(cls, T_frame_ref: Array, brightness: Brightness) -> Warp:
        """As the kernel takes it."""
        return cls(
            T_frame_ref[:3, :3].astype(np.float32),
            T_frame_ref[:3, 3].astype(np.float32),
            np.float32(brightness.gain),
            np.float32(brightness.offset),
        )


class _Seen(NamedTuple):
    """A chunk of reference pixels in the frame; all (CHUNK,)."""

    x: Floats  # normalised
    y: Floats
    inv_z: Floats
    visible: Floats  # 1 or 0
    right: Floats  # px beyond the pixel to the left
    down: Floats  # px below the one above
    at: Integers  # index, in the flat image, of the pixel before that one in the row above


@dataclass(frozen=True)
class Alignment:
    """Where an alignment ended on a level."""

    T_frame_ref: Array
    rms: float  # grey levels, over the visible points (saturated ones at the cutoff)
    visible: float  # share of the reference inside the image
    inliers: float  # share of the visible ones below the cutoff
    hessian: Array  # (6, 6) at the end
    converged: bool


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy", inline="always")
def _project(warp, intrinsics, pixels, width, height, out):  # type: ignore[no-untyped-def]
    """Where a chunk of reference pixels lies in the frame; those out of view are put at (1, 1) and marked."""
    one, nearest = np.float32(1), np.float32(1e-3)
    right, bottom = np.float32(width - 2), np.float32(height - 2)
    focal, cx, cy = intrinsics.focal, intrinsics.cx, intrinsics.cy
    r, t = warp.rotation, warp.translation
    (r00, r01, r02), (r10, r11, r12) = (r[0, 0], r[0, 1], r[0, 2]), (r[1, 0], r[1, 1], r[1, 2])
    (r20, r21, r22), (t0, t1, t2) = (r[2, 0], r[2, 1], r[2, 2]), (t[0], t[1], t[2])
    ray_x, ray_y, inv_depth = pixels.ray_x, pixels.ray_y, pixels.inv_depth
    for k in range(len(ray_x)):
        z = r20 * ray_x[k] + r21 * ray_y[k] + r22 + t2 * inv_depth[k]
        inv_z = one / z
        x = (r00 * ray_x[k] + r01 * ray_y[k] + r02 + t0 * inv_depth[k]) * inv_z
        y = (r10 * ray_x[k] + r11 * ray_y[k] + r12 + t1 * inv_depth[k]) * inv_z
        px, py = x * focal + cx, y * focal + cy
        inside = (z >= nearest) & (px >= one) & (py >= one) & (px < right) & (py < bottom)
        px, py = px if inside else one, py if inside else one
        out.x[k], out.y[k], out.inv_z[k] = x, y, inv_z
        out.visible[k] = one if inside else np.float32(0)
        column, row = np.int32(px), np.int32(py)
        out.right[k], out.down[k] = px - np.float32(column), py - np.float32(row)
        out.at[k] = (row - np.int32(1)) * np.int32(width) + column - np.int32(1)


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy", inline="always")
def _look_up(flat, width, seen, count, value, gx, gy):  # type: ignore[no-untyped-def]
    """Intensity and gradient between four pixels each."""
    below = np.uint64(width)
    for k in range(count):
        place, right, down = np.uint64(seen.at[k]), seen.right[k], seen.down[k]
        value[k], gx[k], gy[k] = with_gradient(flat, place, below, right, down)


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _normal_equations(image, intrinsics, warp, reference, weights, h, b):  # type: ignore[no-untyped-def]
    """Fill H (6, 6) and b (6); returns (energy, visible, inliers). Weights: Huber · σ²/(σ² + (∂r/∂q)² σ_q²).

    Chunks of pixels go through short loops (places, memory, Jacobians, sums): all but the second vectorise. Sums of a
    chunk are float32, those across chunks float64. The slow twin is in the tests.
    """
    zero, one, two = np.float32(0), np.float32(1), np.float32(2)
    focal, huber, cutoff = intrinsics.focal, weights.huber, weights.cutoff
    gain, offset, noise2 = warp.gain, warp.offset, weights.noise * weights.noise
    t0, t1, t2 = warp.translation[0], warp.translation[1], warp.translation[2]
    saturated = huber * (two * cutoff - huber)
    height, width = image.shape[0], image.shape[1]
    flat = image.reshape(height * width)
    work = np.empty((9, CHUNK), np.float32)
    seen = _Seen(work[0], work[1], work[2], work[3], work[4], work[5], np.empty(CHUNK, np.int32))
    value, grad_x, grad_y = work[6], work[7], work[8]
    jac, weighted = np.zeros((7, CHUNK), np.float32), np.zeros((6, CHUNK), np.float32)
    sums = np.zeros((6, 7))
    totals = np.zeros(3)  # energy, visible, inliers
    for first in range(0, reference.ray_x.shape[0], CHUNK):
        last = min(first + CHUNK, reference.ray_x.shape[0])
        q, variance, color = (
            reference.inv_depth[first:last],
            reference.variance[first:last],
            reference.color[first:last],
        )
        chunk = ReferencePixels(reference.ray_x[first:last], reference.ray_y[first:last], q, variance, color)
        _project(warp, intrinsics, chunk, width, height, seen)
        _look_up(flat, width, seen, last - first, value, grad_x, grad_y)
        some_energy, some_visible, some_inliers = zero, zero, zero
        for k in range(last - first):
            res = value[k] - gain * color[k] - offset
            size = abs(res)
            x, y, inv_z, in_view = seen.x[k], seen.y[k], seen.inv_z[k], seen.visible[k]
            gx, gy = grad_x[k] * focal, grad_y[k] * focal
            dq = (gx * (t0 - x * t2) + gy * (t1 - y * t2)) * inv_z
            robust = huber / max(size, huber)
            w = robust * noise2 / (noise2 + dq * dq * variance[k])
            counts = in_view > zero and size <= cutoff
            w = w if counts else zero
            some_energy += w * res * res * (two - robust) if counts else in_view * saturated
            some_visible += in_view
            some_inliers += one if counts else zero
            near = q[k] * inv_z
            jac[0, k], jac[1, k], jac[2, k] = gx * near, gy * near, -(gx * x + gy * y) * near
            jac[3, k], jac[4, k] = -gx * x * y - gy * (one + y * y), gx * (one + x * x) + gy * x * y
            jac[5, k], jac[6, k] = gy * x - gx * y, res
            for c in range(6):  # out of view a place may be infinite
                jac[c, k] = jac[c, k] if counts else zero
                weighted[c, k] = w * jac[c, k]
        weighted[:, last - first :] = zero
        totals[0] += some_energy
        totals[1] += some_visible
        totals[2] += some_inliers
        for c in range(6):
            for d in range(c, 7):
                total = zero
                for k in range(CHUNK):
                    total += weighted[c, k] * jac[d, k]
                sums[c, d] += total
    for c in range(6):
        b[c] = sums[c, 6]
        for d in range(c, 6):
            h[c, d] = sums[c, d]
            h[d, c] = sums[c, d]
    return totals[0], int(totals[1]), int(totals[2])


@dataclass(frozen=True)
class _Linearized:
    """Normal equations of an alignment."""

    energy: float  # mean over the visible points
    h: Array  # (6, 6)
    b: Array  # (6,)
    visible: int
    inliers: int


@dataclass(frozen=True)
class _AlignmentProblem:
    """One image against one reference; the state is T_frame_ref."""

    image: Floats
    focal: float
    intrinsics: Intrinsics
    reference: ReferencePixels
    brightness: Brightness
    weights: RobustWeights

    def linearize(self, pose: Array) -> _Linearized:
        """H, b and the mean energy at a pose."""
        h, b = np.empty((6, 6)), np.empty(6)
        energy, visible, inliers = _normal_equations(
            self.image, self.intrinsics, Warp.of(pose, self.brightness), self.reference, self.weights, h, b
        )
        mean = energy / visible if visible >= LEAST_PIXELS else np.inf
        return _Linearized(mean, h, b, visible, inliers)

    def step(self, at: _Linearized, pose: Array, damping: float) -> Array | None:
        """Tangent (6,)."""
        step = damped_step(at.h, at.b, damping)
        return step if step is not None and np.linalg.norm(step[3:]) <= LARGEST_ROTATION else None

    def moved(self, pose: Array, step: Array) -> Array:
        """Left increment."""
        return incremented(pose[None], step[None])[0]

    def accepted(self, at: _Linearized) -> None:
        """Nothing to adapt."""

    def is_negligible(self, step: Array, pose: Array) -> bool:
        """Whether the image hardly moves."""
        return bool(self.focal * np.abs(step).max() < SMALL_STEP_PX)

    def is_over(self, step: Array, pose: Array, taken: bool) -> bool:
        """Whether the image hardly moved, or would hardly have."""
        return self.is_negligible(step, pose)


def align_level(
    image: Floats,
    level: Pinhole,
    reference: ReferencePixels,
    pose: Array,
    brightness: Brightness,
    weights: RobustWeights,
    iterations: int,
) -> Alignment:
    """Levenberg–Marquardt on T_frame_ref from ``pose``."""
    problem = _AlignmentProblem(image, level.focal, level.intrinsics, reference, brightness, weights)
    found = descend(problem, pose, problem.linearize(pose), DAMPING, iterations)
    at = found.at
    return Alignment(
        found.state,
        float(np.sqrt(at.energy)),
        at.visible / max(len(reference.ray_x), 1),
        at.inliers / max(at.visible, 1),
        at.h,
        found.is_over,
    )
