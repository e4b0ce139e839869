# SPDX-License-Identifier: Apache-2.0
"""Start of the variant without plenoptic depth: poses and depths of the first frames from parallax alone.

With a narrow field of view depth reversal explains small motions almost as well as the truth: points mirrored about
their mean plane, the camera moving the other way and turning to make up for it. So both are tried before the first
bundle adjustment, and the one that fits the images better is kept.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.points.pattern import IN, NONE
from prism_vo.tracking.brightness import Brightness
from prism_vo.tracking.tracker import Tracker
from prism_vo.types import PosedFrame
from prism_vo.variants.plane_depths import LEAST_INV_DEPTH, MOST_INV_DEPTH, improve_depths
from prism_vo.window.window import Window

ROUNDS = 4  # of alignment and depth improvement for each explanation


class MonocularStart:
    """Works on a window that holds one keyframe and its points."""

    def __init__(self, window: Window, tracker: Tracker) -> None:
        self.window, self.tracker = window, tracker
        self._first = window.keyframes[0].pose
        self._pyramid = tracker.pyramid(window.keyframe_depth().image)

    def improve(self, posed: PosedFrame) -> PosedFrame:
        """Better depths from one more frame; its pose follows the change of scale."""
        term, state = self.window.with_frame(posed.image)
        only_new = np.repeat(np.array([[NONE, IN]], np.int8), len(term.points), 0)
        term = replace(term, points=replace(term.points, residual_status=only_new))
        improved, factor = improve_depths(self.window.view, term, state, self.window.balance.noise2)
        self.window.points = replace(improved, residual_status=self.window.points.residual_status)
        relative = posed.T_view_world @ se3.inverse(self._first)
        relative[:3, 3] *= factor
        return replace(posed, T_view_world=se3.renormalised(relative @ self._first))

    def settle(self, posed: PosedFrame, brightness: Brightness) -> PosedFrame:
        """Decide between the depths found and their reversal; returns the frame with its pose."""
        kept = self.window.points
        outcomes = []
        for mirrored in (False, True):
            q = np.clip(2.0 - kept.inv_depth, LEAST_INV_DEPTH, MOST_INV_DEPTH) if mirrored else kept.inv_depth
            self.window.points = replace(kept, inv_depth=q)
            start = self.reversed(posed.T_view_world) if mirrored else posed.T_view_world
            rms, found = self._converge(replace(posed, T_view_world=start), brightness)
            outcomes.append((rms, found, self.window.points))
        _, best, self.window.points = min(outcomes, key=lambda outcome: outcome[0])
        return best

    def _converge(self, posed: PosedFrame, brightness: Brightness) -> tuple[float, PosedFrame]:
        rms = np.inf
        for _ in range(ROUNDS):
            guess = posed.T_view_world @ se3.inverse(self._first)
            reference = self.tracker.reference(self.window.keyframe_depth(), self._pyramid)
            track = self.tracker.align(posed.frame.pyramid, reference, [guess], [brightness])
            rms = track.rms
            posed = self.improve(replace(posed, T_view_world=track.T_frame_ref @ self._first))
        return rms, posed

    def reversed(self, pose: Array) -> Array:
        """Opposite translation, and the rotation that keeps the flow of the mean plane (inverse depth 1)."""
        relative = pose @ se3.inverse(self._first)
        t = relative[:3, 3].copy()
        turn = np.eye(4)
        turn[:3, :3] = se3.so3_exp(np.array([-2.0 * t[1], 2.0 * t[0], 0.0]))
        relative[:3, 3] = -t
        return se3.renormalised(turn @ relative @ self._first)
