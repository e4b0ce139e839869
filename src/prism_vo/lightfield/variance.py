# SPDX-License-Identifier: Apache-2.0
"""How certain is a matched slope? From the noise of the sensor, the residuals of the match and its curvature.

One sample of a micro-image carries sensor noise σ_n² (independent between raw pixels; bilinear sampling leaves
4/9 of it on average) and the error of the model: aliasing, interpolation, defocus. The match sees their sum as
its residual variance s². Samples lie ``ℓ h`` raw pixels apart (ℓ: pitch of the nodes), so window sums repeat each raw pixel
1/(ℓ h)² times; with the curvature ``b' = db/dh`` of the normal equation::

    σ²(h) = (σ_n² + max(0, s² − 4/9 σ_n²)) · max(1, 1/(ℓ h)²) / b'             σ(ρ_v) = σ(h)/β
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

BILINEAR_NOISE = 4.0 / 9.0  # mean noise variance after bilinear sampling at a random phase
BINS = 8
LEAST_NOISE = 0.29  # grey levels: what 8-bit quantisation alone leaves


@dataclass(frozen=True)
class SensorNoise:
    """Variance of one devignetted raw pixel near a micro-image's centre: read noise plus shot noise."""

    read: float  # grey²
    shot: float  # grey² per grey

    def variance(self, grey: ArrayLike) -> Array:
        """At intensity ``grey`` (0–255)."""
        return self.read + self.shot * np.maximum(np.asarray(grey, dtype=np.float64), 0.0)


def fit_noise(grey: Array, residual: Array, flatness: Array) -> SensorNoise:
    """Sensor noise from matches: in each brightness bin, the residuals of the flattest third (no model error)."""
    order = np.argsort(grey, kind="stable")
    levels, variances = [], []
    for part in np.array_split(order, BINS):
        if len(part) < 6:
            continue
        flat = part[np.argsort(flatness[part], kind="stable")[: max(3, len(part) // 3)]]
        levels.append(np.median(grey[flat]))
        variances.append(np.median(residual[flat]) / BILINEAR_NOISE)
    floor = LEAST_NOISE**2
    if not levels:
        return SensorNoise(floor, 0.0)
    x, y = np.array(levels), np.maximum(np.array(variances), floor)
    spread = x - x.mean()
    slope = float(
        np.clip((spread * y).sum() / max((spread * spread).sum(), 1e-9), 0.0, y.min() / max(x.min(), 1.0))
    )
    return SensorNoise(max(float(np.median(y - slope * x)), floor), slope)


def slope_variance(
    slope: Array, curvature: Array, residual: Array, grey: Array, pitch: float, noise: SensorNoise
) -> Array:
    """σ²(h) of matched slopes h (all arguments of one shape)."""
    sensor = noise.variance(grey)
    excess = np.maximum(residual - BILINEAR_NOISE * sensor, 0.0)
    repeats = np.maximum(1.0, 1.0 / (pitch * slope) ** 2)
    return (sensor + excess) * repeats / curvature
