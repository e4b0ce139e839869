# SPDX-License-Identifier: Apache-2.0
"""What points and keyframes knew when they left goes into the prior (docs/method.md, section 6)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism_vo.arrays import Mask
from prism_vo.points.pattern import IN, NONE
from prism_vo.points.records import Points
from prism_vo.window.contents import WindowContents
from prism_vo.window.energy import WindowEnergy
from prism_vo.window.keyframe import BLOCK, POSE

LEAST_INLIERS = 3  # residuals over its life, for a point to be worth keeping
RECENT = 2  # newest keyframes that must see a point hosted in an older one


@dataclass(frozen=True)
class LeavingPoints:
    """Points (N,) of the window that are of no more use, and those among them that know something."""

    gone: Mask
    worthy: Mask


def choose_points(points: Points, leaving: list[int], least_curvature: float) -> LeavingPoints:
    """Points of keyframes that leave, and points that the newest keyframes do not see any more.

    Where something covers the scene (NONE) a point waits: it comes out again, and shows until then what is covered.
    """
    count = points.residual_status.shape[1]
    recent = points.residual_status[:, max(count - RECENT, 0) :]
    unseen = (
        np.all((recent != IN) & (recent != NONE), axis=1) & (points.host < count - RECENT) & (count > RECENT)
    )
    gone = np.isin(points.host, leaving) | unseen
    inside = (points.residual_status == IN).sum(1)
    known = (points.inlier_count >= LEAST_INLIERS) & (inside >= 1) & (points.curvature > least_curvature)
    return LeavingPoints(gone, gone & known & (count > 1))


def absorb_points(window: WindowContents, points: Points) -> None:
    """Add to the prior what some points know about all else, at the first estimates of that."""
    status = np.where(points.residual_status == IN, IN, NONE).astype(np.int8)
    points = replace(points, residual_status=status)
    state = window.state(points)
    h, b = WindowEnergy(window.photometric(points), window.point_terms(points)).linearize(state).reduced()
    window.prior = window.prior.plus(h, b - h @ state.increments)
    _keep_first_estimates(window)


def absorb_keyframe(window: WindowContents, position: int) -> None:
    """Marginalise a keyframe whose points have gone; its brightness term goes with it."""
    keyframe, brightness, prior = window.keyframes[position], window.brightness(), window.prior
    if prior.involves(position):
        h, b = np.zeros_like(prior.h), np.zeros_like(prior.b)
        rows = BLOCK * position + np.arange(POSE, BLOCK)
        h[rows, rows] = brightness.information
        b[rows] = brightness.information * (keyframe.base_affine - brightness.centre[position])
        prior = prior.plus(h, b)
    window.prior = prior.without(position, keyframe.fixed)
    window.points = window.points.without_keyframe(position)
    window.candidates = window.candidates.without_keyframe(position)
    del window.keyframes[position]
    _keep_first_estimates(window)


def _keep_first_estimates(window: WindowContents) -> None:
    """What the prior speaks of is linearised from now on where it was when the prior was made."""
    for n, keyframe in enumerate(window.keyframes):
        if window.prior.involves(n) and not (keyframe.fixed or keyframe.in_prior):
            window.keyframes[n] = replace(keyframe, in_prior=True)
    in_prior = window.camera.in_prior or window.prior.involves_camera
    window.camera = replace(window.camera, in_prior=in_prior)
