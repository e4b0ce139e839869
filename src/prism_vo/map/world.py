# SPDX-License-Identifier: Apache-2.0
"""The map of a run: keyframes, frames and points, kept relative to each other and composed when read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Integers
from prism_vo.cloud import PointCloud
from prism_vo.map.between import PlacedFrame
from prism_vo.map.covariances import of_frame
from prism_vo.map.points import to_cloud
from prism_vo.map.smoothing import smoothed
from prism_vo.map.unrefined import Unrefined
from prism_vo.optics.camera import FocusedView
from prism_vo.places.corrections import Corrections
from prism_vo.points.finished import FinishedPoints
from prism_vo.shelf import Shelf, Store
from prism_vo.tracking.brightness import ZoneAgreement
from prism_vo.trajectory import Trajectory
from prism_vo.types import PosedFrame
from prism_vo.window.conditional import ConditionalPoses
from prism_vo.window.keyframe import POSE, Keyframe
from prism_vo.window.refocus import Rescaling
from prism_vo.window.report import WindowChange


@dataclass
class Map:
    """Poses of all keyframes, those that left the window included, and what hangs on them."""

    T_view_world: dict[int, Array] = field(default_factory=dict)
    keyframe_times: dict[int, float] = field(default_factory=dict)
    segment_of: dict[int, int] = field(
        default_factory=dict
    )  # keyframe → segment; each has its own world frame
    conditionals: Shelf[ConditionalPoses] = field(default_factory=Shelf)
    cameras: dict[int, Array] = field(
        default_factory=dict
    )  # numbers of the camera, by the first keyframe with them
    covariances: dict[int, Array] = field(default_factory=dict)  # (6, 6) of T_view_world, left tangents
    frames: Shelf[PlacedFrame] = field(default_factory=Shelf)
    points: Shelf[FinishedPoints] = field(default_factory=Shelf)
    unrefined: Unrefined = field(default_factory=Unrefined)
    corrections: Corrections = field(default_factory=Corrections)  # by places seen again
    forgotten: set[int] = field(default_factory=set)  # segments that turned out to be no good
    withdrawn: set[float] = field(default_factory=set)  # times whose images were of earlier ones

    def keep_in(self, store: Store, often_moved: bool) -> None:
        """What is needed at the end lies there from now on; ``often_moved``: keyframes that left are, before it."""
        self.frames.keep_in(store)
        self.points.keep_in(store)
        if not often_moved:
            self.conditionals.keep_in(store)

    # --- what happens ----------------------------------------------------------------------------------------

    def record(self, time: float, T_view_world: Array, keyframe: Keyframe) -> PlacedFrame:
        """A frame has a pose; it is kept relative to a keyframe, so that later optimisation moves it."""
        placed = PlacedFrame(time, keyframe.id, T_view_world @ se3.inverse(keyframe.pose))
        self.frames.append(placed, changing=self.unrefined.frames())
        return placed

    def record_between(
        self, posed: PosedFrame, keyframe: Keyframe, covered: ZoneAgreement | None = None
    ) -> None:
        """The same for a frame that is no keyframe: it will be located again when the next one has been mapped.

        ``covered``: zones of it in which something covers the scene.
        """
        placed = self.record(posed.frame.time, posed.T_view_world, keyframe)
        self.unrefined.add(placed, posed, covered)

    def record_copy(self, time: float) -> None:
        """The image of the last frame came again: it has one pose, however often it is shown."""
        last = self.frames[-1]
        last.copies = (*last.copies, time)

    def withdraw(self, times: Collection[float]) -> None:
        """Images that came again at these times have no pose: the camera went on meanwhile."""

        def without(frame: PlacedFrame) -> PlacedFrame | None:
            kept = tuple(time for time in frame.times if time not in times)
            if kept == frame.times:
                return None
            shown = frame.time in kept
            return replace(frame, copies=kept[1:] if shown else kept, shown=shown)

        self.withdrawn.update(times)
        self.frames.change(without)

    def take(self, change: WindowChange) -> None:
        """What left the window, and what it learnt about the lengths before."""
        if change.rescaling is not None:
            self._rescale(change.rescaling)
        if change.finished is not None:
            self.points.append(change.finished)
        if change.conditional is not None:
            self.conditionals.append(change.conditional)

    def _rescale(self, r: Rescaling) -> None:
        """The lengths of a segment were wrong by a factor: keyframes, frames and points since its first keyframe."""
        self.T_view_world = {
            k: se3.scaled(T, r.origin, r.factor) if k >= r.first else T for k, T in self.T_view_world.items()
        }
        self.conditionals.change(lambda c: c.scaled(r.origin, r.factor) if min(c.left) >= r.first else None)
        self.frames.change(lambda f: f.scale(r.factor) if f.keyframe >= r.first else None)
        self.points.change(lambda p: p.scaled(r.factor, r.first) if (p.keyframe >= r.first).any() else None)

    def follow_camera(self, numbers: Array, since: int) -> None:
        """The camera's numbers since a keyframe, as they are now."""
        self.cameras[since] = numbers

    def follow(self, keyframes: Iterable[Keyframe], segment: int) -> None:
        """The poses of the keyframes in the window, as they are now, in the world of a segment."""
        for keyframe in keyframes:
            self.T_view_world[keyframe.id] = keyframe.pose.copy()
            self.keyframe_times[keyframe.id] = keyframe.time
            self.segment_of[keyframe.id] = segment
            if keyframe.covariance is not None:
                self.covariances[keyframe.id] = (
                    keyframe.covariance.copy()
                )  # a part of all those of its window

    # --- what is read ----------------------------------------------------------------------------------------

    def poses(self) -> dict[int, Array]:
        """T_view_world of every keyframe, with the corrections of places that were seen again."""
        found = self.corrections.applied(smoothed(self.T_view_world, self.conditionals, self.cameras))
        return {k: T for k, T in found.items() if self.segment_of.get(k, 0) not in self.forgotten}

    def odometry(self) -> Callable[[], dict[int, Array]]:
        """The same by odometry alone, smoothed: those that left moved along with what was learnt since. Computed when
        it is called, from the map as it is now."""
        return partial(smoothed, dict(self.T_view_world), self.conditionals.snapshot(), dict(self.cameras))

    def trajectory(self, view: FocusedView) -> Trajectory:
        """T_world_cam of every tracked frame."""
        keyframes = self.poses()
        frames = [f for f in self.frames if f.keyframe in keyframes]
        poses = [camera_pose(view, f.T_view_world(keyframes)) for f in frames]
        shown = [len(f.times) for f in frames]
        return Trajectory(
            np.array([time for f in frames for time in f.times]),
            np.repeat(np.array(poses).reshape(-1, 4, 4), shown, axis=0),
            np.repeat(self._segments([f.keyframe for f in frames]), shown),
        )

    def pose_covariances(self) -> Array:
        """Of every pose of :meth:`trajectory` (N, 6, 6): position (m), then rotation (rad), about the world's axes.

        NaN where nothing is known yet; zero for the first keyframe of a segment, which poses are relative to.
        """
        keyframes = self.poses()
        frames = [f for f in self.frames if f.keyframe in keyframes]
        found = np.full((len(frames), POSE, POSE), np.nan)
        for n, frame in enumerate(frames):
            inside = of_frame(frame, self.covariances, keyframes, self.segment_of)
            if inside is None:
                continue
            turned = np.kron(np.eye(2), (frame.T_frame_ref @ keyframes[frame.keyframe])[:3, :3].T)
            found[n] = turned @ inside @ turned.T  # T ← exp(ξ) T moves camera and axes by −Rᵀ ξ in the world
        return np.repeat(found, [len(f.times) for f in frames], axis=0)

    def keyframe_trajectory(self, view: FocusedView) -> Trajectory:
        """T_world_cam of the keyframes alone."""
        keyframes = self.poses()
        ids = sorted(k for k in keyframes if self.keyframe_times[k] not in self.withdrawn)
        poses = np.array([camera_pose(view, keyframes[k]) for k in ids]).reshape(-1, 4, 4)
        return Trajectory(np.array([self.keyframe_times[k] for k in ids]), poses, self._segments(ids))

    def _segments(self, keyframes: Iterable[int]) -> Integers:
        """Of keyframes; those that a place seen again joined have one world."""
        begun = [self.segment_of.get(k, 0) for k in keyframes]
        return np.array([self.corrections.joined.get(s, s) for s in begun], np.int32)

    def cloud(self, view: FocusedView, current: FinishedPoints) -> PointCloud:
        """Finished points and those still in the window, in the world frame."""
        return to_cloud([*self.points, current], view, self.poses())


def camera_pose(view: FocusedView, T_view_world: Array) -> Array:
    """T_world_cam: the view's centre sits at (0, 0, z0) of the camera frame."""
    T_view_cam = np.eye(4)
    T_view_cam[2, 3] = -view.z0
    return se3.renormalised(se3.inverse(T_view_world) @ T_view_cam)
