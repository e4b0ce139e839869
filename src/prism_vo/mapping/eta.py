# SPDX-License-Identifier: Apache-2.0
"""η, the weight of the depth terms against the photometric ones (docs/method.md, eq. 12)."""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Mask
from prism_vo.config import WindowConfig
from prism_vo.mapping.energy import Linearization
from prism_vo.mapping.points import Points


class EtaBalance:
    """Estimates the photometric variance σ_I² (the statistically consistent η0) and smooths η in the log domain.

    ``η ← exp((1−α) log η + α log η̂)``, ``η̂ = c Σ w‖∂r_photo/∂q‖² / Σ w‖∂r_depth/∂q‖²``, clamped to [η0/4, 4η0].
    """

    def __init__(self, config: WindowConfig) -> None:
        self.config = config
        self.noise2 = 16.0  # grey²
        self.eta = self.noise2 * config.eta_factor

    def update(self, last: Linearization, inside: Mask, points: Points) -> None:
        """After a solve: new σ_I², and one smoothing step of η if there is parallax and depth to compare."""
        if inside.sum() >= 50:
            mean_weight = float(points.weight.mean())
            # the median of a sum of 8 squares is close to its mean; the fixed weights of the pattern are divided out
            current = float(np.median(last.energies[inside])) / (8.0 * mean_weight)
            self.noise2 = float(np.exp(0.8 * np.log(self.noise2) + 0.2 * np.log(max(current, 0.25))))
        eta0 = self.noise2 * self.config.eta_factor
        if self.config.eta == "fixed":
            self.eta = eta0
            return
        both = (last.depth.h > 0) & (last.photometric_curvature > 0)
        photometric, depth = last.photometric_curvature[both].sum(), last.depth.h[both].sum()
        if both.sum() >= 50 and photometric > self.noise2 * depth:  # enough parallax to balance
            wanted = self.config.eta_balance * photometric / depth
            a = self.config.eta_smoothing
            self.eta = float(np.exp((1.0 - a) * np.log(self.eta) + a * np.log(wanted)))
        self.eta = float(np.clip(self.eta, eta0 / 4.0, 4.0 * eta0))
