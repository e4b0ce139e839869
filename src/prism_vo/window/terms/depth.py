# SPDX-License-Identifier: Apache-2.0
"""Unary residuals ρ_v(q) − ρ_v,meas of points with a plenoptic depth, in their host (docs/method.md, eq. 10)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array
from prism_vo.optics.camera import FocusedView
from prism_vo.optics.focus import FocusModel
from prism_vo.points.records import Candidates, Points
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
    robust: Array  # (N,) Huber's factor


@dataclass(frozen=True)
class DepthTerm:
    """η Σ ‖r_depth‖_γ / σ²: diagonal in the points, so the Schur structure stays.

    If the state has numbers of the camera the last one is the focus shift δ, and residuals depend on it, too.
    """

    view: FocusedView
    measured: Array  # (N,) ρ_v
    information: Array  # (N,) 1/σ²(ρ_v); 0 where there is no measurement
    weight: float  # η
    huber: float  # σ
    focus: FocusModel | None = None  # None: the focus is not estimated

    def linearize(self, state: State, system: System) -> float:
        """Adds to the points, and to the focus if it is estimated."""
        if self.focus is None:
            found = self.residuals(state.inv_depth)
        else:
            found = self.residuals(state.inv_depth, float(state.camera.value[-1]))
            self._add_focus(self.focus, state, system, found)
        system.h_points += self.weight * found.h
        system.b_points += self.weight * found.b
        return self.weight * found.energy

    def _add_focus(self, focus: FocusModel, state: State, system: System, found: DepthResiduals) -> None:
        """Blocks of δ, at its first estimate: ∂ρ_v/∂δ = −(w' + κ' q)/(β w²).

        The derivative by the depth is the one that the point's own block has: with another one, at another focus, the
        blocks of a residual would not be a square, and what is left of δ without the scale may be less than nothing.
        """
        base = float(state.camera.base[-1])
        view, (w_slope, kappa_slope) = focus.at(base), focus.slopes(base)
        w = view.w_infinity + view.kappa * state.inv_depth
        by_focus = -(w_slope + kappa_slope * state.inv_depth) / (view.beta * w * w)
        information = np.where(self.information > 0, self.weight * found.robust * self.information, 0.0)
        now = focus.at(float(state.camera.value[-1]))
        by_depth = now.inv_virtual_depth_slope(state.inv_depth)
        row = state.size - 1
        residual = np.nan_to_num(found.in_sigmas) * np.sqrt(np.maximum(self.information, 0.0))
        system.h[row, row] += float((information * by_focus**2).sum())
        system.b[row] += float((self.weight * found.robust * by_focus * residual).sum())
        system.h_cross[:, row] += information * by_focus * by_depth

    def residuals(self, inv_depth: Array, shift: float = 0.0) -> DepthResiduals:
        """Linearised at inverse depths (N,) and a focus shift (mm)."""
        view = self.view if self.focus is None else self.focus.at(shift)
        has = self.information > 0
        root = np.sqrt(self.information)
        with np.errstate(invalid="ignore"):
            in_sigmas = np.where(has, (view.inv_virtual_depth(inv_depth) - self.measured) * root, 0.0)
        jac = np.where(has, view.inv_virtual_depth_slope(inv_depth) * root, 0.0)
        size = np.abs(in_sigmas)
        robust = np.where(size <= self.huber, 1.0, self.huber / np.maximum(size, self.huber))
        energy = float((robust * in_sigmas**2 * (2.0 - robust)).sum())
        return DepthResiduals(
            robust * jac**2, robust * jac * in_sigmas, energy, np.where(has, in_sigmas, np.nan), robust
        )


def information_at_estimate(view: FocusedView, points: Points | Candidates, power: float) -> Array:
    """1/σ²(ρ_v) of depth measurements where their points are believed to be, not where they were measured.

    The number of lenses that see a point and their squared baselines both fall with the stereo slope as h⁻², so
    σ² ∝ h⁴ (``power``: of the sensor). A match that errs towards far calls itself less certain than one that errs
    towards near; weighted so, the near ones win, and the farther a scene the more it shrinks.
    """
    ratio = (view.alpha + view.beta * points.measured) * (view.w_infinity + view.kappa * points.inv_depth)
    trusted = points.information * np.clip(ratio, *SLOPE_RATIOS) ** power  # ratio of h = 1/w
    return np.where(points.information > 0, trusted, 0.0)
