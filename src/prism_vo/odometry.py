# SPDX-License-Identifier: Apache-2.0
"""The method's loop: ``Odometry(camera, config)(raw) -> FrameReport``. Knows no files and prints nothing."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.cloud import PointCloud
from prism_vo.config import Config
from prism_vo.mapping.candidates import Measure, no_depth, select_candidates
from prism_vo.mapping.keyframe import Keyframe
from prism_vo.mapping.points import Candidates
from prism_vo.mapping.window import FIRST_GATE, MappingReport, Window
from prism_vo.monocular import MonocularStart, View
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.sensor import Frame, Sensor, default_sensor
from prism_vo.stopwatch import Stopwatch
from prism_vo.tracking.brightness import Brightness
from prism_vo.tracking.pyramid import image_pyramid
from prism_vo.tracking.tracker import Reference, Track, Tracker, motion_guesses
from prism_vo.trajectory import Trajectory
from prism_vo.types import DecodedFrame, PointDepth
from prism_vo.world import Placed, World, camera_pose

MOST_WAITING = 16  # frames kept for refinement until the next keyframe
Status = Literal["ok", "keyframe", "lost", "recovered"]
LEAST_POINTS = 30  # to start a segment with


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


class Odometry:
    """Metric visual odometry: feed frames in order, read poses."""

    def __init__(
        self, camera: PlenopticCamera, config: Config | None = None, sensor: Sensor | None = None,
        white: NDArray[Any] | None = None, threads: bool = True,
    ) -> None:  # fmt: skip
        """``threads``: the depth of a new keyframe is measured beside its optimisation; the numbers are the same."""
        config = config or Config()
        self.camera, self.config = camera, config
        self.sensor: Sensor = sensor if sensor is not None else default_sensor(camera, config, white)
        self.view = self.sensor.view
        self.tracker = Tracker(self.view, config.track)
        self.window = Window(self.view, config, self.sensor.variance_power)
        self.reference: Reference | None = None
        self.map = World()
        self.rng = np.random.default_rng(config.seed)
        self.segment = -1
        self.next_id = 0
        self.watch = Stopwatch()
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="select") if threads else None
        self._last, self._step = np.eye(4), np.eye(4)  # T_view_world of the last frame, its motion
        self._first_rms: float | None = None
        self._lost = 0
        self._waiting: list[tuple[Placed, Floats, Array, float]] = []  # since the last keyframe
        self._light, self._exposure = Brightness(), 1.0  # of the last frame, against the reference

    def __call__(self, raw: Frame, focused: DecodedFrame | None = None) -> FrameReport:
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
        wanted = self._needs_keyframe(track)
        starting = self._is_blind and len(self.window.keyframes) == 1
        if starting:
            pose = self._start_blind(frame, pyramid, pose, track, wanted)
        if wanted:
            mapping = self._add_keyframe(raw, frame, pyramid, pose, track)
        elif not starting:
            with self.watch("trace"):
                self.window.trace(pyramid[0], pose, self._affine(track, frame), frame.exposure or 1.0)
        self._place(frame.time, self._last)
        if mapping is None:
            affine = self._affine(track, frame)
            self._waiting.append((self.map.frames[-1], pyramid[0], affine, frame.exposure or 1.0))
            del self._waiting[:-MOST_WAITING]  # a camera at rest: the oldest keep their tracked pose
        return self._report(raw, "keyframe" if mapping else "ok", track, mapping)

    # --- tracking --------------------------------------------------------------------------------------------

    def _track(self, frame: DecodedFrame, pyramid: list[Floats]) -> Track:
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

    @property
    def _is_blind(self) -> bool:
        """The variant without plenoptic depth: monocular, free scale."""
        return self.config.variant == "pinhole"

    def _start_blind(self, frame: DecodedFrame, pyramid: list[Floats], pose: Array, track: Track,
                     last: bool) -> Array:  # fmt: skip
        """Monocular start with one more frame; before the first keyframe after it the depths are settled."""
        start = MonocularStart(self.window, self.tracker)
        view = View(pyramid, self._affine(track, frame), frame.exposure or 1.0, track.brightness)
        with self.watch("optimise"):
            self._last = start.settle(view, pose) if last else start.improve(view, pose)
        self.reference = start.reference()
        return self._last

    # --- keyframes -------------------------------------------------------------------------------------------

    def _add_keyframe(
        self, raw: Frame, frame: DecodedFrame, pyramid: list[Floats], pose: Array, track: Track
    ) -> MappingReport:
        return self._insert_and_map(raw, frame, pyramid, pose, self._affine(track, frame))

    def _insert_and_map(
        self, raw: Frame, frame: DecodedFrame, pyramid: list[Floats], pose: Array, affine: Array
    ) -> MappingReport:
        with self.watch("trace"):
            self.window.trace(pyramid[0], pose, affine, frame.exposure or 1.0)
        self._insert(frame, pyramid, pose, affine, fixed=False)
        chosen = self._select_beside(raw, pyramid)
        with self.watch("optimise"):
            report = self.window.update()
        with self.watch("refine"):
            self._refine_waiting()
        with self.watch("wait"):
            self.window.add_candidates(chosen())
        self._renew_reference(pyramid)
        self._last = self.window.keyframes[-1].pose
        return report

    def _refine_waiting(self) -> None:
        """Frames tracked with a keyframe's first depths are located once more, now that points are optimised."""
        waiting, self._waiting = self._waiting, []
        poses = {k.id: k.pose for k in self.window.keyframes}
        for placed, image, affine, exposure in waiting:
            if placed.keyframe not in poses:
                continue
            reference = poses[placed.keyframe]
            tracked = placed.T_frame_ref @ reference
            located = self.window.locate(image, tracked, affine, exposure)
            if located is not None:
                placed.T_frame_ref = se3.renormalised(located @ se3.inverse(reference))

    def _start_segment(self, raw: Frame, frame: DecodedFrame, pyramid: list[Floats]) -> FrameReport:
        """First frame, or the first after a loss: metric at once, because its depth is measured."""
        before, exposure = self.window, self._exposure
        self.window = Window(self.view, self.config, self.sensor.variance_power)
        self._insert(frame, pyramid, self._last, np.zeros(2), fixed=True)
        self.window.add_candidates(self._select(raw, pyramid))
        if self._is_blind:
            self.window.activate_blind()
        else:
            self.window.activate_measured()
        if len(self.window.points) < LEAST_POINTS:  # a dark or empty frame: wait for a better one
            self.window, self._exposure = before, exposure
            return self._report(raw, "lost", None, None)
        if self.segment >= 0:
            self.map.points.append(before.map_points(before.points.good >= 3))
        self.segment += 1
        self._step, self._lost = np.eye(4), 0
        self._waiting = []
        self.tracker.last_rms = np.inf
        self._renew_reference(pyramid)
        self._place(frame.time, self._last)
        return self._report(raw, "keyframe", None, None)

    def _insert(
        self, frame: DecodedFrame, pyramid: list[Floats], pose: Array, affine: Array, fixed: bool
    ) -> None:
        keyframe = Keyframe(
            self.next_id, frame.index, frame.time, frame.exposure or 1.0, self.window.free_slot(), pose, affine,
            affine, fixed, FIRST_GATE,
        )  # fmt: skip
        self.next_id += 1
        self.window.insert(keyframe, pyramid[0])
        self._exposure = keyframe.exposure

    def _select_beside(self, raw: Frame, pyramid: list[Floats]) -> Callable[[], Candidates]:
        """Begin to select; the candidates are what the function that is returned waits for."""
        if self._beside is not None:
            return self._beside.submit(self._select, raw, pyramid).result
        selected = self._select(raw, pyramid)
        return lambda: selected

    def _select(self, raw: Frame, pyramid: list[Floats]) -> Candidates:
        """Candidates of a new keyframe; reads nothing but its image, so it may run beside the optimisation."""
        measure: Measure = no_depth if self._is_blind else self._measure(raw)
        with self.watch("select"):
            c = self.config.select
            wanted = c.first_candidates if len(self.window.points) == 0 else c.candidates
            return select_candidates(
                self.view, pyramid[0], measure, wanted, c, self.config.window.contrast, self.rng
            )

    def _measure(self, raw: Frame) -> Measure:
        def measure(points: Floats) -> PointDepth:
            with self.watch("measure"):
                return self.sensor.measure(raw, points)

        return measure

    def _renew_reference(self, pyramid: list[Floats]) -> None:
        with self.watch("reference"):
            depth, variance = self.window.reference_maps()
            self.reference = self.tracker.reference(self.window.keyframes[-1].id, pyramid, depth, variance)
        self._first_rms = None
        self._light = Brightness()
        for keyframe in self.window.keyframes:
            self.map.T_view_world[keyframe.id] = keyframe.pose
            self.map.keyframe_times[keyframe.id] = keyframe.time
        self.map.points += self.window.departed
        self.map.departures += self.window.departures
        self.window.departed, self.window.departures = [], []

    # --- loss ------------------------------------------------------------------------------------------------

    def _on_loss(self, raw: Frame, frame: DecodedFrame, pyramid: list[Floats], track: Track) -> FrameReport:
        """Try older keyframes; give up on the segment after a while and start a new one, metric at once."""
        self._lost += 1
        with self.watch("track"):
            found = self._relocate(pyramid, frame.exposure or 1.0)
        if found is not None:
            self._lost, self._step = 0, np.eye(4)
            pose, affine, again = found
            mapping = self._insert_and_map(raw, frame, pyramid, pose, affine)
            self._place(frame.time, self._last)
            return self._report(raw, "recovered", again, mapping)
        if self._lost > self.config.track.patience:
            return self._start_segment(raw, frame, pyramid)
        self._step = np.eye(4)
        return self._report(raw, "lost", track, None)

    def _relocate(self, pyramid: list[Floats], exposure: float) -> tuple[Array, Array, Track] | None:
        """Align with the window's older keyframes from the last pose and from their own."""
        for position in range(len(self.window.keyframes) - 2, -1, -1):
            keyframe = self.window.keyframes[position]
            depth, variance = self.window.reference_maps(position)
            if np.isfinite(variance).sum() < 100:
                continue
            image = np.ascontiguousarray(self.window.images[keyframe.slot][..., 0])
            reference = self.tracker.reference(
                keyframe.id, image_pyramid(image, self.tracker.count), depth, variance
            )
            guesses = [self._last @ se3.inverse(keyframe.pose), np.eye(4)]
            ratio = exposure / keyframe.exposure
            track = self.tracker.track(pyramid, reference, guesses, Brightness(ratio))
            if track.ok and track.inliers > 0.7:
                a = keyframe.affine[0] + np.log(track.brightness.gain / ratio)
                b = track.brightness.offset + track.brightness.gain * keyframe.affine[1]
                return se3.renormalised(track.T_frame_ref @ keyframe.pose), np.array([a, b]), track
        return None

    # --- results ---------------------------------------------------------------------------------------------

    def _place(self, time: float, pose: Array) -> None:
        keyframe = self.window.keyframes[-1]
        self.map.frames.append(Placed(time, keyframe.id, pose @ se3.inverse(keyframe.pose)))

    def finish(self) -> None:
        """After the last frame: the frames since the last keyframe get their refined poses too."""
        self._refine_waiting()

    def trajectory(self) -> Trajectory:
        """Pose of every tracked frame with the final keyframe poses."""
        return self.map.trajectory(self.view)

    def keyframe_trajectory(self) -> Trajectory:
        """Poses of the keyframes alone."""
        return self.map.keyframe_trajectory(self.view)

    def cloud(self) -> PointCloud:
        """All map points so far, in the world frame, with σ of their depth."""
        return self.map.cloud(self.view, self.window.map_points(self.window.points.good >= 1))

    def _report(
        self, raw: Frame, status: Status, track: Track | None, mapping: MappingReport | None
    ) -> FrameReport:
        return FrameReport(
            raw.index, raw.time, status, camera_pose(self.view, self._last), self.segment,
            self.window.keyframes[-1].id if self.window.keyframes else -1, track, mapping, self.watch.seconds(),
        )  # fmt: skip
