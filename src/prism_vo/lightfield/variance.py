# SPDX-License-Identifier: Apache-2.0
"""How certain is a matched slope? From the noise of the sensor, the residuals of the match and its curvature.

A match carries the noise σ_n² of raw pixels and the error of the model (aliasing, interpolation, defocus). It sees
their sum as its residual variance s², taken where the gradients are that decide the match: model errors live there.
With the curvature ``b' = db/dh`` of the normal equation and the pitch ℓ of the nodes::

    σ²(h) = (α σ_n² + max(0, s² − κ σ_n²)) · max(1, 1/(ℓ h)²) / b'                 σ(ρ_v) = σ(h)/β

max(1, 1/(ℓ h)²) counts how often the window's sums repeat one raw pixel. κ (noise left in a sample) and α (noise in
the score) are not assumed but measured: the first frame is matched once more with known noise added to it
(:func:`propagation`). Then σ_n² follows from residuals without texture (:func:`fit_noise`). What residuals exceed it
by is model error; its nodes count as independent. Nothing is fitted to errors of depth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

Array = NDArray[np.float64]
Floats = NDArray[np.floating]

ADDED_NOISE = 1.0  # grey levels, standard deviation of the noise added on trial
FIT_ROUNDS = 12
LEAST_NOISE = 0.29  # grey levels: what 8-bit quantisation alone leaves
LEAST_MATCHES = 20  # to measure anything from them


@dataclass(frozen=True)
class Propagation:
    """What becomes of unit noise variance in raw pixels; the defaults serve a frame without matches."""

    sample: float = 0.2  # κ: residual variance
    score: float = 0.35  # α: variance of the score per curvature, with repeats counted


@dataclass(frozen=True)
class SensorNoise:
    """Variance of one devignetted raw pixel near a micro-image's centre: read noise plus shot noise."""

    read: float  # grey²
    shot: float  # grey² per grey
    propagation: Propagation = Propagation()

    def variance(self, grey: ArrayLike) -> Array:
        """At intensity ``grey`` (0–255)."""
        return self.read + self.shot * np.maximum(np.asarray(grey, dtype=np.float64), 0.0)


def propagation(
    slope: Floats, noisy_slope: Floats, residual: Floats, noisy_residual: Floats, information: Floats
) -> Propagation:
    """From the same points matched with and without ADDED_NOISE; ``information``: curvature per repeat."""
    good = np.isfinite(slope) & np.isfinite(noisy_slope) & (information > 0)
    if good.sum() < LEAST_MATCHES:
        return Propagation()
    unit = ADDED_NOISE**2
    score = (noisy_slope - slope)[good].astype(np.float64) ** 2 * information[good] / unit
    sample = (noisy_residual - residual)[good].astype(np.float64) / unit
    median_of_square = 0.4549  # of a unit normal variable
    return Propagation(
        max(float(np.median(sample)), 1e-3), max(float(np.median(score)) / median_of_square, 1e-3)
    )


def fit_noise(grey: Floats, residual: Floats, texture: Floats, spread: Propagation) -> SensorNoise:
    """Sensor noise from matches: residual variances extrapolated to no texture.

    ``texture``: curvature per degree of freedom, proportional to squared gradients, as is the error of the model.
    Robust: least absolute deviations of ``residual = read + shot · grey + c · texture``, all three ≥ 0.
    """
    floor = LEAST_NOISE**2
    good = np.isfinite(grey) & np.isfinite(residual) & np.isfinite(texture)
    if good.sum() < LEAST_MATCHES:
        return SensorNoise(floor, 0.0, spread)
    x = np.stack([np.ones(good.sum()), np.maximum(grey[good], 0.0), np.maximum(texture[good], 0.0)], -1)
    y = residual[good]
    scale = np.maximum(x.mean(0), 1e-12)
    weight = 1.0 / np.maximum(y, np.median(y) * 0.1)  # a variance is known to a share of itself
    coefficients = np.zeros(3)
    for _ in range(FIT_ROUNDS):
        root = np.sqrt(weight)
        coefficients = nnls(x / scale * root[:, None], y * root)[0] / scale
        deviation = np.abs(y - x @ coefficients)
        expected = np.maximum(x @ coefficients, 0.1 * np.median(y))
        weight = 1.0 / (expected * np.maximum(deviation, 0.05 * expected))
    read, shot = coefficients[:2] / spread.sample
    return SensorNoise(max(float(read), floor), float(shot), spread)


def repeats(slope: Floats, pitch: float) -> Array:
    """How often sums over nodes ``pitch`` apart count one raw pixel at this slope."""
    return np.asarray(np.maximum(1.0, 1.0 / (pitch * slope) ** 2))


def slope_variance(
    slope: Floats, curvature: Floats, residual: Floats, grey: Floats, pitch: float, noise: SensorNoise
) -> Array:
    """σ²(h) of matched slopes h (all arrays of one shape); ``residual``: where the gradients are."""
    sensor = noise.variance(grey)
    excess = np.maximum(residual - noise.propagation.sample * sensor, 0.0)
    spread = noise.propagation.score * sensor + excess
    return np.asarray(spread * repeats(slope, pitch) / curvature)
