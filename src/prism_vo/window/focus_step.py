# SPDX-License-Identifier: Apache-2.0
"""A step of the focus between two keyframes: depths measured before it and after it mean different distances.

Distances from parallax run on through the step, so that one number tells: by how much the virtual depths of the newer
keyframes differ, as a whole, from what those of the older ones would make of the same distances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.optics.view import FocusedView
from prism_vo.window.agreement import HUBER, Observations, observations
from prism_vo.window.contents import WindowContents

LEAST_POINTS = 15  # of a keyframe


@dataclass(frozen=True)
class FocusStep:
    """The most likely step within a window."""

    first: int  # id of the first keyframe after it
    change: float  # of w_∞
    sigma: float


def focus_step(window: WindowContents, since: int) -> FocusStep | None:
    """Compare the keyframes with ids from ``since`` on; None: fewer than two of them show anything."""
    seen = observations(window, since)
    ids, counts = np.unique(seen.keyframe, return_counts=True)
    excess, variance = _excess(seen, window.view)
    means, information = [], []
    ids = ids[counts >= LEAST_POINTS]
    for k in ids:
        mine = seen.keyframe == k
        robust = np.minimum(1.0, HUBER / np.maximum(np.abs(excess[mine]) / np.sqrt(variance[mine]), HUBER))
        weight = robust / variance[mine]
        means.append(float((weight * excess[mine]).sum() / weight.sum()))
        information.append(float(weight.sum()))
    mean, info = np.array(means), np.array(information)
    steps = []
    for n in range(1, len(ids)):
        (a, sa), (b, sb) = (_mean(mean[part], info[part]) for part in (slice(0, n), slice(n, None)))
        steps.append(FocusStep(int(ids[n]), b - a, float(np.hypot(sa, sb))))
    return max(steps, key=lambda s: abs(s.change) / s.sigma, default=None)


def _excess(seen: Observations, view: FocusedView) -> tuple[np.ndarray, np.ndarray]:
    """w_∞ that each point shows beyond the view's, and its variance."""
    by_w = -1.0 / (view.beta * (view.w_infinity + view.kappa * seen.q) ** 2)  # dρ_v/dw
    variance = seen.rho_variance + view.inv_virtual_depth_slope(seen.q) ** 2 * seen.q_variance
    return (seen.rho - view.inv_virtual_depth(seen.q)) / by_w, variance / by_w**2


def _mean(values: np.ndarray, information: np.ndarray) -> tuple[float, float]:
    return float((values * information).sum() / information.sum()), float(information.sum() ** -0.5)
