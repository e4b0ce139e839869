# SPDX-License-Identifier: Apache-2.0
"""η, the weight of the depth terms against the photometric ones (docs/method.md, eq. 12)."""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Array
from prism_vo.config import WindowConfig
from prism_vo.points.pattern import IN
from prism_vo.points.records import Points
from prism_vo.window.system import Residuals

LEAST_COUNT = 50  # residuals, and points with both kinds of information, below which nothing is learnt
FIRST_NOISE2 = 16.0  # grey², before anything is learnt
LEAST_NOISE2 = 0.25  # grey²: a noise-free image is still interpolated
NOISE_SMOOTHING = 0.2  # weight of a new estimate of the noise, in the log domain
WIDEST = 4.0  # η stays within this factor of the statistically consistent value


class EtaBalance:
    """Estimates the photometric variance σ_I² (the statistically consistent η0) and smooths η in the log domain.

    ``η ← exp((1−α) log η + α log η̂)``, ``η̂ = c Σ w‖∂r_photo/∂q‖² / Σ w‖∂r_depth/∂q‖²``, clamped to [η0/4, 4η0].
    """

    def __init__(self, config: WindowConfig) -> None:
        self.config = config
        self.noise2 = FIRST_NOISE2
        self.eta = self.noise2 * config.eta_factor

    def update(self, residuals: Residuals, points: Points, depth_curvature: Array | None) -> None:
        """After a solve: new σ_I², and one smoothing step of η if there is parallax and depth to compare.

        ``depth_curvature`` (N,): of the depth residuals, not weighted by η; None: there are none.
        """
        inside = residuals.status == IN
        if inside.sum() >= LEAST_COUNT:
            mean_weight = float(points.weight.mean())
            # the median of a sum of 8 squares is close to its mean; the fixed weights of the pattern are divided out
            current = float(np.median(residuals.energy[inside])) / (8.0 * mean_weight)
            before, now = np.log(self.noise2), np.log(max(current, LEAST_NOISE2))
            self.noise2 = float(np.exp((1.0 - NOISE_SMOOTHING) * before + NOISE_SMOOTHING * now))
        if depth_curvature is not None:
            self._follow(residuals.curvature, depth_curvature)

    def _follow(self, photometric_curvature: Array, depth_curvature: Array) -> None:
        eta0 = self.noise2 * self.config.eta_factor
        if self.config.eta == "fixed":
            self.eta = eta0
            return
        both = (depth_curvature > 0) & (photometric_curvature > 0)
        photometric, depth = photometric_curvature[both].sum(), depth_curvature[both].sum()
        if both.sum() >= LEAST_COUNT and photometric > self.noise2 * depth:  # enough parallax to balance
            wanted = self.config.eta_balance * photometric / depth
            a = self.config.eta_smoothing
            self.eta = float(np.exp((1.0 - a) * np.log(self.eta) + a * np.log(wanted)))
        self.eta = float(np.clip(self.eta, eta0 / WIDEST, WIDEST * eta0))
