# SPDX-License-Identifier: Apache-2.0
"""Rigid motions in stacks (N, 4, 4): logarithm, exponential, adjoint and Jacobians of the exponential map.

Tangents are ordered (translation, rotation), as in ``prism_vo.se3``, whose functions these are for many at once.
"""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Array

SMALL = 0.05  # rad, below which series take the place of differences that cancel


def hats(w: Array) -> Array:
    """(N, 3) → skew matrices (N, 3, 3)."""
    out = np.zeros((len(w), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -w[:, 2], w[:, 1], -w[:, 0]
    return out - out.transpose(0, 2, 1)


def inverses(t: Array) -> Array:
    """Inverse motions."""
    out = np.zeros_like(t)
    out[:, :3, :3] = t[:, :3, :3].transpose(0, 2, 1)
    out[:, :3, 3] = -np.einsum("nij,nj->ni", out[:, :3, :3], t[:, :3, 3])
    out[:, 3, 3] = 1.0
    return out


def adjoints(t: Array) -> Array:
    """(N, 6, 6): ``T exp(ξ) T⁻¹ = exp(Ad_T ξ)``."""
    r = t[:, :3, :3]
    out = np.zeros((len(t), 6, 6))
    out[:, :3, :3] = out[:, 3:, 3:] = r
    out[:, :3, 3:] = hats(t[:, :3, 3]) @ r
    return out


def brackets(xi: Array) -> Array:
    """(N, 6, 6): ``ad_ξ η = [ξ, η]``."""
    out = np.zeros((len(xi), 6, 6))
    out[:, :3, :3] = out[:, 3:, 3:] = hats(xi[:, 3:])
    out[:, :3, 3:] = hats(xi[:, :3])
    return out


def _turns(w: Array) -> tuple[Array, Array, Array]:
    """``sin θ/θ``, ``(1 − cos θ)/θ²``, ``(θ − sin θ)/θ³``."""
    theta = np.linalg.norm(w, axis=1)
    x, safe = theta**2, np.maximum(theta, SMALL)
    small = theta < SMALL
    sine = np.where(small, 1 - x / 6 * (1 - x / 20 * (1 - x / 42)), np.sin(safe) / safe)
    cosine = np.where(small, 0.5 - x / 24 * (1 - x / 30 * (1 - x / 56)), (1 - np.cos(safe)) / safe**2)
    cubic = np.where(small, 1 / 6 - x / 120 * (1 - x / 42 * (1 - x / 72)), (safe - np.sin(safe)) / safe**3)
    return sine, cosine, cubic


def exps(xi: Array) -> Array:
    """Tangents (N, 6) → motions (N, 4, 4)."""
    k = hats(xi[:, 3:])
    kk = k @ k
    sine, cosine, cubic = (c[:, None, None] for c in _turns(xi[:, 3:]))
    out = np.zeros((len(xi), 4, 4))
    out[:, :3, :3] = np.eye(3) + sine * k + cosine * kk
    out[:, :3, 3] = np.einsum("nij,nj->ni", np.eye(3) + cosine * k + cubic * kk, xi[:, :3])
    out[:, 3, 3] = 1.0
    return out


def logs(t: Array) -> Array:
    """Motions (N, 4, 4), rotations below π → tangents (N, 6)."""
    r = t[:, :3, :3]
    axis = np.stack([r[:, 2, 1] - r[:, 1, 2], r[:, 0, 2] - r[:, 2, 0], r[:, 1, 0] - r[:, 0, 1]], -1)
    sine = 0.5 * np.linalg.norm(axis, axis=1)
    theta = np.arctan2(sine, 0.5 * (np.trace(r, axis1=1, axis2=2) - 1.0))
    factor = np.where(sine > 1e-6, 0.5 * theta / np.maximum(sine, 1e-6), 0.5 + sine**2 / 12)
    w = axis * factor[:, None]
    k = hats(w)
    _, cosine, cubic = (c[:, None, None] for c in _turns(w))
    v = np.linalg.solve(np.eye(3) + cosine * k + cubic * k @ k, t[:, :3, 3:])[..., 0]
    return np.concatenate([v, w], 1)


def left_jacobians(xi: Array) -> Array:
    """(N, 6, 6): ``exp(ξ + δ) ≈ exp(J δ) exp(ξ)``, in powers of ad_ξ (which has the minimal polynomial of its
    rotation, squared)."""
    theta = np.linalg.norm(xi[:, 3:], axis=1)
    x, t = theta**2, np.maximum(theta, SMALL)
    s, c = np.sin(t), np.cos(t)
    small = theta < SMALL
    exact = (
        (4 - t * s - 4 * c) / (2 * t**2),
        (4 * t - 5 * s + t * c) / (2 * t**3),
        (2 - t * s - 2 * c) / (2 * t**4),
        (2 * t - 3 * s + t * c) / (2 * t**5),
    )
    series = (0.5 - x**2 / 720, 1 / 6 - x**2 / 5040, 1 / 24 - x / 360, 1 / 120 - x / 2520)
    ad = brackets(xi)
    power, out = ad, np.broadcast_to(np.eye(6), ad.shape).copy()
    for near, far in zip(series, exact):
        out += np.where(small, near, far)[:, None, None] * power
        power = power @ ad
    return out
