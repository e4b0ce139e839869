# SPDX-License-Identifier: Apache-2.0
"""The window goes over to another focus (docs/method.md, section 8)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Mask
from prism_vo.optics.view import FocusedView
from prism_vo.points.records import Candidates
from prism_vo.window.agreement import depth_factor
from prism_vo.window.contents import WindowContents
from prism_vo.window.keyframe import BLOCK
from prism_vo.window.state import CameraBlock
from prism_vo.window.terms.prior import Prior


@dataclass(frozen=True)
class Rescaling:
    """All lengths of a segment so far were wrong by one factor."""

    factor: float
    origin: Array  # (3,) that stays, in the world frame
    first: int  # id of the first keyframe it is about


def begin_with(window: WindowContents, numbers: Array) -> None:
    """An empty window takes over what was found about the camera before; it estimates it once it can."""
    window.camera = CameraBlock(numbers.copy(), np.zeros_like(numbers))
    window.focus_has_moved = True


def correct_from_the_start(window: WindowContents, shift: float) -> Rescaling:
    """The focus was another one from the first keyframe on: what the window knows is rescaled, its prior forgotten.

    The prior was made with depths that meant something else; the points in the window know the new focus better.
    """
    before = window.view
    _set_focus(window, shift)
    factor = depth_factor(window, window.view)
    rescaling = Rescaling(factor, window.origin, window.first_id)
    moved = [se3.scaled(k.pose, window.origin, factor) for k in window.keyframes]
    window.keyframes = [
        replace(
            k,
            base_pose=pose,
            base_affine=k.affine,
            delta=np.zeros(BLOCK),
            in_prior=False,
            fixed=k.fixed or n == 0,  # the prior held the gauge
        )
        for n, (k, pose) in enumerate(zip(window.keyframes, moved))
    ]
    window.prior = Prior.blank(len(window.keyframes), len(window.camera))
    window.points = replace(window.points, inv_depth=window.points.inv_depth / factor)
    window.candidates = seen_in(window.candidates, before, window.view, factor)
    return rescaling


def change_from_here(window: WindowContents, shift: float, first: int) -> None:
    """The focus changed at keyframe ``first``: older depth measurements belong to the old one and say no more."""
    before = window.view
    _set_focus(window, shift)
    window.prior = window.prior.without_camera()
    old = np.array([k.id < first for k in window.keyframes])
    p, c = window.points, window.candidates
    window.points = replace(p, information=np.where(old[p.host], 0.0, p.information))
    c = replace(c, information=np.where(old[c.host], 0.0, c.information))
    window.candidates = seen_in(c, before, window.view)


def seen_in(candidates: Candidates, before: FocusedView, now: FocusedView, factor: float = 1.0) -> Candidates:
    """Depths that stand on one focus, read with another: the same virtual depth is another distance.

    Those that were narrowed by parallax stand on the scale of the poses instead, which was wrong by ``factor``.
    """
    if (before.w_infinity, before.kappa) == (now.w_infinity, now.kappa):
        return candidates

    def again(q: Array) -> Array:
        return np.maximum((before.w_infinity + before.kappa * q - now.w_infinity) / now.kappa, 0.0)

    c, is_measured = candidates, np.isfinite(candidates.measured)
    untraced = is_measured & (c.quality == 0)
    searched_anew = untraced | (is_measured & (c.failures > 0))  # within all that the measurement leaves open

    def seen(q: Array, stands_on_focus: Mask) -> Array:
        return np.asarray(np.where(stands_on_focus, again(q), q / factor))

    return replace(
        c,
        inv_depth=seen(c.inv_depth, untraced),
        low=seen(c.low, searched_anew),
        high=seen(c.high, searched_anew),
        widest_low=seen(c.widest_low, is_measured),
        widest_high=seen(c.widest_high, is_measured),
    )


def _set_focus(window: WindowContents, shift: float) -> None:
    numbers = np.append(window.camera.value[:-1], shift)
    window.camera = CameraBlock(numbers, np.zeros_like(numbers))
    window.focus_is_free, window.focus_has_moved = True, True
