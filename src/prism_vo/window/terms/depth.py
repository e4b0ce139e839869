# SPDX-License-Identifier: Apache-2.0
"""Unary residuals ρ_v(q) − ρ_v,meas of points with a plenoptic depth, in their host (docs/method.md, eq. 10)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array
from prism_vo.optics.camera import FocusedView
from prism_vo.points.records import Points
from prism_vo.window.state import State
from prism_vo.window.system import System

SLOPE_RATIOS = 0.8, 1.25  # measured over estimated stereo slope: what is farther apart is an outlier


@dataclass(frozen=True)
class DepthResiduals:
    """Residuals of N points and their derivatives, not yet weighted by η."""

    h: Array  # (N,) Σ w J²/σ²
    b: Array  # (N,)
    energy: float
    in_sigmas: Array  # (N,) residual in units of its σ; NaN without a measurement


@dataclass(frozen=True)
class DepthTerm:
    """η Σ ‖r_depth‖_γ / σ²: diagonal in the points, so the Schur structure stays."""

    view: FocusedView
    measured: Array  # (N,) ρ_v
    information: Array  # (N,) 1/σ²(ρ_v); 0 where there is no measurement
    weight: float  # η
    huber: float  # σ

    def linearize(self, state: State, system: System) -> float:
        """Adds to the points alone."""
        found = self.residuals(state.inv_depth)
        system.h_points += self.weight * found.h
        system.b_points += self.weight * found.b
        return self.weight * found.energy

    def residuals(self, inv_depth: Array) -> DepthResiduals:
        """Linearised at inverse depths (N,)."""
        has = self.information > 0
        root = np.sqrt(self.information)
        with np.errstate(invalid="ignore"):
            in_sigmas = np.where(has, (self.view.inv_virtual_depth(inv_depth) - self.measured) * root, 0.0)
        jac = np.where(has, self.view.inv_virtual_depth_slope(inv_depth) * root, 0.0)
        size = np.abs(in_sigmas)
        robust = np.where(size <= self.huber, 1.0, self.huber / np.maximum(size, self.huber))
        energy = float((robust * in_sigmas**2 * (2.0 - robust)).sum())
        return DepthResiduals(
            robust * jac**2, robust * jac * in_sigmas, energy, np.where(has, in_sigmas, np.nan)
        )


def information_at_estimate(view: FocusedView, points: Points, power: float) -> Array:
    """1/σ²(ρ_v) of depth measurements where their points are believed to be, not where they were measured.

    The number of lenses that see a point and their squared baselines both fall with the stereo slope as h⁻², so
    σ² ∝ h⁴ (``power``: of the sensor). A match that errs towards far calls itself less certain than one that errs
    towards near; weighted so, the near ones win, and the farther a scene the more it shrinks.
    """
    ratio = (view.alpha + view.beta * points.measured) * (view.w_infinity + view.kappa * points.inv_depth)
    trusted = points.information * np.clip(ratio, *SLOPE_RATIOS) ** power  # ratio of h = 1/w
    return np.where(points.information > 0, trusted, 0.0)
