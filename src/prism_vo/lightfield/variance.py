# SPDX-License-Identifier: Apache-2.0
"""How certain is a matched slope? From the residuals of the match, how alike neighbours are, and its curvature.

A match is the root of a score, a sum over the nodes of a window and the lenses of (gradient along the baseline) ×
(residual). Residuals have a variance s² (sensor noise, aliasing, interpolation, defocus), taken where the gradients
are that decide the match. With b' = db/dh, the curvature of the cost::

    σ²(h) = (s² · C/f + τ² |∇I|² N) · ω/b'                      σ(ρ_v) = σ(h)/β

- ω: a sum with weights w has the variance Σ w² where its curvature counts Σ w (:func:`rim_share`).
- C: neighbouring nodes repeat each other's errors. Residuals one node apart correlate by r, measured in the match
  itself but at least what blur and interpolation do to white noise; gradients one node apart correlate by cos θ across
  a texture with θ = 2π · node spacing/period, by 1 along it. C sums the products over the window (:func:`repeats`).
- f = θ/sin θ: differences over two nodes show the gradient of such a texture too flat by that; b' has both.
- τ: displacement of single micro-images (raw px), an error that all N nodes repeat which a lens shows of the window
  (:func:`nodes_of_a_lens`); measured in the images themselves (:mod:`~prism_vo.lightfield.displaced`).

θ comes from second differences: tan²(θ/2) is their energy over that of the gradients. Nothing here is fitted to errors
of depth. The noise (read and shot) is estimated from residuals without texture (:func:`fit_noise`); no s² is less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

from prism_vo.arrays import Array
from prism_vo.compiled import njit
from prism_vo.lightfield.raw import AT_PIXEL, BESIDE_PIXEL, BETWEEN_PIXELS
from prism_vo.lightfield.sample_steps import RIM

Floats = NDArray[np.floating]

FIT_ROUNDS = 12
LEAST_NOISE = 0.29  # grey levels of a raw pixel: what 8-bit quantisation alone leaves
LEAST_MATCHES = 20  # to measure anything from them
FINEST = 1.0  # tan²(θ/2) of four nodes a period: what is finer is not resolved
BEYOND_ANY_TENT, TENT_STEPS = 4.0, 1600  # px to each side of a sample and steps of the integral over them
AREA_STEPS = 1000  # of the integral over the area of a micro-image
LEAST_SHARE = 0.1  # of the median residual variance: no match is trusted more than ten of that size
LEAST_DEVIATION = 0.05  # of the expected variance: what fits better does not count more
LEAST_STEEPNESS = 1e-9  # grey²: divides where there is no gradient
LEAST_MEAN = 1e-12  # divides where a column of the fit is all zero
MOST_ALIKE = 0.98  # largest correlation of neighbouring residuals believed
SPREAD_POWER = 4.0  # σ²(h) ∝ h⁴: the lenses that see a point and their squared baselines fall with h² each


@dataclass(frozen=True)
class SampleNoise:
    """Variance of a sample without texture: read plus shot noise, as blur and devignetting leave them.

    And what noise is not: by how much single micro-images are displaced.
    """

    read: float  # grey²
    shot: float  # grey² per grey
    displaced: float = 0.0  # τ², raw px²

    def variance(self, grey: ArrayLike) -> Array:
        """At intensity ``grey`` (0–255)."""
        return self.read + self.shot * np.maximum(np.asarray(grey, dtype=np.float64), 0.0)


def pixel_correlation(distance: ArrayLike) -> Array:
    """Covariance of two bilinear samples of blurred white noise ``distance`` px apart on one axis, over all phases."""
    x = np.linspace(-BEYOND_ANY_TENT, BEYOND_ANY_TENT, TENT_STEPS + 1)
    here = _tent(x)
    shifted = [_tent(x - d) for d in np.atleast_1d(np.asarray(distance, dtype=np.float64))]
    return np.array([np.trapezoid(here * there, x) for there in shifted])


def _tent(x: Array) -> Array:
    """What a pixel at distance x gives to a sample: the spline at half-pixel steps, and straight between them."""
    return np.interp(np.abs(x), (0.0, 0.5, 1.0, 1.5), (AT_PIXEL, BETWEEN_PIXELS, BESIDE_PIXEL, 0.0))


@lru_cache(maxsize=8)
def rim_share(fall: float) -> float:
    """ω: Σ w² d² over Σ w d² over a micro-image with the transmission 1 − fall · q at q = r²/R²."""
    q = np.linspace(0.0, 1.0, AREA_STEPS + 1)
    weight = np.minimum(1.0, (1.0 - q) / RIM) * (1.0 - fall * q)
    return float(np.trapezoid(weight**2 * q, q) / np.trapezoid(weight * q, q))


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def flattened(fineness):  # type: ignore[no-untyped-def]
    """f = θ/sin θ, by which differences over two nodes are too flat, for a texture with tan²(θ/2) = ``fineness``."""
    t = min(max(fineness, np.float32(0.0)), np.float32(FINEST))
    # θ/sin θ = (1 + t) atan(√t)/√t, which the continued fraction gives to 2e-4
    above = np.float32(945.0) + t * (np.float32(735.0) + t * np.float32(64.0))
    below = np.float32(945.0) + t * (np.float32(1050.0) + t * np.float32(225.0))
    return (np.float32(1.0) + t) * above / below


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def repeats(fineness, alike, window):  # type: ignore[no-untyped-def]
    """C/f for a texture with tan²(θ/2) = ``fineness`` and residuals that correlate by ``alike`` one node apart.

    Residuals k nodes apart correlate by alike^(k²). Points lie anywhere between nodes: of the two outermost nodes of
    the window each counts with its share, which leaves (n − ⅓)/n of the squares.
    """
    one, two = np.float32(1.0), np.float32(2.0)
    side = np.float32(2 * window + 1)
    t = min(max(fineness, np.float32(0.0)), np.float32(FINEST))
    per = one / (one + t)
    cosine = (one - t) * per
    across = along = side - one / np.float32(3.0)
    before, wave = one, cosine
    square = alike * alike
    power, ratio = alike, alike * square
    for k in range(1, 2 * window + 1):
        pairs = two * (side - np.float32(k)) * power
        along += pairs
        across += pairs * wave
        before, wave = wave, two * cosine * wave - before  # cos kθ
        power, ratio = power * ratio, ratio * square  # alike^(k²)
    return along * across / (flattened(t) * side * side)


def fit_noise(grey: Floats, residual: Floats, texture: Floats) -> SampleNoise:
    """Noise from matches: residual variances extrapolated to no texture.

    ``texture``: curvature per degree of freedom, proportional to squared gradients, as is the error of the model.
    Robust: least absolute deviations of ``residual = read + shot · grey + c · texture``, all three ≥ 0.
    """
    floor = LEAST_NOISE**2 * float(pixel_correlation(0.0)[0]) ** 2
    good = np.isfinite(grey) & np.isfinite(residual) & np.isfinite(texture)
    if good.sum() < LEAST_MATCHES:
        return SampleNoise(floor, 0.0)
    x = np.stack([np.ones(good.sum()), np.maximum(grey[good], 0.0), np.maximum(texture[good], 0.0)], -1)
    y = np.maximum(residual[good], floor)  # the sag of a parabola may take off more than an exact image has
    scale = np.maximum(x.mean(0), LEAST_MEAN)
    weight = 1.0 / np.maximum(y, np.median(y) * LEAST_SHARE)  # a variance is known to a share of itself
    coefficients = np.zeros(3)
    for _ in range(FIT_ROUNDS):
        root = np.sqrt(weight)
        coefficients = nnls(x / scale * root[:, None], y * root)[0] / scale
        deviation = np.abs(y - x @ coefficients)
        expected = np.maximum(x @ coefficients, LEAST_SHARE * np.median(y))
        weight = 1.0 / (expected * np.maximum(deviation, LEAST_DEVIATION * expected))
    return SampleNoise(max(float(coefficients[0]), floor), float(coefficients[1]))


def slope_variance(curvature: Floats, errors: Floats, noise_share: Floats, share: float) -> Array:
    """σ²(h) of matches (all arrays of one shape); ``share``: ω, ``noise_share``: see :func:`noise_in_gradients`.

    ``errors``: variance of what a node contributes, times how often the window repeats it.
    """
    signal = np.maximum(1.0 - noise_share, 0.0)
    return np.asarray(errors * (share / (curvature * signal * signal)))


def nodes_of_a_lens(side: int, spacing: Floats, radius: float) -> Array:
    """N: how many of side² nodes, ``spacing`` px apart, a micro-image of ``radius`` shows if it shows any; a mean."""
    return np.asarray((side / (1.0 + 0.5 * side * spacing / radius)) ** 2)


def unskewed(slope: Floats, variance: Floats) -> Array:
    """Slopes h without the bias that noise gives to a root, 2 σ²/h towards far; ``variance``: σ²(h).

    The straightened score is h − h* + ε(h), and its noise grows with h as σ does. To second order the root is
    h* − ε + ε dε/dh, with the mean h* + ½ dσ²/dh.
    """
    return np.asarray(slope - 0.5 * SPREAD_POWER * variance / slope)


def noise_in_gradients(noise: Floats, steepness: Floats, redundancy: Floats) -> Array:
    """Share of the squared differences over two nodes that is noise: it adds to the curvature, but tells nothing.

    ``noise``: variance of a sample; a difference in x and one in y have four of them, over n lenses. ``redundancy``:
    n − 1 lenses a node.
    """
    return np.asarray(4.0 * noise / (np.maximum(steepness, LEAST_STEEPNESS) * (1.0 + redundancy)))
