# SPDX-License-Identifier: Apache-2.0
"""Unary residuals ρ_v(q) − ρ_v,meas of points with a plenoptic depth, in their host (docs/method.md, eq. 10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from prism_vo.arrays import Array
from prism_vo.compiled import njit
from prism_vo.optics.camera import FocusedView
from prism_vo.optics.focus import FocusModel
from prism_vo.points.records import Points
from prism_vo.window.state import State
from prism_vo.window.system import System

SLOPE_RATIOS = 0.8, 1.25  # measured over estimated stereo slope: what is farther apart is an outlier
BESIDE_EDGE = 1.0 / 16.0  # of its information is left to a depth whose matching window shows two surfaces


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
        base, row = float(state.camera.base[-1]), state.size - 1
        first, now = _depths_of(focus.at(base)), _depths_of(focus.at(float(state.camera.value[-1])))
        given = state.inv_depth, self.information, found.in_sigmas, found.robust
        cross = system.h_cross[:, row]
        h, b = _differentiate_by_focus(*given, first, focus.slopes(base), now, self.weight, cross)
        system.h[row, row] += h
        system.b[row] += b

    def residuals(self, inv_depth: Array, shift: float = 0.0) -> DepthResiduals:
        """Linearised at inverse depths (N,) and a focus shift (mm)."""
        view = self.view if self.focus is None else self.focus.at(shift)
        h, b, in_sigmas, robust = np.empty((4, len(inv_depth)))
        given = inv_depth, self.measured, self.information
        energy = _compare(*given, _depths_of(view), float(self.huber), h, b, in_sigmas, robust)
        return DepthResiduals(h, b, float(energy), in_sigmas, robust)


class _Depths(NamedTuple):
    """ρ_v = (1/w − α)/β with w = w_∞ + κ q, as kernels take it."""

    w_infinity: float
    kappa: float
    alpha: float
    beta: float


def _depths_of(view: FocusedView) -> _Depths:
    return _Depths(float(view.w_infinity), float(view.kappa), float(view.alpha), float(view.beta))


@njit(nogil=True, cache=True, error_model="numpy")
def _compare(inv_depth, measured, information, view, huber, h, b, in_sigmas, robust):  # type: ignore[no-untyped-def]
    """Residuals and their derivatives; returns the energy. Without a measurement they are 0, and not in σ."""
    energy = 0.0
    for n in range(len(inv_depth)):
        h[n], b[n], in_sigmas[n], robust[n] = 0.0, 0.0, np.nan, 1.0
        if not information[n] > 0.0:
            continue
        w, root = view.w_infinity + view.kappa * inv_depth[n], np.sqrt(information[n])
        residual = ((1.0 / w - view.alpha) / view.beta - measured[n]) * root
        slope = -view.kappa / (view.beta * w * w) * root
        share = 1.0 if abs(residual) <= huber else huber / abs(residual)
        h[n], b[n], in_sigmas[n], robust[n] = share * slope * slope, share * slope * residual, residual, share
        energy += share * residual * residual * (2.0 - share)
    return energy


@njit(nogil=True, cache=True, error_model="numpy")
def _differentiate_by_focus(inv_depth, information, in_sigmas, robust, first, slopes, now, weight, cross):  # type: ignore[no-untyped-def]
    """Curvature and gradient of δ; adds its products with the inverse depths to ``cross`` (N,)."""
    h, b = 0.0, 0.0
    for n in range(len(inv_depth)):
        if not information[n] > 0.0:
            continue
        q, known = inv_depth[n], weight * robust[n] * information[n]
        w, w_now = first.w_infinity + first.kappa * q, now.w_infinity + now.kappa * q
        by_focus = -(slopes.w_infinity + slopes.kappa * q) / (first.beta * w * w)
        h += known * by_focus * by_focus
        b += weight * robust[n] * by_focus * in_sigmas[n] * np.sqrt(information[n])
        cross[n] += known * by_focus * (-now.kappa / (now.beta * w_now * w_now))
    return h, b


def information_at_estimate(view: FocusedView, points: Points, power: float) -> Array:
    """1/σ²(ρ_v) of depth measurements where their points are believed to be, not where they were measured.

    The number of lenses that see a point and their squared baselines both fall with the stereo slope as h⁻², so
    σ² ∝ h⁴ (``power``: of the sensor). A match that errs towards far calls itself less certain than one that errs
    towards near; weighted so, the near ones win, and the farther a scene the more it shrinks.
    Beside a depth edge a measured depth lies between two surfaces, one of which parallax sees.
    """
    ratio = (view.alpha + view.beta * points.measured) * (view.w_infinity + view.kappa * points.inv_depth)
    trusted = points.information * np.clip(ratio, *SLOPE_RATIOS) ** power  # ratio of h = 1/w
    trusted = np.where(points.beside_edge, BESIDE_EDGE * trusted, trusted)
    return np.where(points.information > 0, trusted, 0.0)
