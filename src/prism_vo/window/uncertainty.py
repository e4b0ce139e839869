# SPDX-License-Identifier: Apache-2.0
"""How well the window knows its poses, the camera and its scale, from the reduced Hessian."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Mask
from prism_vo.linear.scaling import inverse
from prism_vo.window.keyframe import BLOCK, POSE, Keyframe

OPTIMISM = 2.7  # standard deviations are so many times those of independent residuals
LEAST_SHARE = 1e-3  # of the information about the focus that must come from the images


@dataclass(frozen=True)
class Uncertainty:
    """Covariances of one window; what is fixed has none."""

    poses: Array  # (K, 6, 6), left tangents, m and rad
    camera: Array  # (C, C) of the camera's numbers
    scale: float  # relative, 1σ; NaN: not determined
    plain: Array  # (8K + C, 8K + C), all of it as the equations have it, before it is made honest


def uncertainty_of(
    keyframes: Sequence[Keyframe], h: Array, free: Mask, noise2: float, focus_sigma: float | None = None
) -> Uncertainty | None:
    """From the reduced Hessian (8K + C, 8K + C); ``noise2``: of the residuals. None if it is singular or empty.

    ``focus_sigma``: mm, of the focus, if that is the last variable.
    """
    inner = inverse(h[np.ix_(free, free)]) if free.any() else None
    if inner is None:
        return None
    covariance = np.zeros((len(free), len(free)))
    covariance[np.ix_(free, free)] = inner * noise2
    plain, covariance = covariance, honest(covariance, focus_sigma)
    rows = [slice(BLOCK * k, BLOCK * k + POSE) for k in range(len(keyframes))]
    camera = slice(BLOCK * len(keyframes), None)
    poses = np.array([covariance[r, r] for r in rows])
    return Uncertainty(poses, covariance[camera, camera], _scale_sigma(keyframes, covariance), plain)


def step_covariance(keyframes: Sequence[Keyframe], covariance: Array) -> Array | None:
    """(6, 6) of ``T_b a⁻¹`` of the last two keyframes: its left tangent is ξ_b − Ad ξ_a.

    ``covariance``: as the equations have it, because what residuals repeat, neighbouring keyframes have in common.
    """
    if len(keyframes) < 2:
        return None
    before, newest = (slice(BLOCK * k, BLOCK * k + POSE) for k in (len(keyframes) - 2, len(keyframes) - 1))
    ad = se3.adjoint(keyframes[-1].pose @ se3.inverse(keyframes[-2].pose))
    cross = covariance[newest, before] @ ad.T
    return np.asarray(covariance[newest, newest] - cross - cross.T + ad @ covariance[before, before] @ ad.T)


def honest(covariance: Array, focus_sigma: float | None = None) -> Array:
    """What is really known of the variables (M,), from the covariance that the equations give.

    All else repeats its errors (residuals of one patch, depths of one surface, one surface in many keyframes); the
    focus, the last variable if ``focus_sigma`` (mm) is given, is known as well as that, and the rest follows it.
    """
    if focus_sigma is None:
        return OPTIMISM**2 * covariance
    variance = covariance[-1, -1]
    follows = covariance[:, -1] / variance
    shared = np.outer(follows, follows)
    return OPTIMISM**2 * (covariance - variance * shared) + focus_sigma**2 * shared


def focus_estimate(
    reduced: tuple[Array, Array], free: Mask, shift: float, prior: float, noise2: float
) -> tuple[float, float] | None:
    """Focus shift and its σ (mm) as the images alone show them, from the reduced equations at the present ``shift``.

    The focus is their last variable, held or not; ``prior``: information of the camera file in them. None: the images
    show nothing.
    """
    h, b = reduced
    free = free.copy()
    free[-1] = True
    inner = inverse(h[np.ix_(free, free)])
    if inner is None:
        return None
    precision = 1.0 / inner[-1, -1]
    own = precision - prior
    if own < LEAST_SHARE * precision:
        return None
    with_prior = shift - float(inner[-1] @ b[free])
    return with_prior * precision / own, float(np.sqrt(noise2 / own))


def own_sigmas(h: Array, free: Mask, which: slice, prior: Array, noise2: float) -> Array | None:
    """Honest σ of some variables (N,) as the images alone show them; inf: not at all, None: nothing is known.

    ``free``: of all variables; ``prior`` (N,): information of the camera file in the reduced Hessian.
    """
    free = free.copy()
    free[which] = True
    inner = inverse(h[np.ix_(free, free)])
    if inner is None:
        return None
    precision = 1.0 / np.diag(inner)[np.cumsum(free)[which] - 1]
    own = precision - prior
    known = own > LEAST_SHARE * precision
    return np.where(known, OPTIMISM * np.sqrt(noise2 / np.where(known, own, 1.0)), np.inf)


def _scale_sigma(keyframes: Sequence[Keyframe], covariance: Array) -> float:
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
