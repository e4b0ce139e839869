# SPDX-License-Identifier: Apache-2.0
"""Do measured depth and parallax agree? Seen over points, v_n is a straight line in the inverse depth.

On a focused view ``w = w_∞ + κ q`` (docs/camera-model.md): the decoder measures w, parallax knows q up to a factor. The
intercept of the line through both has no scale, so it shows whether the camera file has the focus that the images were
taken with. Depth terms pull q towards the file's line; their pull is taken back here to first order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from prism_vo.arrays import Array, Integers
from prism_vo.optics.view import FocusedView
from prism_vo.points.pattern import IN
from prism_vo.points.records import Points
from prism_vo.window.contents import WindowContents

LEAST_POINTS = 60
LEAST_KEYFRAMES = 3  # beside its host that a point is seen in … and so in the window
LARGEST_RELATIVE_SIGMA = 0.08  # of q from parallax: beyond it the error is not Gaussian in q
LARGEST_STEP = 0.5  # of the logarithm of a factor
LARGEST_FACTOR = 5.0  # by which a wrong focus may have changed distances
HUBER = 2.0  # σ
ITERATIONS = 6
# what a decoder bias of 1e-4 does to the intercept of a scene with little depth (seen with exact cameras: up to 0.005)
SYSTEMATIC = 0.003
SYSTEMATIC_SLOPE = 0.05  # relative; rooms with exact cameras: 0.08 in the middle of a run
CONTRADICTED = 1.0  # σ of the slope that speak against a focus, if they were fewer without it


@dataclass(frozen=True)
class DepthAgreement:
    """The line that measured depths of one window lie on, and that of the camera file."""

    intercept: float  # w_∞ as the points show it
    intercept_sigma: float
    expected_intercept: float  # w_∞ of the camera file
    slope_ratio: float  # κ as the points show it over the present one, at the window's scale
    slope_ratio_sigma: float
    spread: float  # robust standard deviation of the points about their line, in units of their own σ
    points: int
    median_inv_depth: float  # 1/m

    @property
    def excess(self) -> float:
        """Found less expected intercept."""
        return self.intercept - self.expected_intercept

    @property
    def slope_excess(self) -> float:
        """σ by which lengths by parallax differ from measured ones, by a factor."""
        return float((self.slope_ratio - 1.0) / np.hypot(self.slope_ratio_sigma, SYSTEMATIC_SLOPE))


def lengths_would_agree(window: WindowContents, view: FocusedView) -> bool:
    """Whether, with another focus, lengths by parallax and by depth agree as they should, or at least not worse.

    With the right one they do (files wrong by 10 µm: 0.1 to 9 σ before, 0.0 to 0.8 after it was found). One that is
    found where hardly anything is known, before a wall, changes distances by a factor that their differences belie.
    """
    now = depth_agreement(window)
    if now is None:
        return True
    factor = _factor(window, view)
    if factor is None:
        return False
    then = replace(
        now, slope_ratio=factor * now.slope_ratio, slope_ratio_sigma=factor * now.slope_ratio_sigma
    )
    return abs(then.slope_excess) <= max(CONTRADICTED, abs(now.slope_excess))


def most_certain(found: Sequence[DepthAgreement]) -> list[DepthAgreement]:
    """Those about as certain as the most certain one."""
    limit = 2.0 * min(a.intercept_sigma for a in found)
    return [a for a in found if a.intercept_sigma <= limit]


def middle_excess(found: Sequence[DepthAgreement]) -> tuple[float, float]:
    """Of several windows: found less expected intercept, and its σ."""
    best = most_certain(found)
    excess = float(np.median([a.excess for a in best]))
    return excess, float(np.hypot(np.median([a.intercept_sigma for a in best]), SYSTEMATIC))


@dataclass(frozen=True)
class Observations:
    """N points: inverse depth from parallax, measured ρ_v, and their variances."""

    keyframe: Integers  # ids of their hosts
    q: Array
    rho: Array
    q_variance: Array
    rho_variance: Array


def depth_agreement(window: WindowContents, first: int = 0) -> DepthAgreement | None:
    """Fit the line to the active points of the keyframes with ids from ``first`` on; None: too few know both."""
    if len(window.keyframes) <= LEAST_KEYFRAMES:
        return None
    seen = observations(window, first)
    return _fit(window, seen) if len(seen.q) >= LEAST_POINTS else None


def observations(window: WindowContents, first: int) -> Observations:
    """What both parallax and the decoder know of the active points of the keyframes with ids from ``first`` on."""
    p = _with_parallax(window, first)
    # all residuals of a point share one host patch, so they count once
    shared = (p.residual_status == IN).sum(1)
    q_variance = window.balance.noise2 * shared / p.photometric_curvature
    depth, q = window.depth(p), p.inv_depth
    if depth is not None:  # at the minimum the slopes of both kinds of residuals cancel
        q = q + depth.weight * depth.residuals(q, window.focus_shift).b / p.photometric_curvature
    usable = (q > 0) & (q_variance < (LARGEST_RELATIVE_SIGMA * q) ** 2)
    rho_variance = 1.0 / window.depth_information(p)
    ids = np.array([k.id for k in window.keyframes], np.int32)[p.host]
    return Observations(ids[usable], q[usable], p.measured[usable], q_variance[usable], rho_variance[usable])


def _with_parallax(window: WindowContents, first: int) -> Points:
    """Points with a depth measurement that at least two other keyframes see."""
    points = window.points
    recent = np.array([k.id >= first for k in window.keyframes])[points.host]
    seen = (points.residual_status == IN).sum(1) >= LEAST_KEYFRAMES - 1
    return points.take(recent & seen & (points.information > 0) & (points.photometric_curvature > 0))


def _fit(window: WindowContents, seen: Observations) -> DepthAgreement:
    """Straight line with errors in both variables, robust; residuals are those of ρ_v, whose errors are even."""
    view = window.view
    line = np.array([view.w_infinity, view.kappa])
    h, residual = np.eye(2), np.zeros(0)
    for _ in range(ITERATIONS):
        now = replace(view, w_infinity=line[0], kappa=line[1])
        difference, slope = seen.rho - now.inv_virtual_depth(seen.q), now.inv_virtual_depth_slope(seen.q)
        variance = seen.rho_variance + slope**2 * seen.q_variance
        residual = difference / np.sqrt(variance)
        weight = np.minimum(1.0, HUBER / np.maximum(np.abs(residual), HUBER)) / variance
        # the most likely q given both measurements: with the noisy one the slope would come out too flat
        q = seen.q + slope * seen.q_variance * difference / variance
        rows = np.stack([np.ones(len(q)), q]) / (-now.beta * (line[0] + line[1] * q) ** 2)
        h = (rows * weight) @ rows.T
        line = line + np.linalg.solve(h, (rows * weight) @ difference)
    sigma = np.sqrt(np.diag(np.linalg.inv(h)))
    return DepthAgreement(
        float(line[0]),
        float(sigma[0]),
        window.file_view.w_infinity,
        float(line[1] / view.kappa),
        float(sigma[1] / view.kappa),
        float(1.4826 * np.median(np.abs(residual))),
        len(seen.q),
        float(np.median(seen.q)),
    )


def depth_factor(window: WindowContents, view: FocusedView) -> float:
    """By which distances from parallax must be multiplied to agree with those measured in a view.

    1 where none do both, or where no factor of any camera would make them agree.
    """
    return _factor(window, view) or 1.0


def _factor(window: WindowContents, view: FocusedView) -> float | None:
    """The same; None where no factor of any camera would do."""
    seen = observations(window, 0)
    log_factor = 0.0
    for _ in range(ITERATIONS if len(seen.q) else 0):
        q = seen.q * np.exp(-log_factor)
        difference, slope = seen.rho - view.inv_virtual_depth(q), view.inv_virtual_depth_slope(q)
        variance = seen.rho_variance + slope**2 * seen.q_variance
        weight = np.minimum(1.0, HUBER / np.maximum(np.abs(difference) / np.sqrt(variance), HUBER)) / variance
        row = -slope * q
        step = float((weight * row * difference).sum() / max((weight * row * row).sum(), 1e-12))
        log_factor += float(np.clip(step, -LARGEST_STEP, LARGEST_STEP))
    return float(np.exp(log_factor)) if abs(log_factor) < np.log(LARGEST_FACTOR) else None
