# SPDX-License-Identifier: Apache-2.0
"""What a calibration came to: numbers in metres, their covariance, and how far it can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array
from prism_vo.batch.adjust import Adjusted
from prism_vo.batch.covariance import grouped_covariance, through_points, variables_moved_by
from prism_vo.batch.numbers import COUNT, FOCAL, KAPPA, CameraNumbers, W
from prism_vo.batch.records import Rows
from prism_vo.camera_fit.facts import MetricFact, NoFact
from prism_vo.optics.calibration import Calibration

# what errors of the decoder that all slopes share may be (docs/decoding.md: mean errors of 0.3 to 2e-4)
SHARED_SLOPE_ERROR = 1e-4
DISTANCES = (1.0, 3.0, 10.0)  # m
GROUP_CELLS, DEPTH_CELLS = (
    5,
    2,
)  # parts of the scene across, down and in depth; errors within one hang together


@dataclass(frozen=True)
class CameraFit:
    """A calibrated camera. Covariances are of the numbers of :mod:`prism_vo.batch.numbers`."""

    calibration: Calibration  # with its uncertainty
    numbers: CameraNumbers  # metric where the fact is
    covariance: Array  # (COUNT, COUNT); κ's row is 0 where nothing is metric
    adjusted: Adjusted  # in the unit of the start
    factor: float  # metres per unit of the adjustment
    fact: MetricFact
    indices: list[int]  # frames of the recording
    start: Calibration
    stopped: KeyboardInterrupt | None = None  # somebody did not wait until the camera had come to rest

    @property
    def is_metric(self) -> bool:
        """Whether there was a metric fact."""
        return not isinstance(self.fact, NoFact)

    @property
    def sigma(self) -> Array:
        """Standard deviations of the numbers."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def optics_covariance(self) -> Array:
        """(3, 3) of f_L, b_L0, B, mm²."""
        jacobian = self.numbers.optics_jacobian()
        return np.asarray(jacobian @ self.covariance @ jacobian.T)

    def scale_sigma(self, depth: float) -> float:
        """Relative σ of a depth of so many metres: z = κ/(1/h − w_∞)."""
        by = np.zeros(COUNT)
        kappa = self.numbers.values[KAPPA]
        by[KAPPA], by[W] = 1.0 / kappa, depth / kappa
        return float(np.sqrt(by @ self.covariance @ by))

    @property
    def reprojection_rms(self) -> float:
        """Of the sightings, in raw px where a micro-image shows them: there a shift is smaller by the slope."""
        left, slope = self.adjusted.residuals[:, :2], self.adjusted.seen.slope
        known = np.isfinite(slope)
        return float(np.sqrt((left[known] ** 2 * slope[known, None] ** 2).mean()))


def covariance_of(found: Adjusted, fact: MetricFact) -> tuple[Array, float]:
    """(COUNT, COUNT) with κ as the fact makes it, and metres per unit."""
    variables = grouped_covariance(found, groups(found))
    for shared in (np.ones(len(found.seen)), found.seen.slope / np.nanmedian(found.seen.slope)):
        moved = variables_moved_by(found, SHARED_SLOPE_ERROR * shared)
        variables = variables + np.outer(moved, moved) / 2.0
    out = variables[:COUNT, :COUNT].copy()
    scale = fact.scale(found)
    kappa = float(found.state.camera.values[KAPPA]) * scale.factor
    if np.isfinite(scale.own_variance):
        through, alone = through_points(found, scale.by_variables, scale.by_points)
        along = variables[:COUNT] @ through * kappa
        out[KAPPA], out[:, KAPPA] = along, along
        out[KAPPA, KAPPA] = kappa**2 * (through @ variables @ through + alone + scale.own_variance)
    return out, scale.factor


def groups(found: Adjusted) -> Rows:
    """Points on one part of the scene share a group, whichever keyframe they are of: their errors hang together.

    Parts are cells of the view from the middle of the path, and of depth.
    """
    state = found.state
    middle = state.poses[len(state.poses) // 2]
    world = state.homogeneous
    there = world[:, :3] @ middle[:3, :3].T + world[:, 3:] * middle[:3, 3]
    ratio = there[:, :2] / np.maximum(there[:, 2:], 1e-6)
    depth = state.points[:, 2] / np.maximum(there[:, 2], 1e-6)
    cell = np.zeros(len(ratio), np.intp)
    for values, parts in ((ratio[:, 0], GROUP_CELLS), (ratio[:, 1], GROUP_CELLS), (depth, DEPTH_CELLS)):
        ends = np.percentile(values, np.linspace(0, 100, parts + 1)[1:-1])
        cell = cell * parts + np.searchsorted(ends, values)
    return cell


def weakest(covariance: Array, numbers: CameraNumbers) -> tuple[str, float]:
    """The number whose error costs most, in the words of :mod:`words`, and its part of the depth error at 3 m."""
    kappa, depth = numbers.values[KAPPA], DISTANCES[1]
    shares = {
        "w_infinity": np.sqrt(covariance[W, W]) * depth / kappa,
        "kappa": np.sqrt(covariance[KAPPA, KAPPA]) / kappa,
        "F": np.sqrt(covariance[FOCAL, FOCAL]) / numbers.values[FOCAL],
        "principal point": np.sqrt(np.trace(covariance[1:3, 1:3])) / numbers.values[FOCAL],
    }
    name = max(shares, key=lambda key: shares[key])
    return name, float(shares[name])


def correlation(covariance: Array) -> Array:
    """Correlations of a covariance; 0 where a number was held."""
    sigma = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    known = sigma > 0
    unit = np.where(known, 1.0 / np.where(known, sigma, 1.0), 0.0)
    return np.asarray(covariance * unit[:, None] * unit[None, :])
