# SPDX-License-Identifier: Apache-2.0
"""Rigid motions and similarities.

A pose is a 4×4 float64 matrix ``T_a_b`` that maps b-coordinates to a-coordinates. Tangent vectors are ordered
``(translation, rotation)``; increments are applied on the left: ``T ← exp(ξ) T``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from prism_vo.arrays import Array
from prism_vo.errors import DegenerateError


def hat(w: Array) -> Array:
    """3-vector → skew matrix, so that ``hat(a) @ b == cross(a, b)``."""
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def so3_exp(w: Array) -> Array:
    """Rotation vector → 3×3 rotation (Rodrigues)."""
    sine, cosine, _ = _coefficients(_length(w))
    return np.array(_in_powers(w, sine, cosine))


def so3_log(r: Array) -> Array:
    """3×3 rotation → rotation vector of length ≤ π, stable near 0 and near π."""
    q = rotation_to_quaternion(r)
    v, w = q[:3], q[3]
    n = float(np.linalg.norm(v))
    if n < 1e-12:
        return 2.0 * v / w
    return v * (2.0 * np.arctan2(n, w) / n)


def _length(w: Array) -> float:
    return math.sqrt(float(w[0]) ** 2 + float(w[1]) ** 2 + float(w[2]) ** 2)


def _sinc(x: float) -> float:
    """sin(x)/x without cancellation at 0."""
    return math.sin(x) / x if abs(x) > 1e-4 else 1.0 - x * x / 6.0


def _coefficients(theta: float) -> tuple[float, float, float]:
    """``sin θ/θ``, ``(1 − cos θ)/θ²`` and ``(θ − sin θ)/θ³``."""
    if theta > 0.1:
        cubic = (theta - math.sin(theta)) / theta**3
    else:  # series: the difference would cancel
        x = theta * theta
        cubic = 1 / 6 - x / 120 * (1 - x / 42 * (1 - x / 72))
    return _sinc(theta), 0.5 * _sinc(0.5 * theta) ** 2, cubic


def _in_powers(w: Array, linear: float, square: float) -> list[list[float]]:
    """``I + linear K + square K²`` with K = hat(w): plain numbers, because NumPy is slow on single 3×3 matrices."""
    x, y, z = float(w[0]), float(w[1]), float(w[2])
    xx, yy, zz = square * x * x, square * y * y, square * z * z
    xy, xz, yz = square * x * y, square * x * z, square * y * z
    return [
        [1.0 - yy - zz, xy - linear * z, xz + linear * y],
        [xy + linear * z, 1.0 - xx - zz, yz - linear * x],
        [xz - linear * y, yz + linear * x, 1.0 - xx - yy],
    ]


def _left_jacobian(w: Array) -> Array:
    """V of the exponential map: ``I + (1 − cos θ)/θ² K + (θ − sin θ)/θ³ K²``."""
    _, cosine, cubic = _coefficients(_length(w))
    return np.array(_in_powers(w, cosine, cubic))


def exp(xi: Array) -> Array:
    """Tangent ``(v, w)`` → 4×4 pose."""
    xi = np.asarray(xi, dtype=np.float64)
    sine, cosine, cubic = _coefficients(_length(xi[3:]))
    rotation, v = _in_powers(xi[3:], sine, cosine), _in_powers(xi[3:], cosine, cubic)
    x, y, z = float(xi[0]), float(xi[1]), float(xi[2])
    rows = [[*r, m[0] * x + m[1] * y + m[2] * z] for r, m in zip(rotation, v)]
    return np.array([*rows, [0.0, 0.0, 0.0, 1.0]])


def log(t: Array) -> Array:
    """4×4 pose → tangent ``(v, w)``."""
    w = so3_log(t[:3, :3])
    return np.concatenate([np.linalg.solve(_left_jacobian(w), t[:3, 3]), w])


def inverse(t: Array) -> Array:
    """Inverse of a rigid motion, exact in the rotation block."""
    out = np.eye(4)
    out[:3, :3] = t[:3, :3].T
    out[:3, 3] = -t[:3, :3].T @ t[:3, 3]
    return out


def renormalised(t: Array) -> Array:
    """The pose with its rotation pulled back to SO(3).

    Long products drift away from it, exponentially so where inverses are taken by transposition.
    """
    out = t.copy()
    r = t[:3, :3]
    out[:3, :3] = r @ (1.5 * np.eye(3) - 0.5 * (r.T @ r))
    return out


def adjoint(t: Array) -> Array:
    """6×6 adjoint: ``T exp(ξ) T⁻¹ = exp(Ad_T ξ)``."""
    r = t[:3, :3]
    ad = np.zeros((6, 6))
    ad[:3, :3] = r
    ad[3:, 3:] = r
    ad[:3, 3:] = hat(t[:3, 3]) @ r
    return ad


def transform(t: Array, points: Array) -> Array:
    """Apply a pose to points (…, 3)."""
    return points @ t[:3, :3].T + t[:3, 3]


def rotation_angle(r: Array) -> float:
    """Angle of a rotation matrix in radians, in [0, π]."""
    return float(np.linalg.norm(so3_log(r)))


def rotation_to_quaternion(r: Array) -> Array:
    """3×3 rotation → unit quaternion ``(x, y, z, w)`` with w ≥ 0, without cancellation."""
    d = np.array([r[0, 0], r[1, 1], r[2, 2]])
    trace = d.sum()
    candidates = np.append(d, trace)
    k = int(np.argmax(candidates))
    q = np.empty(4)
    if k == 3:
        q[3] = 1.0 + trace
        q[0], q[1], q[2] = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    else:
        i, j, m = k, (k + 1) % 3, (k + 2) % 3
        q[i] = 1.0 + 2.0 * d[i] - trace
        q[j] = r[j, i] + r[i, j]
        q[m] = r[m, i] + r[i, m]
        q[3] = r[m, j] - r[j, m]
    q /= np.linalg.norm(q)
    return -q if q[3] < 0 else q


def quaternion_to_rotation(q: Array) -> Array:
    """Quaternion ``(x, y, z, w)``, any length > 0 → 3×3 rotation."""
    x, y, z, w = np.asarray(q, dtype=np.float64) / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


class Similarity(NamedTuple):
    """``x ↦ scale · rotation @ x + translation``."""

    scale: float
    rotation: Array
    translation: Array

    def apply(self, points: Array) -> Array:
        """Map points (…, 3)."""
        return self.scale * (points @ self.rotation.T) + self.translation

    def inverse(self) -> Similarity:
        """The similarity that undoes this one."""
        rt = self.rotation.T
        return Similarity(1.0 / self.scale, rt, -(rt @ self.translation) / self.scale)

    def compose(self, other: Similarity) -> Similarity:
        """``self ∘ other``: other is applied first."""
        return Similarity(
            self.scale * other.scale, self.rotation @ other.rotation, self.apply(other.translation)
        )


def align(source: Array, target: Array, with_scale: bool) -> Similarity:
    """Least-squares similarity (or rigid motion) of source points (N, 3) onto target (Umeyama 1991)."""
    if source.shape != target.shape or source.ndim != 2 or len(source) < 3:
        raise DegenerateError("An alignment needs at least 3 pairs of positions.")
    if not (np.isfinite(source).all() and np.isfinite(target).all()):
        raise DegenerateError("An alignment needs finite positions; one is not a number.")
    mu_s, mu_t = source.mean(0), target.mean(0)
    ds, dt = source - mu_s, target - mu_t
    u, s, vt = np.linalg.svd(dt.T @ ds / len(source))
    if s[1] <= 1e-12 * max(s[0], 1e-300):
        raise DegenerateError("The positions lie on one line or in one point, so no rotation is determined.")
    sign = np.ones(3)
    if np.linalg.det(u) * np.linalg.det(vt) < 0:
        sign[2] = -1.0
    rotation = (u * sign) @ vt
    scale = float((s * sign).sum() / (ds**2).sum(1).mean()) if with_scale else 1.0
    return Similarity(scale, rotation, mu_t - scale * rotation @ mu_s)


def scaled(T_view_world: Array, origin: Array, factor: float) -> Array:
    """The pose in a world that grew by a factor about a point (3,)."""
    out = T_view_world.copy()
    out[:3, 3] = factor * T_view_world[:3, 3] + (factor - 1.0) * T_view_world[:3, :3] @ origin
    return out
