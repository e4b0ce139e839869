# SPDX-License-Identifier: Apache-2.0
"""Do measured depth and parallax agree? Seen over points, v_n is a straight line in the inverse depth.

On a focused view ``w = w_∞ + κ q`` (docs/camera-model.md): the decoder measures w, parallax knows q up to a factor. The
intercept of the line through both has no scale, so it shows whether the camera file has the focus that the images were
taken with. Depth terms pull q towards the file's line; their pull is taken back here to first order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array
from prism_vo.points.pattern import IN
from prism_vo.points.records import Points
from prism_vo.window.contents import WindowContents

LEAST_POINTS = 150
LEAST_KEYFRAMES = 3  # beside its host that a point is seen in … and so in the window
LARGEST_RELATIVE_SIGMA = 0.08  # of q from parallax: beyond it the error is not Gaussian in q
HUBER = 2.0  # σ
ITERATIONS = 6


@dataclass(frozen=True)
class DepthAgreement:
    """The line that measured depths of one window lie on, and that of the camera file."""

    intercept: float  # w_∞ as the points show it
    intercept_sigma: float
    expected_intercept: float  # w_∞ of the camera file
    slope_ratio: float  # κ as the points show it over that of the camera file, at the window's scale
    slope_ratio_sigma: float
    spread: float  # robust standard deviation of the points about their line, in units of their own σ
    points: int
    median_inv_depth: float  # 1/m

    @property
    def excess(self) -> float:
        """Found less expected intercept."""
        return self.intercept - self.expected_intercept


@dataclass(frozen=True)
class _Observations:
    """N points: inverse depth from parallax, w from the decoder, and their σ."""

    q: Array
    w: Array
    q_sigma: Array
    w_sigma: Array


def depth_agreement(window: WindowContents) -> DepthAgreement | None:
    """Fit the line to the active points of a window; None: too few of them know both."""
    if len(window.keyframes) <= LEAST_KEYFRAMES:
        return None
    seen = _observations(window)
    return _fit(window, seen) if len(seen.q) >= LEAST_POINTS else None


def _observations(window: WindowContents) -> _Observations:
    view, p = window.view, _with_parallax(window.points)
    shared = (p.residual_status == IN).sum(
        1
    )  # all residuals of a point share one host patch, so they count once
    q_sigma = np.sqrt(window.balance.noise2 * shared / p.photometric_curvature)
    depth, q = window.depth(p), p.inv_depth
    if depth is not None:  # at the minimum the slopes of both kinds of residuals cancel
        q = q + depth.weight * depth.residuals(q, window.focus_shift).b / p.photometric_curvature
    w = 1.0 / (view.alpha + view.beta * p.measured)
    w_sigma = view.beta * w * w / np.sqrt(window.depth_information(p))
    usable = (q > 0) & (q_sigma < LARGEST_RELATIVE_SIGMA * q)
    return _Observations(q[usable], w[usable], q_sigma[usable], w_sigma[usable])


def _with_parallax(points: Points) -> Points:
    """Points with a depth measurement that at least two other keyframes see."""
    seen = (points.residual_status == IN).sum(1) >= LEAST_KEYFRAMES - 1
    return points.take(seen & (points.information > 0) & (points.photometric_curvature > 0))


def _fit(window: WindowContents, seen: _Observations) -> DepthAgreement:
    """Straight line with errors in both variables, robust against outliers."""
    view = window.view
    intercept, slope = view.w_infinity, view.kappa
    h, residual = np.eye(2), np.zeros(0)
    for _ in range(ITERATIONS):
        variance = seen.w_sigma**2 + (slope * seen.q_sigma) ** 2
        residual = (seen.w - intercept - slope * seen.q) / np.sqrt(variance)
        weight = np.minimum(1.0, HUBER / np.maximum(np.abs(residual), HUBER)) / variance
        # the most likely q given both measurements: with the noisy one the slope would come out too flat
        q = seen.q + slope * seen.q_sigma**2 * (seen.w - intercept - slope * seen.q) / variance
        rows = np.stack([np.ones(len(q)), q])
        h = (rows * weight) @ rows.T
        intercept, slope = np.linalg.solve(h, (rows * weight) @ seen.w)
    sigma = np.sqrt(np.diag(np.linalg.inv(h)))
    return DepthAgreement(
        float(intercept),
        float(sigma[0]),
        window.focus.view.w_infinity,
        float(slope / view.kappa),
        float(sigma[1] / view.kappa),
        float(1.4826 * np.median(np.abs(residual))),
        len(seen.q),
        float(np.median(seen.q)),
    )
