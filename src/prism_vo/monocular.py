# SPDX-License-Identifier: Apache-2.0
"""Start of the variant without plenoptic depth: poses and depths of the first frames from parallax alone.

With a narrow field of view depth reversal explains small motions almost as well as the truth: points mirrored about
their mean plane, the camera moving the other way and turning to make up for it. So both are tried before the first
bundle adjustment, and the one that fits the images better is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.mapping.window import Window
from prism_vo.tracking.brightness import Brightness
from prism_vo.tracking.pyramid import image_pyramid
from prism_vo.tracking.tracker import Reference, Tracker

ROUNDS = 4  # of alignment and depth improvement for each explanation


@dataclass(frozen=True)
class View:
    """The frame that parallax is taken from."""

    pyramid: list[Floats]
    affine: Array
    exposure: float
    light: Brightness


class MonocularStart:
    """Works on a window that holds one keyframe and its points."""

    def __init__(self, window: Window, tracker: Tracker) -> None:
        self.window, self.tracker = window, tracker
        first = window.keyframes[0]
        image = np.ascontiguousarray(window.images[first.slot][..., 0])
        self._first, self._pyramid = first, image_pyramid(image, tracker.count)

    def reference(self) -> Reference:
        """The first keyframe with the depths so far."""
        return self.tracker.reference(self._first.id, self._pyramid, *self.window.reference_maps())

    def improve(self, view: View, pose: Array) -> Array:
        """Better depths from one more frame; returns its pose, which follows the change of scale."""
        factor = self.window.improve_blind(view.pyramid[0], pose, view.affine, view.exposure)
        relative = pose @ se3.inverse(self._first.pose)
        relative[:3, 3] *= factor
        return se3.renormalised(relative @ self._first.pose)

    def settle(self, view: View, pose: Array) -> Array:
        """Decide between the depths found and their reversal; returns the frame's pose."""
        kept = self.window.points
        outcomes = []
        for mirrored in (False, True):
            q = np.clip(2.0 - kept.inv_depth, 0.05, 20.0) if mirrored else kept.inv_depth
            self.window.points = replace(kept, inv_depth=q)
            start = self._reversed(pose) if mirrored else pose
            outcomes.append((*self._converge(view, start), self.window.points))
        rms, best, points = min(outcomes, key=lambda o: o[0])
        del rms
        self.window.points = points
        return best

    def _converge(self, view: View, pose: Array) -> tuple[float, Array]:
        rms = np.inf
        for _ in range(ROUNDS):
            guess = pose @ se3.inverse(self._first.pose)
            track = self.tracker.track(view.pyramid, self.reference(), [guess], view.light)
            rms = track.rms
            pose = self.improve(view, track.T_frame_ref @ self._first.pose)
        return rms, pose

    def _reversed(self, pose: Array) -> Array:
        """Opposite translation, and the rotation that keeps the flow of the mean plane (inverse depth 1)."""
        relative = pose @ se3.inverse(self._first.pose)
        t = relative[:3, 3].copy()
        turn = np.eye(4)
        turn[:3, :3] = se3.so3_exp(np.array([-2.0 * t[1], 2.0 * t[0], 0.0]))
        relative[:3, 3] = -t
        return se3.renormalised(turn @ relative @ self._first.pose)
