# SPDX-License-Identifier: Apache-2.0
"""Random normal equations with the sparsity of a window, and their dense form."""

from __future__ import annotations

import numpy as np

from prism_vo.linear.schur import NormalEquations

KEYFRAME_UNITS = [300.0] * 3 + [900.0] * 3 + [80.0, 1.0]  # mixed, as in a window


def random_system(
    seed: int, frames: int = 3, points: int = 40, camera: int = 0
) -> tuple[NormalEquations, np.ndarray, np.ndarray]:
    """Normal equations of random residuals of keyframes, ``camera`` numbers and points; dense H and b of them."""
    rng = np.random.default_rng(seed)
    units = np.array(KEYFRAME_UNITS * frames + [50.0] * camera)
    k = len(units)
    h, b = np.zeros((k + points, k + points)), np.zeros(k + points)
    for n in range(points):
        jac = np.zeros((12, k + points))
        jac[:, :k] = rng.normal(size=(12, k)) * units
        jac[:, k + n] = rng.normal(size=12) * 200.0
        h += jac.T @ jac
        b += jac.T @ rng.normal(size=12)
    return NormalEquations(h[:k, :k], b[:k], h[k:, :k], np.diag(h)[k:], b[k:]), h, b


def as_dense(system: NormalEquations) -> tuple[np.ndarray, np.ndarray]:
    """H and b of all variables: those that are no points, then the points."""
    k = len(system.b)
    h = np.zeros((k + len(system.b_points),) * 2)
    h[:k, :k], h[k:, :k], h[:k, k:] = system.h, system.h_cross, system.h_cross.T
    h[np.arange(k, len(h)), np.arange(k, len(h))] = system.h_points
    return h, np.concatenate([system.b, system.b_points])


def dense_marginal(h: np.ndarray, b: np.ndarray, drop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Textbook Schur complement through the inverse of the dropped block, in scaled variables."""
    scale = 1.0 / np.sqrt(np.diag(h))
    h, b = h * np.outer(scale, scale), b * scale
    keep = ~drop
    gain = h[np.ix_(keep, drop)] @ np.linalg.inv(h[np.ix_(drop, drop)])
    reduced, gradient = h[np.ix_(keep, keep)] - gain @ h[np.ix_(drop, keep)], b[keep] - gain @ b[drop]
    return reduced / np.outer(scale[keep], scale[keep]), gradient / scale[keep]


def assert_same(
    ours: tuple[np.ndarray, np.ndarray], dense: tuple[np.ndarray, np.ndarray], full: np.ndarray
) -> None:
    """Equal to 1e-8 in units of the full system's own scale (``full``: its diagonal)."""
    root = np.sqrt(full)
    assert np.abs((ours[0] - dense[0]) / np.outer(root, root)).max() < 1e-8
    assert np.abs((ours[1] - dense[1]) / root).max() < 1e-8 * max(np.abs(dense[1] / root).max(), 1.0)
