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
    x, y, z, w = _quaternion(r)
    n = math.sqrt(x * x + y * y + z * z)
    factor = 2.0 / w if n < 1e-12 else 2.0 * math.atan2(n, w) / n
    return np.array([factor * x, factor * y, factor * z])


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


def _inverse_left_jacobian(w: Array) -> list[list[float]]:
    """V⁻¹ of the exponential map: ``I − K/2 + (1 − θ sin θ/(2 (1 − cos θ)))/θ² K²``."""
    theta = _length(w)
    sine, cosine, _ = _coefficients(theta)
    x = theta * theta
    # series: the difference would cancel
    square = (
        (1.0 - sine / (2.0 * cosine)) / x if theta > 0.1 else 1 / 12 + x / 720 * (1 + x / 42 * (1 + x / 40))
    )
    return _in_powers(w, -0.5, square)


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
    w = so3_log(t)
    x, y, z = float(t[0, 3]), float(t[1, 3]), float(t[2, 3])
    v = [m[0] * x + m[1] * y + m[2] * z for m in _inverse_left_jacobian(w)]
    return np.array([*v, *w.tolist()])


def inverse(t: Array) -> Array:
    """Inverse of a rigid motion, exact in the rotation block."""
    (a, b, c, x), (d, e, f, y), (g, h, i, z), _ = t.tolist()
    return np.array(
        [
            [a, d, g, -(a * x + d * y + g * z)],
            [b, e, h, -(b * x + e * y + h * z)],
            [c, f, i, -(c * x + f * y + i * z)],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def renormalised(t: Array) -> Array:
    """The pose with its rotation pulled back to SO(3).

    Long products drift away from it, exponentially so where inverses are taken by transposition.
    """
    (a, b, c, x), (d, e, f, y), (g, h, i, z), last = t.tolist()
    # R (3 I − RᵀR)/2
    aa, bb, cc = (1.5 - 0.5 * (p * p + q * q + s * s) for p, q, s in ((a, d, g), (b, e, h), (c, f, i)))
    ab, ac, bc = (
        -0.5 * (a * b + d * e + g * h),
        -0.5 * (a * c + d * f + g * i),
        -0.5 * (b * c + e * f + h * i),
    )
    rows = [
        [p * aa + q * ab + s * ac, p * ab + q * bb + s * bc, p * ac + q * bc + s * cc, shift]
        for p, q, s, shift in ((a, b, c, x), (d, e, f, y), (g, h, i, z))
    ]
    return np.array([*rows, last])


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
    return np.array(_quaternion(r))


def _quaternion(rotation: Array) -> list[float]:
    """Of the upper left 3×3."""
    r = rotation.tolist()
    d = [r[0][0], r[1][1], r[2][2]]
    trace = d[0] + d[1] + d[2]
    k = max(range(3), key=d.__getitem__)
    if trace >= d[k]:
        q = [r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1], 1.0 + trace]
    else:
        j, m = (k + 1) % 3, (k + 2) % 3
        q = [0.0, 0.0, 0.0, r[m][j] - r[j][m]]
        q[k], q[j], q[m] = 1.0 + 2.0 * d[k] - trace, r[j][k] + r[k][j], r[m][k] + r[k][m]
    length = math.sqrt(sum(each * each for each in q))
    factor = -1.0 / length if q[3] < 0 else 1.0 / length
    return [factor * each for each in q]


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
