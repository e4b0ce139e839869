# SPDX-License-Identifier: Apache-2.0
"""A finished run adjusted as a whole: all its keyframes at once, with or without the camera's numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.batch.adjust import Adjusted, adjust
from prism_vo.batch.numbers import CX, CY, FOCAL, W
from prism_vo.batch.observe import observe
from prism_vo.batch.system import CameraPrior
from prism_vo.camera_fit.checks import check_motion
from prism_vo.camera_fit.frames import Chosen, choose, images_of
from prism_vo.cloud import PointCloud
from prism_vo.config import Config
from prism_vo.datasets.source import Sequence
from prism_vo.errors import DegenerateError, InputError
from prism_vo.lightfield import Decoder
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.trajectory import Trajectory

LARGEST_RELATIVE_SIGMA = 0.1  # of the inverse depth of a point that is worth keeping
FEWEST = 3


@dataclass(frozen=True)
class Refined:
    """What changed."""

    trajectory: Trajectory  # of all frames of the run
    keyframes: Trajectory
    cloud: PointCloud
    camera: PlenopticCamera
    adjusted: Adjusted
    moved: float  # m, root mean square of what keyframes moved by


def refine_run(
    recording: Sequence,
    trajectory: Trajectory,
    keyframes: Trajectory,
    with_camera: bool,
    config: Config,
    say: Callable[[str, int, int], None],
) -> Refined:
    """Observe the points of all keyframes again and adjust; κ stays, so metres stay metres."""
    if len(keyframes) < FEWEST:
        raise DegenerateError(f"The run has {len(keyframes)} keyframes; there is nothing to adjust.")
    if recording.is_decoded:
        raise InputError(f"{recording.name}: holds decoded frames; refining needs raw images.")
    chosen = choose(keyframes, recording.times, len(keyframes))
    decoder = Decoder(recording.camera, config.decode, white=recording.white)
    observed = observe(
        images_of(recording, chosen, decoder, say), chosen.poses, recording.camera, decoder, say=say
    )
    check_motion(recording.name, observed.state, observed.seen, first=True)
    values = observed.state.camera.values
    sigma = np.zeros_like(values)
    if with_camera:
        sigma[[FOCAL, CX, CY, W]] = np.inf
    found = adjust(observed.state, observed.seen, CameraPrior(values, sigma), lambda words: say(words, 0, 0))
    return _result(recording, trajectory, keyframes, chosen, found)


def _result(
    recording: Sequence, trajectory: Trajectory, keyframes: Trajectory, chosen: Chosen, found: Adjusted
) -> Refined:
    times = np.asarray(recording.times)[chosen.indices]
    rows = [int(np.argmin(np.abs(keyframes.times - t))) for t in times]
    world = keyframes.poses[rows[0]]
    first = found.state.poses[0]
    poses = np.array([world @ se3.inverse(pose @ se3.inverse(first)) for pose in found.state.poses])
    after = Trajectory(keyframes.times[rows], poses)
    moved = np.linalg.norm(after.positions - keyframes.positions[rows], axis=1)
    camera = PlenopticCamera(found.state.camera.calibration(recording.camera.calibration))
    return Refined(
        carried_along(trajectory, Trajectory(keyframes.times[rows], keyframes.poses[rows]), after),
        after,
        _cloud(found, world @ first),
        camera,
        found,
        float(np.sqrt((moved**2).mean())),
    )


def carried_along(frames: Trajectory, before: Trajectory, after: Trajectory) -> Trajectory:
    """Frames between keyframes follow the two that they lie between, in proportion to time."""
    change = np.array([se3.log(b @ se3.inverse(a)) for a, b in zip(before.poses, after.poses)])
    each = np.stack([np.interp(frames.times, before.times, c) for c in change.T], 1)
    return Trajectory(frames.times, np.array([se3.exp(d) @ p for d, p in zip(each, frames.poses)]))


def _cloud(found: Adjusted, T_world: Array) -> PointCloud:
    """Points that the adjustment knows well."""
    q = found.state.points[:, 2]
    information = found.system.h_points[:, 2, 2]
    sigma = 1.0 / np.sqrt(np.maximum(information, 1e-12))
    keep = (q > 0) & (sigma < LARGEST_RELATIVE_SIGMA * q)
    homogeneous = found.state.homogeneous[keep]
    points = se3.transform(T_world, homogeneous[:, :3] / homogeneous[:, 3:])
    spread = sigma[keep] / q[keep] ** 2
    grey = np.full((len(points), 3), 160, np.uint8)
    return PointCloud(points.astype(np.float32), grey, spread.astype(np.float32))
