# SPDX-License-Identifier: Apache-2.0
"""Direct alignment of an image with reference pixels of known inverse depth, on one pyramid level.

State: T_frame_ref (left increments, translation first). Residual: r = I[x'] − (gain · I_ref + offset); brightness is
held here and measured apart (``brightness.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.tracking.brightness import Brightness
from prism_vo.tracking.pyramid import Level

SMALL_STEP_PX = 0.02  # image motion (at 1 m) below which an alignment has converged


@dataclass(frozen=True)
class ReferenceLevel:
    """Reference pixels of one level: normalised rays, inverse depth with variance, intensity."""

    ray_x: Floats
    ray_y: Floats
    inv_depth: Floats
    variance: Floats
    color: Floats

    def __len__(self) -> int:
        return len(self.ray_x)


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
def _normal_equations(  # type: ignore[no-untyped-def]
    image, focal, cx, cy, rotation, translation, gain, offset, ray_x, ray_y, inv_depth, variance, color, noise,
    huber, cutoff, h, b,
):  # fmt: skip
    """Fill H (6, 6) and b (6); returns (energy, visible, inliers). Weights: Huber · σ²/(σ² + (∂r/∂q)² σ_q²)."""
    height, width = image.shape[0], image.shape[1]
    one = np.float32(1)
    right, bottom = np.float32(width - 2), np.float32(height - 2)
    hh, bb = np.zeros((6, 6), np.float64), np.zeros(6, np.float64)
    j = np.empty(6, np.float32)
    acc, accb = np.zeros((6, 6), np.float32), np.zeros(6, np.float32)
    energy, visible, inliers, pending = 0.0, 0, 0, 0
    noise2 = noise * noise
    r, t = rotation, translation
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


def align_level(
    image: Floats, level: Level, reference: ReferenceLevel, pose: Array, brightness: Brightness,
    noise: float, huber: float, cutoff: float, iterations: int,
) -> Alignment:  # fmt: skip
    """Levenberg–Marquardt on T_frame_ref from ``pose``."""

    def evaluate(pose: Array) -> tuple[float, Array, Array, int, int]:
        h, b = np.empty((6, 6)), np.empty(6)
        energy, visible, inliers = _normal_equations(
            image, np.float32(level.focal), np.float32(level.cx), np.float32(level.cy),
            pose[:3, :3].astype(np.float32), pose[:3, 3].astype(np.float32), np.float32(brightness.gain),
            np.float32(brightness.offset), reference.ray_x, reference.ray_y, reference.inv_depth,
            reference.variance, reference.color, np.float32(noise), np.float32(huber), np.float32(cutoff), h, b,
        )  # fmt: skip
        mean = energy / visible if visible >= 10 else np.inf
        return mean, h, b, visible, inliers

    mean, h, b, visible, inliers = evaluate(pose)
    damping, converged = 1e-3, False
    for _ in range(iterations):
        step = _damped_step(h, b, damping)
        if step is None:
            break
        trial = se3.exp(step) @ pose
        result = evaluate(trial)
        converged = bool(level.focal * np.abs(step).max() < SMALL_STEP_PX)
        if result[0] < mean:
            pose = trial
            mean, h, b, visible, inliers = result
            damping = max(damping * 0.2, 1e-7)
        else:
            damping = max(damping * 10.0, 1e-4)
            converged = converged or damping > 1e3
        if converged:
            break
    count = max(len(reference), 1)
    rms = float(np.sqrt(mean))
    return Alignment(pose, rms, visible / count, inliers / max(visible, 1), h, converged)


def _damped_step(h: Array, b: Array, damping: float) -> Array | None:
    scale = 1.0 / np.sqrt(np.maximum(np.diag(h), 1e-12))
    try:
        scaled = h * scale[:, None] * scale[None, :]
        scaled[np.diag_indices(6)] += damping
        step = -scale * np.linalg.solve(scaled, scale * b)
    except (np.linalg.LinAlgError, ValueError):
        return None
    if not np.isfinite(step).all() or np.linalg.norm(step[3:6]) > 1.0:
        return None
    return np.asarray(step)
