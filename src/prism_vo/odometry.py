# SPDX-License-Identifier: Apache-2.0
"""The method's loop: ``Odometry(camera, config)(raw) -> FrameReport``. Knows no files and prints nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.config import Config
from prism_vo.mapping.candidates import Measure, no_depth, select_candidates
from prism_vo.mapping.keyframe import Keyframe
from prism_vo.mapping.window import FIRST_GATE, MappingReport, Window
from prism_vo.optics.camera import FocusedView, PlenopticCamera
from prism_vo.stopwatch import Stopwatch
from prism_vo.tracking.brightness import Brightness
from prism_vo.tracking.pyramid import image_pyramid
from prism_vo.tracking.tracker import Reference, Track, Tracker, motion_guesses
from prism_vo.trajectory import Trajectory
from prism_vo.types import DecodedFrame, PointDepth, RawFrame

Array = NDArray[np.float64]
Status = Literal["ok", "keyframe", "lost", "recovered"]


class Sensor(Protocol):
    """What turns a raw image into a totally focused image and measures depth in it on demand."""

    @property
    def view(self) -> FocusedView: ...

    def focus(self, raw: RawFrame) -> DecodedFrame: ...

    def measure(self, raw: RawFrame, points: NDArray[np.float32]) -> PointDepth: ...


@dataclass(frozen=True)
class FrameReport:
    """Everything about one frame. Poses are of the camera: T_world_cam, metres."""

    index: int
    time: float
    status: Status
    T_world_cam: Array
    segment: int
    keyframe: int  # id of the keyframe it was tracked against, or its own if it became one
    track: Track | None
    mapping: MappingReport | None
    seconds: dict[str, float]


@dataclass
class _Placed:
    """A frame's pose relative to a keyframe: composed when read, so later optimisation moves it."""

    time: float
    keyframe: int
    T_frame_ref: Array


@dataclass
class _Map:
    """Poses of keyframes, those that left the window included, and the frames hanging on them."""

    T_view_world: dict[int, Array] = field(default_factory=dict)
    frames: list[_Placed] = field(default_factory=list)


class Odometry:
    """Metric visual odometry: feed frames in order, read poses."""

    def __init__(self, camera: PlenopticCamera, config: Config, sensor: Sensor) -> None:
        self.camera, self.config, self.sensor = camera, config, sensor
        self.view = sensor.view
        self.tracker = Tracker(self.view, config.track)
        self.window = Window(self.view, config)
        self.reference: Reference | None = None
        self.map = _Map()
        self.rng = np.random.default_rng(config.seed)
        self.segment = -1
        self.next_id = 0
        self.watch = Stopwatch()
        self._to_camera = np.eye(4)  # T_view_cam: the view's centre sits at (0, 0, z0) of the camera
        self._to_camera[2, 3] = -self.view.z0
        self._last, self._step = np.eye(4), np.eye(4)  # T_view_world of the last frame, its motion
        self._first_rms: float | None = None
        self._lost = 0
        self._light, self._exposure = Brightness(), 1.0  # of the last frame, against the reference

    def __call__(self, raw: RawFrame, focused: DecodedFrame | None = None) -> FrameReport:
        """Track one frame and, when it has moved far enough, make it a keyframe."""
        self.watch.restart()
        with self.watch("decode"):
            frame = focused if focused is not None else self.sensor.focus(raw)
        with self.watch("pyramid"):
            pyramid = image_pyramid(frame.image, self.tracker.count)
        if self.reference is None:
            return self._start_segment(raw, frame, pyramid)
        with self.watch("track"):
            track = self._track(frame, pyramid)
        if not track.ok:
            return self._on_loss(raw, frame, pyramid, track)
        pose = self._accept(track, frame)
        mapping = None
        if self._needs_keyframe(track):
            mapping = self._add_keyframe(raw, frame, pyramid, pose, track)
        else:
            with self.watch("trace"):
                self.window.trace(pyramid[0], pose, self._affine(track, frame), frame.exposure or 1.0)
        self._place(frame.time, pose)
        return self._report(raw, "keyframe" if mapping else "ok", track, mapping)

    # --- tracking --------------------------------------------------------------------------------------------

    def _track(self, frame: DecodedFrame, pyramid: list[NDArray[np.float32]]) -> Track:
        assert self.reference is not None
        previous = self._last @ se3.inverse(self.window.keyframes[-1].pose)
        guesses = motion_guesses(previous, self._step, rotations=False)
        start = Brightness(self._light.gain * (frame.exposure or 1.0) / self._exposure, self._light.offset)
        track = self.tracker.track(pyramid, self.reference, guesses, start)
        if not track.ok or track.rms > 1.5 * self.tracker.last_rms:
            wide = motion_guesses(previous, self._step, rotations=True)
            again = self.tracker.track(pyramid, self.reference, wide, start)
            if (again.ok, -again.rms) > (track.ok, -track.rms):
                track = again
        return track

    def _accept(self, track: Track, frame: DecodedFrame) -> Array:
        pose = se3.renormalised(track.T_frame_ref @ self.window.keyframes[-1].pose)
        self._step = pose @ se3.inverse(self._last)
        self._last = pose
        self._lost = 0
        self._light, self._exposure = track.brightness, frame.exposure or 1.0
        if self._first_rms is None:
            self._first_rms = track.rms
        return pose

    def _affine(self, track: Track, frame: DecodedFrame) -> Array:
        """Absolute (a, b) of a tracked frame from its brightness against the reference keyframe."""
        keyframe, light = self.window.keyframes[-1], track.brightness
        a_ref, b_ref = keyframe.affine
        a = a_ref + np.log(light.gain * keyframe.exposure / (frame.exposure or 1.0))
        return np.array([a, light.offset + light.gain * b_ref])

    def _needs_keyframe(self, track: Track) -> bool:
        c = self.config.track
        flow = (0.67 * track.flow_translation + 0.33 * track.flow) / c.keyframe_flow
        grown = self._first_rms is not None and track.rms > c.keyframe_rms_growth * self._first_rms
        darker = 2.0 * abs(np.log(track.brightness.gain))
        return bool(flow + darker > 1.0 or grown or track.visible < c.keyframe_visible)

    # --- keyframes -------------------------------------------------------------------------------------------

    def _add_keyframe(
        self, raw: RawFrame, frame: DecodedFrame, pyramid: list[NDArray[np.float32]], pose: Array, track: Track
    ) -> MappingReport:
        affine = self._affine(track, frame)
        with self.watch("trace"):
            self.window.trace(pyramid[0], pose, affine, frame.exposure or 1.0)
        self._insert(frame, pyramid, pose, affine, fixed=False)
        with self.watch("optimise"):
            report = self.window.update()
        self._select(raw, pyramid)
        self._renew_reference(pyramid)
        self._last = self.window.keyframes[-1].pose
        return report

    def _start_segment(
        self, raw: RawFrame, frame: DecodedFrame, pyramid: list[NDArray[np.float32]]
    ) -> FrameReport:
        """First frame, or the first after a loss: metric at once, because its depth is measured."""
        self.segment += 1
        self._step = np.eye(4)
        self.window = Window(self.view, self.config)
        self._insert(frame, pyramid, self._last, np.zeros(2), fixed=True)
        self._select(raw, pyramid)
        self.window.activate_measured()
        self._renew_reference(pyramid)
        self._place(frame.time, self._last)
        return self._report(raw, "keyframe", None, None)

    def _insert(
        self, frame: DecodedFrame, pyramid: list[NDArray[np.float32]], pose: Array, affine: Array, fixed: bool
    ) -> None:
        keyframe = Keyframe(
            self.next_id, frame.index, frame.time, frame.exposure or 1.0, self.window.free_slot(), pose, affine,
            affine, fixed, FIRST_GATE,
        )  # fmt: skip
        self.next_id += 1
        self.window.insert(keyframe, pyramid[0])
        self._exposure = keyframe.exposure

    def _select(self, raw: RawFrame, pyramid: list[NDArray[np.float32]]) -> None:
        measure: Measure = no_depth if self.config.variant == "pinhole" else self._measure(raw)
        with self.watch("select"):
            host = len(self.window.keyframes) - 1
            new = select_candidates(self.view, pyramid[0], host, measure, self.config.select,
                                    self.config.window.contrast, self.rng)  # fmt: skip
            self.window.add_candidates(new)

    def _measure(self, raw: RawFrame) -> Measure:
        def measure(points: NDArray[np.float32]) -> PointDepth:
            with self.watch("measure"):
                return self.sensor.measure(raw, points)

        return measure

    def _renew_reference(self, pyramid: list[NDArray[np.float32]]) -> None:
        with self.watch("reference"):
            depth, variance = self.window.reference_maps()
            self.reference = self.tracker.reference(self.window.keyframes[-1].id, pyramid, depth, variance)
        self._first_rms = None
        self._light = Brightness()
        for keyframe in self.window.keyframes:
            self.map.T_view_world[keyframe.id] = keyframe.pose

    # --- loss ------------------------------------------------------------------------------------------------

    def _on_loss(
        self, raw: RawFrame, frame: DecodedFrame, pyramid: list[NDArray[np.float32]], track: Track
    ) -> FrameReport:
        self._lost += 1
        self._step = np.eye(4)
        return self._report(raw, "lost", track, None)

    # --- results ---------------------------------------------------------------------------------------------

    def _place(self, time: float, pose: Array) -> None:
        keyframe = self.window.keyframes[-1]
        self.map.frames.append(_Placed(time, keyframe.id, pose @ se3.inverse(keyframe.pose)))

    def _camera_pose(self, T_view_world: Array) -> Array:
        return np.asarray(se3.inverse(T_view_world) @ self._to_camera)

    def trajectory(self) -> Trajectory:
        """Pose of every tracked frame with the final keyframe poses."""
        poses = [self._camera_pose(f.T_frame_ref @ self.map.T_view_world[f.keyframe]) for f in self.map.frames]
        return Trajectory(np.array([f.time for f in self.map.frames]), np.array(poses))

    def _report(self, raw: RawFrame, status: Status, track: Track | None, mapping: MappingReport | None) -> FrameReport:
        return FrameReport(
            raw.index, raw.time, status, self._camera_pose(self._last), self.segment,
            self.window.keyframes[-1].id, track, mapping, self.watch.seconds(),
        )  # fmt: skip
