# SPDX-License-Identifier: Apache-2.0
"""Keyframes that left the window still profit from what is learnt later: back-substitution.

When keyframes M leave while R remain, the window's reduced Hessian says how M would follow a change of R:
``δ_M = −H_MM⁻¹ H_MR δ_R``. Kept at the moment of leaving and applied in reverse order at the end, this is the smoother
that belongs to the sliding window's filter, at the price of one small matrix a keyframe.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.arrays import Array, Mask
from prism_vo.mapping.keyframe import Keyframe
from prism_vo.mapping.marginal import BLOCK


@dataclass(frozen=True)
class Departure:
    """How keyframes that left depend on those that stayed."""

    left: list[int]  # ids
    stayed: list[int]  # ids
    left_poses: Array  # (M, 4, 4) T_view_world when they left
    stayed_poses: Array  # (R, 4, 4) at that moment
    gain: Array  # (6M, 6R): δ_M = gain @ δ_R, left tangents


def departure(keyframes: list[Keyframe], leaving: list[int], h: Array, free: Mask) -> Departure:
    """From the reduced Hessian (8K, 8K) of the window; fixed keyframes neither move nor pull."""
    staying = [k for k in range(len(keyframes)) if k not in leaving]
    m, r = _rows(leaving), _rows(staying)
    gain = np.zeros((len(m), len(r)))
    m_free, r_free = free[m], free[r]
    if m_free.any() and r_free.any():
        h_mm = h[np.ix_(m[m_free], m[m_free])]
        h_mr = h[np.ix_(m[m_free], r[r_free])]
        scale = 1.0 / np.sqrt(np.maximum(np.diag(h_mm), 1e-30))
        damped = h_mm * scale[:, None] * scale[None, :] + 1e-9 * np.eye(len(h_mm))
        gain[np.ix_(m_free, r_free)] = -scale[:, None] * np.linalg.solve(damped, scale[:, None] * h_mr)
    pose_m, pose_r = np.arange(len(m)) % BLOCK < 6, np.arange(len(r)) % BLOCK < 6
    return Departure(
        [keyframes[k].id for k in leaving],
        [keyframes[k].id for k in staying],
        np.array([keyframes[k].pose for k in leaving]),
        np.array([keyframes[k].pose for k in staying]),
        gain[np.ix_(pose_m, pose_r)],
    )


def _rows(positions: list[int]) -> NDArray[np.intp]:
    return np.array([BLOCK * k + c for k in positions for c in range(BLOCK)], dtype=np.intp)


def smoothed(poses: dict[int, Array], departures: list[Departure]) -> dict[int, Array]:
    """Final T_view_world of all keyframes, those that left moved along with what was learnt since."""
    out = dict(poses)
    for d in reversed(departures):
        change = np.concatenate(
            [se3.log(se3.renormalised(out[k] @ se3.inverse(p))) for k, p in zip(d.stayed, d.stayed_poses)]
        )
        follow = (d.gain @ change).reshape(-1, 6)
        for k, pose, delta in zip(d.left, d.left_poses, follow):
            out[k] = se3.renormalised(se3.exp(delta) @ pose)
    return out
