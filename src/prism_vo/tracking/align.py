# SPDX-License-Identifier: Apache-2.0
"""Direct alignment of an image with reference pixels of known inverse depth, on one pyramid level.

State: T_frame_ref (left increments, translation first). Residual: r = I[x'] − (gain · I_ref + offset); brightness is
held here and measured apart (``brightness.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.compiled import njit
from prism_vo.linear.descent import Damping, descend
from prism_vo.linear.scaling import damped_step
from prism_vo.optics.pinhole import Intrinsics, Pinhole
from prism_vo.tracking.brightness import Brightness

SMALL_STEP_PX = 0.02  # image motion (at 1 m) below which an alignment has converged
LARGEST_ROTATION = 1.0  # rad in one step: beyond it the linearisation says nothing
LEAST_PIXELS = 10  # that must be visible for a residual to mean anything
DAMPING = Damping(start=1e-3, fall=0.2, least=1e-7, least_after_refusal=1e-4, most=1e3)


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


@dataclass(frozen=True)
class Alignment:
    """Where an alignment ended on a level."""

    T_frame_ref: Array
    rms: float  # grey levels, over the visible points (saturated ones at the cutoff)
    visible: float  # share of the reference inside the image
    inliers: float  # share of the visible ones below the cutoff
    hessian: Array  # (6, 6) at the end
    converged: bool


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _normal_equations(image, intrinsics, warp, reference, weights, h, b):  # type: ignore[no-untyped-def]
    """Fill H (6, 6) and b (6); returns (energy, visible, inliers). Weights: Huber · σ²/(σ² + (∂r/∂q)² σ_q²)."""
    focal, cx, cy = intrinsics.focal, intrinsics.cx, intrinsics.cy
    ray_x, ray_y, inv_depth = reference.ray_x, reference.ray_y, reference.inv_depth
    variance, color = reference.variance, reference.color
    r, t, gain, offset = warp.rotation, warp.translation, warp.gain, warp.offset
    huber, cutoff = weights.huber, weights.cutoff
    height, width = image.shape[0], image.shape[1]
    one = np.float32(1)
    right, bottom = np.float32(width - 2), np.float32(height - 2)
    hh, bb = np.zeros((6, 6), np.float64), np.zeros(6, np.float64)
    j = np.empty(6, np.float32)
    acc, accb = np.zeros((6, 6), np.float32), np.zeros(6, np.float32)
    energy, visible, inliers, pending = 0.0, 0, 0, 0
    noise2 = weights.noise * weights.noise
    for n in range(ray_x.shape[0]):
        q = inv_depth[n]
        z = r[2, 0] * ray_x[n] + r[2, 1] * ray_y[n] + r[2, 2] + t[2] * q
        if z < np.float32(1e-3):
            continue
        inv_z = one / z
        x = (r[0, 0] * ray_x[n] + r[0, 1] * ray_y[n] + r[0, 2] + t[0] * q) * inv_z
        y = (r[1, 0] * ray_x[n] + r[1, 1] * ray_y[n] + r[1, 2] + t[1] * q) * inv_z
        px, py = x * focal + cx, y * focal + cy
        if not (px >= one and py >= one and px < right and py < bottom):
            continue
        visible += 1
        ix, iy = int(px), int(py)
        fx, fy = px - np.float32(ix), py - np.float32(iy)
        w11 = fx * fy
        w10, w01 = fy - w11, fx - w11
        w00 = one - fx - fy + w11
        p00, p01, p10, p11 = image[iy, ix], image[iy, ix + 1], image[iy + 1, ix], image[iy + 1, ix + 1]
        value = w00 * p00[0] + w01 * p01[0] + w10 * p10[0] + w11 * p11[0]
        res = value - gain * color[n] - offset
        size = abs(res)
        if size > cutoff:
            energy += huber * (2.0 * cutoff - huber)
            continue
        inliers += 1
        gx = (w00 * p00[1] + w01 * p01[1] + w10 * p10[1] + w11 * p11[1]) * focal
        gy = (w00 * p00[2] + w01 * p01[2] + w10 * p10[2] + w11 * p11[2]) * focal
        dq = (gx * (t[0] - x * t[2]) + gy * (t[1] - y * t[2])) * inv_z
        robust = one if size <= huber else huber / size
        certain = noise2 / (noise2 + dq * dq * variance[n])
        energy += certain * robust * res * res * (np.float32(2) - robust)
        w = robust * certain
        near = q * inv_z
        j[0], j[1], j[2] = gx * near, gy * near, -(gx * x + gy * y) * near
        j[3] = -gx * x * y - gy * (one + y * y)
        j[4] = gx * (one + x * x) + gy * x * y
        j[5] = gy * x - gx * y
        for c in range(6):
            wj = w * j[c]
            accb[c] += wj * res
            for d in range(c, 6):
                acc[c, d] += wj * j[d]
        pending += 1
        if pending == 128:  # float32 sums of a block, float64 across blocks
            for c in range(6):
                bb[c] += accb[c]
                accb[c] = 0
                for d in range(c, 6):
                    hh[c, d] += acc[c, d]
                    acc[c, d] = 0
            pending = 0
    for c in range(6):
        bb[c] += accb[c]
        for d in range(c, 6):
            hh[c, d] += acc[c, d]
    for c in range(6):
        b[c] = bb[c]
        for d in range(c, 6):
            h[c, d] = hh[c, d]
            h[d, c] = hh[c, d]
    return energy, visible, inliers


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
        return se3.exp(step) @ pose

    def accepted(self, at: _Linearized) -> None:
        """Nothing to adapt."""

    def is_over(self, step: Array, pose: Array, taken: bool) -> bool:
        """Whether the image hardly moved."""
        return bool(self.focal * np.abs(step).max() < SMALL_STEP_PX)


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
