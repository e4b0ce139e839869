# SPDX-License-Identifier: Apache-2.0
"""How keyframes that leave the window would follow those that stay.

When keyframes M leave while R remain, the window's reduced Hessian says how M would follow a change of R:
``δ_M = −H_MM⁻¹ H_MR δ_R``. Kept at the moment of leaving and applied in reverse order at the end
(``map/smoothing.py``), this is the smoother that belongs to the sliding window's filter, at the price of one small
matrix a keyframe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.arrays import Array, Mask
from prism_vo.linear.scaling import jacobi_scale, scaled
from prism_vo.window.keyframe import BLOCK, POSE, Keyframe

DAMPING = 1e-9  # of the scaled block: a keyframe that is hardly known follows only where it is
NO_CAMERA = np.zeros(0)


@dataclass(frozen=True)
class ConditionalPoses:
    """Poses of keyframes that left, given those of the keyframes that stayed."""

    left: list[int]  # ids
    stayed: list[int]  # ids
    left_poses: Array  # (M, 4, 4) T_view_world when they left
    stayed_poses: Array  # (R, 4, 4) at that moment
    gain: Array  # (6M, 6R): δ_M = gain @ δ_R, left tangents
    camera: Array  # (C,) numbers of the camera at that moment
    camera_gain: Array  # (6M, C): how those that left follow the camera's numbers

    @classmethod
    def of(
        cls,
        keyframes: Sequence[Keyframe],
        leaving: list[int],
        h: Array,
        free: Mask,
        camera: Array = NO_CAMERA,
    ) -> ConditionalPoses:
        """From the reduced Hessian of the window; fixed keyframes neither move nor pull."""
        staying = [k for k in range(len(keyframes)) if k not in leaving]
        m, r = _rows(leaving), np.append(_rows(staying), np.arange(BLOCK * len(keyframes), len(h)))
        gain = np.zeros((len(m), len(r)))
        m_free, r_free = free[m], free[r]
        if m_free.any() and r_free.any():
            h_mm = h[np.ix_(m[m_free], m[m_free])]
            h_mr = h[np.ix_(m[m_free], r[r_free])]
            scale = jacobi_scale(h_mm)
            damped = scaled(h_mm, scale) + DAMPING * np.eye(len(h_mm))
            gain[np.ix_(m_free, r_free)] = -scale[:, None] * np.linalg.solve(damped, scale[:, None] * h_mr)
        keyframe_columns = np.arange(len(r)) < BLOCK * len(staying)
        pose_m = np.arange(len(m)) % BLOCK < POSE
        pose_r = keyframe_columns & (np.arange(len(r)) % BLOCK < POSE)
        return cls(
            [keyframes[k].id for k in leaving],
            [keyframes[k].id for k in staying],
            np.array([keyframes[k].pose for k in leaving]),
            np.array([keyframes[k].pose for k in staying]),
            gain[np.ix_(pose_m, pose_r)],
            camera.copy(),
            gain[np.ix_(pose_m, ~keyframe_columns)],
        )

    def scaled(self, origin: Array, factor: float) -> ConditionalPoses:
        """In a world that grew by a factor about a point."""

        def grown(poses: Array) -> Array:
            return np.array([se3.scaled(T, origin, factor) for T in poses]).reshape(-1, 4, 4)

        lengths = np.array([factor] * 3 + [1.0] * 3)
        rows, columns = np.tile(lengths, len(self.left)), np.tile(lengths, len(self.stayed))
        return replace(
            self,
            left_poses=grown(self.left_poses),
            stayed_poses=grown(self.stayed_poses),
            gain=self.gain * rows[:, None] / columns,
            camera_gain=np.zeros_like(self.camera_gain),  # it stood on the numbers that were wrong
        )


def _rows(positions: list[int]) -> NDArray[np.intp]:
    return np.array([BLOCK * k + c for k in positions for c in range(BLOCK)], dtype=np.intp)
