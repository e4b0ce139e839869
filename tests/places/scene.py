# SPDX-License-Identifier: Apache-2.0
"""Compact keyframes of a textured relief, seen from anywhere."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from plane_scene import Relief, decoded, pinhole_view

from prism_vo import se3
from prism_vo.config import SelectConfig, TrackConfig
from prism_vo.places.keyframe import CompactKeyframe
from prism_vo.places.snapshot import snapshot
from prism_vo.sensor import DecodedSensor
from prism_vo.tracking.tracker import Tracker
from prism_vo.types import Frame

VIEW = pinhole_view(200)


def camera_at(x: float, y: float = 0.0, z: float = 0.0, yaw: float = 0.0) -> np.ndarray:
    pose = se3.exp(np.array([0, 0, 0, 0, yaw, 0]))
    pose[:3, 3] = (x, y, z)
    return pose


@lru_cache(maxsize=32)
def _relief(seed: int) -> Relief:
    relief = Relief(seed)
    rng = np.random.default_rng(seed)  # corners, which smooth noise has few of
    for x, y, s, g in zip(
        *rng.integers(0, 1000, (2, 900)), rng.integers(4, 14, 900), rng.integers(0, 255, 900)
    ):
        relief.texture[y : y + s, x : x + s] = 0.4 * relief.texture[y : y + s, x : x + s] + 0.6 * g
    return relief


def keyframe_at(pose: np.ndarray, seed: int = 3, gain: float = 1.0) -> tuple[Frame, CompactKeyframe]:
    image, depth = _relief(seed).render(VIEW, pose)
    focused = decoded(VIEW, gain * image, depth, np.random.default_rng(1), sigma=1e-3)
    frame = Frame.of(focused, focused, Tracker(VIEW, TrackConfig()).pyramid(focused.image))
    return frame, snapshot(VIEW, frame, DecodedSensor(VIEW).measure, SelectConfig())


def true_pose(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """T_b_a of views whose centres are those of the cameras."""
    return se3.inverse(b) @ a
