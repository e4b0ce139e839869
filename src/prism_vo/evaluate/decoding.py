# SPDX-License-Identifier: Apache-2.0
"""How good is a decoded frame? Compared with exact depth and the noise-free image on the same grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import ndimage

from prism_vo.arrays import Array, Mask

MAD_TO_SIGMA = 1.4826
GROSS_SIGMAS, GROSS_ERROR = 5.0, 0.02
TEXTURE_GRADIENT = 8.0  # grey levels per pixel
EDGE_RATIO = 1.03  # neighbouring depths further apart than this lie on a depth edge
EDGE_MARGIN = 4  # px


@dataclass(frozen=True)
class DecodingMetrics:
    """Of inverse virtual depth over the textured pixels away from depth edges."""

    bias: float  # median(ρ_v − true)
    error: float  # 1.4826 · MAD
    gross: float  # share with |error| > 5σ and > 0.02
    coverage: float  # share of the textured pixels that have a valid depth
    honesty: float  # robust standard deviation of (ρ_v − true)/σ
    honesty_by_depth: tuple[float, float, float]  # near, middle, far third of the true depths
    count: int  # pixels compared


def decoding_metrics(
    inv_virtual_depth: ArrayLike,
    variance: ArrayLike,
    true_inv_virtual_depth: ArrayLike,
    true_depth: ArrayLike,
    reference: ArrayLike,
) -> DecodingMetrics:
    """All arguments (h, w) on one TF grid; invalid estimates are NaN."""
    estimate, var = np.asarray(inv_virtual_depth, float), np.asarray(variance, float)
    truth, depth = np.asarray(true_inv_virtual_depth, float), np.asarray(true_depth, float)
    textured = (gradient_magnitude(reference) >= TEXTURE_GRADIENT) & ~near_depth_edge(depth)
    valid = textured & np.isfinite(estimate) & np.isfinite(var) & (var > 0) & np.isfinite(truth)
    deviation = (estimate - truth)[valid]
    if len(deviation) == 0:
        return DecodingMetrics(np.nan, np.nan, np.nan, 0.0, np.nan, (np.nan, np.nan, np.nan), 0)
    sigma = np.sqrt(var[valid])
    normalised = deviation / sigma
    gross = (np.abs(normalised) > GROSS_SIGMAS) & (np.abs(deviation) > GROSS_ERROR)
    bounds = np.quantile(truth[valid], [1 / 3, 2 / 3])
    third = np.digitize(truth[valid], bounds)
    near, middle, far = (robust_std(normalised[third == i]) for i in range(3))
    return DecodingMetrics(
        bias=float(np.median(deviation)),
        error=robust_std(deviation),
        gross=float(gross.mean()),
        coverage=float(valid.sum() / textured.sum()),
        honesty=robust_std(normalised),
        honesty_by_depth=(near, middle, far),
        count=len(deviation),
    )


def robust_std(values: ArrayLike) -> float:
    """1.4826 · median absolute deviation from the median."""
    x = np.asarray(values, float)
    return float(MAD_TO_SIGMA * np.median(np.abs(x - np.median(x)))) if x.size else float("nan")


def gradient_magnitude(image: ArrayLike) -> Array:
    """Grey levels per pixel: Gaussian σ 1, Sobel/8."""
    smooth = ndimage.gaussian_filter(np.asarray(image, float), 1.0, mode="nearest")
    gx, gy = (ndimage.sobel(smooth, axis, mode="nearest") / 8.0 for axis in (1, 0))
    return np.hypot(gx, gy)


def near_depth_edge(depth: ArrayLike, margin: int = EDGE_MARGIN) -> Mask:
    """Pixels within ``margin`` of a jump of depth (or of a pixel without depth)."""
    z = np.asarray(depth, float)
    z = np.where(np.isfinite(z), z, 1e9)
    ratio = ndimage.maximum_filter(z, 3, mode="nearest") / ndimage.minimum_filter(z, 3, mode="nearest")
    size = 2 * margin + 1
    return ndimage.maximum_filter(ratio > EDGE_RATIO, size, mode="nearest")


def psnr(image: ArrayLike, reference: ArrayLike) -> float:
    """Peak signal to noise ratio in dB for grey levels 0–255."""
    mse = float(np.mean((np.asarray(image, float) - np.asarray(reference, float)) ** 2))
    return float("inf") if mse == 0 else 10.0 * np.log10(255.0**2 / mse)
