# SPDX-License-Identifier: Apache-2.0
"""A small exact world for the batch adjustment: points before a camera that moves about them."""

from __future__ import annotations

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.batch.numbers import COUNT, CameraNumbers
from prism_vo.batch.projection import project
from prism_vo.batch.records import BatchState, Observations
from prism_vo.optics.calibration import ImageField
from prism_vo.simulate.cameras import preset_camera

POSITION_SIGMA, SLOPE_SIGMA = 0.2, 2e-3


def camera_numbers(
    distortion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0),
    field: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> CameraNumbers:
    calibration = preset_camera("small")
    lens = calibration.main_lens.distortion.model_copy(
        update={"radial": distortion[:2], "tangential": distortion[2:]}
    )
    main = calibration.main_lens.model_copy(
        update={"distortion": lens, "field": ImageField(tilt=field[:2], curvature=field[2])}
    )
    return CameraNumbers.of(calibration.model_copy(update={"main_lens": main}))


def world(
    points: int = 120,
    keyframes: int = 8,
    seed: int = 0,
    distortion: tuple[float, float, float, float] = (2e-4, -2e-6, 1e-4, -1e-4),
    field: tuple[float, float, float] = (0.01, -0.02, 0.005),
) -> BatchState:
    """Points 0.6–3 m before a camera that moves to all sides and turns towards them."""
    random = np.random.default_rng(seed)
    poses = []
    for k in range(keyframes):
        turn = 2 * np.pi * k / keyframes
        move = np.array([0.25 * np.cos(turn), 0.2 * np.sin(turn), 0.2 * np.cos(2 * turn)])
        tilt = np.array([0.12 * np.sin(turn), -0.15 * np.cos(turn), 0.5 * np.sin(turn + 1.0)])
        poses.append(se3.exp(np.concatenate([move, tilt])) if k else np.eye(4))
    rays = random.uniform(-0.25, 0.25, (points, 2))
    anchors = np.repeat(np.eye(4)[None], points, 0)
    state = np.concatenate([rays, 1.0 / random.uniform(0.6, 3.0, (points, 1))], 1)
    return BatchState(camera_numbers(distortion, field), np.array(poses), anchors, state)


def seen_in(state: BatchState, noise: float = 0.0, seed: int = 0) -> Observations:
    """What the camera observes: every point in every keyframe, with errors of ``noise`` times σ."""
    points, keyframes = len(state.points), len(state.poses)
    point = np.repeat(np.arange(points), keyframes)
    keyframe = np.tile(np.arange(keyframes), points)
    count = len(point)
    whitening = np.repeat(np.eye(2)[None] / POSITION_SIGMA, count, 0)
    blank = Observations(
        point, keyframe, np.zeros((count, 2)), whitening, np.zeros(count), np.full(count, SLOPE_SIGMA)
    )
    exact = project(state, blank).predicted
    error = np.random.default_rng(seed).normal(size=(count, 3)) * noise
    xy = exact[:, :2] + POSITION_SIGMA * error[:, :2]
    slope = exact[:, 2] + SLOPE_SIGMA * error[:, 2]
    return Observations(point, keyframe, xy, whitening, slope, np.full(count, SLOPE_SIGMA))


def disturbed(state: BatchState, size: float, seed: int = 1) -> BatchState:
    """The state with everything but the first pose and κ a little wrong; ``size`` 0.05: five per cent."""
    random = np.random.default_rng(seed)
    step = size * state.camera.values * random.uniform(-1, 1, COUNT)
    step[-1] = 0.0
    poses = size * random.normal(size=(len(state.poses), 6)) * 0.2
    poses[0] = 0.0
    points = size * random.normal(size=state.points.shape) * np.array([0.1, 0.1, 1.0])
    return state.moved(step, poses, points)


def relative_error(found: Array, truth: Array) -> float:
    return float(np.abs(found - truth).max() / np.abs(truth).max())
