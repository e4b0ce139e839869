# SPDX-License-Identifier: Apache-2.0
"""Metric scale of a semi-dense map from the light field, measured at each keyframe and filtered over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.baselines.depth_filter import DepthMap

CORRELATED = 50.0  # neighbouring depths share matching windows: so many count as one
FLOOR = 0.004  # σ of log scale that averaging cannot remove (calibration, matching bias)
DRIFT = 0.01  # σ of log scale gained from one keyframe to the next by tracking
MIN_POINTS = 100
MAX_RELATIVE_SIGMA = 0.5  # of a light-field depth that takes part


@dataclass(frozen=True)
class ScaleMeasurement:
    """log of (true inverse depth over the map's), and its variance."""

    log_scale: float
    variance: float


def measure_scale(carried: DepthMap, light_field: DepthMap) -> ScaleMeasurement | None:
    """Robust regression ``q_light_field = s · q_map``; None with too few common points.

    The regression is linear in the noisy light-field depth, points are chosen by the map's depth, not by the
    measured one, and the map's own noise is taken out: far scenes are pulled neither nearer nor farther.
    """
    both = carried.valid & light_field.valid & (carried.inv_depth > 0)
    q, measured = carried.inv_depth[both], light_field.inv_depth[both]
    sigma = np.sqrt(light_field.variance[both] + carried.variance[both])
    near = sigma < MAX_RELATIVE_SIGMA * q
    if near.sum() < MIN_POINTS:
        return None
    q, measured, sigma = q[near], measured[near], sigma[near]
    power = (
        q * q - carried.variance[both][near]
    )  # E[q²] holds the noise of q, which would pull the scale down
    weight = 1.0 / sigma**2
    for _ in range(10):
        total = float((weight * power).sum())
        scale = float((weight * q * measured).sum()) / total if total > 0 else 0.0
        if scale <= 0:
            return None
        residual = (measured - scale * q) / sigma
        weight = np.minimum(1.0, 2.0 / np.maximum(np.abs(residual), 1e-12)) / sigma**2
    information = total * scale**2 / CORRELATED
    return ScaleMeasurement(float(np.log(scale)), 1.0 / information + FLOOR**2)


@dataclass
class ScaleFilter:
    """Kalman filter on the log of the map's scale error; the correction it returns is applied at once."""

    variance: float = FLOOR**2

    def update(self, measurement: ScaleMeasurement | None) -> float:
        """Factor to apply to the map's inverse depth at a new keyframe."""
        self.variance += DRIFT**2
        if measurement is None:
            return 1.0
        gain = self.variance / (self.variance + measurement.variance)
        self.variance *= 1.0 - gain
        return float(np.exp(gain * measurement.log_scale))
