# SPDX-License-Identifier: Apache-2.0
"""Sequences of exact focused images with exact depth, for the small simulated camera."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from smooth_scene import SmoothScene, sideways_poses

from prism_vo import se3
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.simulate import preset_camera
from prism_vo.trajectory import Trajectory
from prism_vo.types import DecodedFrame

CAMERA = PlenopticCamera.from_calibration(preset_camera("mini"))
VIEW = CAMERA.view("central")


def frame_of(
    index: int, image: np.ndarray, inv_depth: np.ndarray, sigma: float = 1e-4, exposure: float | None = None
) -> DecodedFrame:
    """Image and the view's inverse depth → a decoded frame (σ of ρ_v everywhere the same)."""
    rho = VIEW.inv_virtual_depth(inv_depth).astype(np.float32)
    valid = np.isfinite(rho) & (inv_depth > 0)
    variance = np.where(valid, np.float32(sigma**2), np.float32(np.inf)).astype(np.float32)
    return DecodedFrame(
        index,
        0.1 * index,
        VIEW,
        image.astype(np.float32),
        np.where(valid, rho, np.nan).astype(np.float32),
        variance,
        valid,
        exposure,
    )


def black_frame(index: int) -> DecodedFrame:
    """A frame with the lens covered: no light, no depth."""
    return frame_of(index, np.zeros((VIEW.height, VIEW.width)), np.full((VIEW.height, VIEW.width), np.nan))


@lru_cache(maxsize=2)
def wall(count: int, step: float = 0.012) -> tuple[tuple[DecodedFrame, ...], np.ndarray]:
    """(frames, T_world_cam) of a sideways drift along the rolling wall."""
    scene, poses = SmoothScene.build(0, finest=0.08), sideways_poses(count, step)
    frames = tuple(frame_of(k, *scene.image(VIEW, pose)) for k, pose in enumerate(poses))
    return frames, np.array([se3.inverse(pose) for pose in poses])


@dataclass(frozen=True)
class FrameList:
    """Frames in memory as a sequence."""

    frames: list[DecodedFrame]
    groundtruth: Trajectory | None = None
    name: str = "frames in memory"
    camera: PlenopticCamera = CAMERA
    exposures: None = None
    white: None = None
    is_decoded: bool = True
    read: list[int] = field(default_factory=list)

    @property
    def times(self) -> np.ndarray:
        return np.array([f.time for f in self.frames])

    def __len__(self) -> int:
        return len(self.frames)

    def __getitem__(self, index: int) -> DecodedFrame:
        self.read.append(index)
        return self.frames[index]

    def __iter__(self) -> Iterator[DecodedFrame]:
        return (self[k] for k in range(len(self)))


def relative_errors(estimate: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Translation (m) and rotation (rad) errors of the motion between neighbouring frames."""
    out = []
    for k in range(len(truth) - 1):
        ours = se3.inverse(estimate[k]) @ estimate[k + 1]
        true = se3.inverse(truth[k]) @ truth[k + 1]
        out.append(se3.log(se3.inverse(true) @ ours))
    errors = np.array(out)
    return np.linalg.norm(errors[:, :3], axis=1), np.linalg.norm(errors[:, 3:], axis=1)
