# SPDX-License-Identifier: Apache-2.0
"""The map of a run: keyframes, frames and points, kept relative to each other and composed when read."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.cloud import PointCloud
from prism_vo.map_points import MapPoints, to_cloud
from prism_vo.mapping.smoothing import Departure, smoothed
from prism_vo.optics.camera import FocusedView
from prism_vo.trajectory import Trajectory


@dataclass
class Placed:
    """A frame's pose relative to a keyframe, so that later optimisation moves it."""

    time: float
    keyframe: int
    T_frame_ref: Array


@dataclass
class World:
    """Poses of all keyframes, those that left the window included, and what hangs on them."""

    T_view_world: dict[int, Array] = field(default_factory=dict)
    departures: list[Departure] = field(default_factory=list)
    keyframe_times: dict[int, float] = field(default_factory=dict)
    frames: list[Placed] = field(default_factory=list)
    points: list[MapPoints] = field(default_factory=list)

    def poses(self) -> dict[int, Array]:
        """T_view_world of every keyframe, smoothed: those that left moved along with what was learnt since."""
        return smoothed(self.T_view_world, self.departures)

    def trajectory(self, view: FocusedView) -> Trajectory:
        """T_world_cam of every tracked frame."""
        keyframes = self.poses()
        poses = [camera_pose(view, f.T_frame_ref @ keyframes[f.keyframe]) for f in self.frames]
        return Trajectory(np.array([f.time for f in self.frames]), np.array(poses).reshape(-1, 4, 4))

    def keyframe_trajectory(self, view: FocusedView) -> Trajectory:
        """T_world_cam of the keyframes alone."""
        keyframes = self.poses()
        ids = sorted(keyframes)
        poses = np.array([camera_pose(view, keyframes[k]) for k in ids]).reshape(-1, 4, 4)
        return Trajectory(np.array([self.keyframe_times[k] for k in ids]), poses)

    def cloud(self, view: FocusedView, current: MapPoints) -> PointCloud:
        """Finished points and those still in the window, in the world frame."""
        return to_cloud([*self.points, current], view, self.poses())


def camera_pose(view: FocusedView, T_view_world: Array) -> Array:
    """T_world_cam: the view's centre sits at (0, 0, z0) of the camera frame."""
    T_view_cam = np.eye(4)
    T_view_cam[2, 3] = -view.z0
    return se3.renormalised(se3.inverse(T_view_world) @ T_view_cam)
