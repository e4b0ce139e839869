# SPDX-License-Identifier: Apache-2.0
"""How certain is a matched slope? From the noise of the sensor, the residuals of the match and its curvature.

One sample of a micro-image carries sensor noise σ_n² (independent between raw pixels; bilinear sampling leaves
4/9 of it on average) and the error of the model: aliasing, interpolation, defocus. The match sees their sum as
its residual variance s². With the curvature ``b' = db/dh`` of the normal equation, the pitch ℓ of the nodes::

    σ²(h) = (α σ_n² + γ max(0, s² − 4/9 σ_n²)) · max(1, 1/(ℓ h)²) / b'             σ(ρ_v) = σ(h)/β

max(1, 1/(ℓ h)²) counts how often the window's sums repeat one raw pixel. α follows from the sampling kernel, the
weights and the vignetting (:func:`noise_share`). γ says how far model errors of neighbouring nodes agree. It is an
empirical constant: fitted per data set it ranged from 0.5 (defocus) to 2.5 (an aliased far scene) over an independent
recording and simulations of four scenes with two cameras; 1.3 lies in the middle and was chosen on those data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

Array = NDArray[np.float64]
Floats = NDArray[np.floating]

BILINEAR_NOISE = 4.0 / 9.0  # mean noise variance after bilinear sampling at a random phase
MODEL_ERROR_SHARE = 1.3  # γ
GRADIENT_CORRELATION = 0.33  # of neighbouring nodes, one raw pixel apart, in images resolved to the pixel
FIT_ROUNDS = 12
LEAST_NOISE = 0.29  # grey levels: what 8-bit quantisation alone leaves


@dataclass(frozen=True)
class SensorNoise:
    """Variance of one devignetted raw pixel near a micro-image's centre: read noise plus shot noise."""

    read: float  # grey²
    shot: float  # grey² per grey

    def variance(self, grey: ArrayLike) -> Array:
        """At intensity ``grey`` (0–255)."""
        return self.read + self.shot * np.maximum(np.asarray(grey, dtype=np.float64), 0.0)


def fit_noise(grey: Floats, residual: Floats, texture: Floats) -> SensorNoise:
    """Sensor noise from matches: residual variances extrapolated to no texture.

    ``texture``: curvature per degree of freedom, proportional to squared gradients, as is the error of the model.
    Robust: least absolute deviations of ``residual = read + shot · grey + c · texture``, all three ≥ 0.
    """
    floor = LEAST_NOISE**2
    good = np.isfinite(grey) & np.isfinite(residual) & np.isfinite(texture)
    if good.sum() < 20:
        return SensorNoise(floor, 0.0)
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
    read, shot = coefficients[:2] / BILINEAR_NOISE
    return SensorNoise(max(float(read), floor), float(shot))


def noise_share(fall: float, rim: float) -> float:
    """α: variance of the score per unit of sensor noise and curvature.

    Weights w = taper·V meet noise 1/V; neighbouring samples share raw pixels (bilinear kernel: autocorrelation
    2/3, 1/6) and their gradients agree by GRADIENT_CORRELATION.
    """
    q = (np.arange(256) + 0.5) / 256.0
    taper, transmission = np.minimum(1.0, (1.0 - q) / rim), 1.0 - fall * q
    weights = (taper * taper * transmission * q).sum() / (taper * transmission * q).sum()
    mean_noise = taper.sum() / (taper * transmission).sum()
    c = GRADIENT_CORRELATION
    kernel = 4.0 / 9.0 + 4.0 * (2.0 / 3.0) * (1.0 / 6.0) * c + 4.0 / 36.0 * c * c
    return float(kernel * weights / mean_noise)


def slope_variance(
    slope: Floats,
    curvature: Floats,
    residual: Floats,
    grey: Floats,
    pitch: float,
    noise: SensorNoise,
    share: float,
) -> Array:
    """σ²(h) of matched slopes h (all arrays of one shape); ``share``: α of :func:`noise_share`."""
    sensor = noise.variance(grey)
    excess = np.maximum(residual - BILINEAR_NOISE * sensor, 0.0)
    repeats = np.maximum(1.0, 1.0 / (pitch * slope) ** 2)
    return (share * sensor + MODEL_ERROR_SHARE * excess) * repeats / curvature
