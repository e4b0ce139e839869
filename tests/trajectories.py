# SPDX-License-Identifier: Apache-2.0
"""Made-up trajectories the evaluation tests share."""

from __future__ import annotations

import numpy as np

from prism_vo import se3
from prism_vo.evaluate.association import PoseSeries
from prism_vo.evaluate.metrics import apply_similarity


def loop_poses(count: int = 200, radius: float = 2.0) -> PoseSeries:
    """A bumpy loop that looks along its tangent."""
    angle = np.linspace(0, 2 * np.pi, count)
    poses = np.stack([se3.exp(np.array([0, 0, 0, 0.2 * np.sin(3 * a), a, 0.1 * np.cos(a)])) for a in angle])
    poses[:, :3, 3] = radius * np.stack([np.cos(angle), 0.1 * np.sin(5 * angle), np.sin(angle)], 1)
    return PoseSeries(0.1 * np.arange(count), poses)


def disturbed(truth: PoseSeries, seed: int, similarity: se3.Similarity, noise: float = 0.02) -> PoseSeries:
    rng = np.random.default_rng(seed)
    noisy = np.stack([p @ se3.exp(rng.normal(0, noise, 6)) for p in truth.poses])
    return PoseSeries(truth.times, apply_similarity(similarity, noisy))


def random_similarity(seed: int, scale: float) -> se3.Similarity:
    rng = np.random.default_rng(seed)
    return se3.Similarity(scale, se3.so3_exp(rng.normal(0, 1, 3)), rng.normal(0, 3, 3))
