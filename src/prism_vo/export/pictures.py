# SPDX-License-Identifier: Apache-2.0
"""The focused images that belong to poses: undistorted, of a pinhole, in colour where the recording is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.baselines.focused import eight_bit, focused_frames, view_of
from prism_vo.config import DecodeConfig
from prism_vo.export.finished_run import FinishedRun
from prism_vo.optics.view import FocusedView
from prism_vo.trajectory import Trajectory

CENTRAL = DecodeConfig(view="central")


@dataclass(frozen=True)
class Picture:
    """One focused image with its pose."""

    name: str  # of its file
    time: float
    T_world_view: Array  # of the pinhole, which need not stand where the camera's origin is
    rgb: NDArray[np.uint8]  # (h, w, 3)


def view_of_run(run: FinishedRun) -> FocusedView:
    """The pinhole all pictures are of."""
    return view_of(run.sequence, CENTRAL)


def pictures(run: FinishedRun, poses: Trajectory) -> Iterator[Picture]:
    """The image of every pose, one at a time."""
    view, indices = view_of_run(run), run.frames_of(poses)
    frames = focused_frames(run.sequence, CENTRAL, indices)
    for index, (time, pose), focused in zip(indices, poses, frames):
        color = focused.frame.color
        grey = eight_bit(focused.frame.image)
        rgb = color if color is not None else np.repeat(grey[..., None], 3, axis=2)
        yield Picture(f"{index:06d}.png", time, view_pose(view, pose), np.ascontiguousarray(rgb))


def view_pose(view: FocusedView, T_world_cam: Array) -> Array:
    """T_world_view: the pinhole's centre lies at (0, 0, z0) of the camera."""
    T_cam_view = np.eye(4)
    T_cam_view[2, 3] = view.z0
    return T_world_cam @ T_cam_view


def projected(view: FocusedView, T_world_view: Array, points: Array) -> tuple[Array, Array]:
    """World points (N, 3) → pixels (N, 2), centres at integers, and depths before the pinhole (N,)."""
    local = se3.transform(se3.inverse(T_world_view), points)
    u, v = view.image_plane.project(local)
    return np.stack([u, v], -1), local[:, 2]
