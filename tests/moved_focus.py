# SPDX-License-Identifier: Apache-2.0
"""A sweep over a table with a lens that stands elsewhere than the camera file says."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from decoded_frames import CAMERA, VIEW, FrameList, frame_of

from prism_vo import Config, run
from prism_vo.optics.focus import FocusModel
from prism_vo.pipeline import RunResult
from prism_vo.simulate import CATALOGUE, Renderer, build_scene, plan
from prism_vo.trajectory import Trajectory
from prism_vo.types import DecodedFrame

FRAMES, SIGMA = 40, 1e-3
FOCUS = FocusModel.of(VIEW, CAMERA)
SHIFT = 0.06 / FOCUS.slopes(0.0).w_infinity  # mm, that moves w_∞ by 0.06: several per cent of distance


@lru_cache(maxsize=1)
def recording() -> tuple[tuple[DecodedFrame, ...], Trajectory]:
    """A sweep over a table with exact images and slightly noisy depth, at the focus of the camera file."""
    poses = plan(CATALOGUE["table"].path, frames=None, seed=0).poses[:FRAMES]
    renderer = Renderer(CAMERA.calibration, build_scene("table", seed=0), samples=4, aperture=0.75, threads=2)
    rng, frames = np.random.default_rng(0), []
    for k, pose in enumerate(poses):
        seen = renderer.view_truth(pose, "central")
        frame = frame_of(k, seen.image, VIEW.inv_depth_of(seen.depth), sigma=SIGMA)
        assert frame.inv_virtual_depth is not None
        noise = rng.normal(0, SIGMA, seen.depth.shape).astype(np.float32)
        frames.append(replace(frame, inv_virtual_depth=frame.inv_virtual_depth + noise))
    return tuple(frames), Trajectory(np.array([f.time for f in frames]), np.array(poses))


def refocused(frame: DecodedFrame, shift: float) -> DecodedFrame:
    """The frame as it would be measured with the lens moved by ``shift`` mm."""
    assert frame.inv_virtual_depth is not None
    moved = FOCUS.at(shift)
    q = VIEW.inv_depth_from_virtual(frame.inv_virtual_depth)
    w = moved.w_infinity + moved.kappa * q
    return replace(frame, inv_virtual_depth=((1.0 / w - VIEW.alpha) / VIEW.beta).astype(np.float32))


def run_with(shift_from: int, calibrate: str = "focus") -> RunResult:
    frames, truth = recording()
    moved = [refocused(f, SHIFT) if f.index >= shift_from else f for f in frames]
    return run(FrameList(moved, truth), replace(Config(), calibrate=calibrate))  # type: ignore[arg-type]


def scale_error(result: RunResult) -> float:
    assert result.metrics is not None
    return abs(result.metrics.scale_error)
