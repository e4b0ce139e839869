# SPDX-License-Identifier: Apache-2.0
"""How well the window knows its poses and its scale, from the reduced Hessian."""

from __future__ import annotations

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Mask
from prism_vo.mapping.keyframe import Keyframe
from prism_vo.mapping.marginal import BLOCK


def pose_uncertainty(keyframes: list[Keyframe], h: Array, free: Mask, noise2: float) -> float:
    """Set each keyframe's 6×6 pose covariance; returns the relative σ of the scale (NaN if undetermined)."""
    inner = h[np.ix_(free, free)]
    if len(inner) == 0:
        return float("nan")
    scale = 1.0 / np.sqrt(np.maximum(np.diag(inner), 1e-30))
    try:
        inverse = np.linalg.inv(inner * scale[:, None] * scale[None, :]) * scale[:, None] * scale[None, :]
    except np.linalg.LinAlgError:
        return float("nan")
    covariance = np.zeros((len(free), len(free)))
    covariance[np.ix_(free, free)] = inverse * noise2
    for k, keyframe in enumerate(keyframes):
        keyframe.covariance = covariance[BLOCK * k : BLOCK * k + 6, BLOCK * k : BLOCK * k + 6]
    return _scale_sigma(keyframes, covariance)


def _scale_sigma(keyframes: list[Keyframe], covariance: Array) -> float:
    """σ of the log scale: the functional Σ d·δd / Σ d² over displacements d from the oldest keyframe."""
    poses = [se3.inverse(k.pose) for k in keyframes]
    origin = poses[0][:3, 3]
    weights = np.zeros(len(covariance))
    total = 0.0
    for k, pose in enumerate(poses):
        d = pose[:3, 3] - origin
        total += float(d @ d)
        # the centre −Rᵀt moves by −Rᵀ ξ_t under T ← exp(ξ)T; a rotation about the camera leaves it
        weights[BLOCK * k : BLOCK * k + 3] -= d @ pose[:3, :3]
        weights[0:3] += d @ poses[0][:3, :3]
    if total <= 0:
        return float("nan")
    variance = float(weights @ covariance @ weights)
    return float(np.sqrt(max(variance, 0.0)) / total)
