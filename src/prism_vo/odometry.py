# SPDX-License-Identifier: Apache-2.0
"""The method's loop: ``Odometry(camera, config)(raw) -> FrameReport``. Knows no files and prints nothing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.cloud import PointCloud
from prism_vo.config import Config
from prism_vo.copies import is_copy
from prism_vo.errors import ConfigError, expect
from prism_vo.frame_report import FrameReport, Status
from prism_vo.lightfield import Decoder
from prism_vo.linear.one_thread import one_thread
from prism_vo.map.world import Map, camera_pose
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import LOADING, PlenopticCamera
from prism_vo.optics.focus import FocusModel
from prism_vo.optics.lens import LensModel
from prism_vo.places.finder import Found
from prism_vo.places.joints import Step
from prism_vo.places.places import KnownPlaces, NewKeyframe, Places
from prism_vo.points.records import Candidates
from prism_vo.points.selector import CandidateSelector
from prism_vo.sensor import Sensor
from prism_vo.shelf import Store
from prism_vo.stopwatch import Stopwatch
from prism_vo.tracking.common_light import divided, light_of, track_divided
from prism_vo.tracking.evened import Lamp, first_without_bands, track_without_bands
from prism_vo.tracking.judge import Judge, Verdict
from prism_vo.tracking.motion import Motion
from prism_vo.tracking.policy import wants_keyframe
from prism_vo.tracking.recovery import relocate
from prism_vo.tracking.reference import KeyframeDepth, Reference
from prism_vo.tracking.track import Track
from prism_vo.tracking.tracker import Tracker
from prism_vo.trajectory import Trajectory
from prism_vo.types import DecodedFrame, Frame, InputFrame, PosedFrame, UnreadableFrame
from prism_vo.variants import VARIANTS
from prism_vo.window.report import MappingReport, WindowChange
from prism_vo.window.window import Window

LEAST_POINTS = 30  # to start a segment with
REMEMBERED = 20  # keyframes
# of the depths that they had, to start another segment with: blurred images have few, and false ones
LEAST_DEPTH = 0.5
WAITED = 3  # times the patience, after which a segment starts all the same
NO_KEYFRAME = "The image fits badly and has no depth: the map cannot go on with it."


class Odometry:
    """Metric visual odometry: feed frames in order, read poses."""

    def __init__(
        self,
        camera: PlenopticCamera,
        config: Config | None = None,
        sensor: Sensor | None = None,
        white: NDArray[Any] | None = None,
        threads: bool = True,
        known: KnownPlaces | None = None,
    ) -> None:
        """``threads``: the depth of a new keyframe is measured beside its optimisation; the numbers are the same.

        ``known``: keyframes of a map that was made before; the run starts in it where it recognises it.
        """
        expect(camera, PlenopticCamera, "camera", LOADING)
        expect(config, (Config, NoneType), "config", "settings are named: Config(variant='full')")
        self.camera, self.config = camera, config or Config()
        self.variant = VARIANTS[self.config.variant]
        self.sensor: Sensor = sensor or Decoder(camera, self.config.decode, white=white)
        self.view = self.sensor.view
        if self.config.calibrate == "all" and self.view.name != "central":
            raise ConfigError(
                "--calibrate all needs the central view: leave decode.view and totally_focused.view at central."
            )
        self.watch = Stopwatch()
        self.tracker = Tracker(self.view, self.config.track)
        measure = partial(self.variant.measure, self.sensor)
        self.judge = Judge(measure, self.config.track.cutoff)
        self.selector = CandidateSelector(
            measure,
            self.config.select,
            self.config.window.contrast,
            self.config.seed,
            self.watch,
            threads,
        )
        self.window = self._new_window(first_id=0 if known is None else 1 + max(known.poses))
        self.reference: Reference | None = None
        self.motion = Motion()
        self.map = Map()
        self.places = self._new_places(threads, known)
        self.segment = -1
        self._segments = int(known is not None)  # that were begun; the world of a known map is the first
        self.lamp = Lamp()
        self.frame: Frame | None = None  # the last one
        self._is_copy = False  # of the frame before it
        self._measured: tuple[float, ...] = ()  # shares of the last keyframes' candidates that have a depth

    def __repr__(self) -> str:
        return f"Odometry({self.config.variant}, {len(self.map.frames)} poses, {len(self.map.T_view_world)} keyframes)"

    @one_thread
    def __call__(self, raw: InputFrame, focused: DecodedFrame | None = None) -> FrameReport:
        """Track one frame and, when it has moved far enough, make it a keyframe."""
        self.watch.restart()
        frame = self._take(raw, focused)
        problem = self.sensor.problem(raw)
        if problem is not None:
            return replace(self._report(frame, "lost", None, None), problem=problem)
        if self.sensor.begins_anew():
            self.reference = None
            self.sensor.unlearn()
        if self.reference is None:
            frame, self.lamp = first_without_bands(self.tracker, self.sensor, frame, self.lamp)
            return self._start_segment(frame)
        with self.watch("track"):
            tools = self.tracker, self.judge, self.sensor
            seen = track_without_bands(*tools, frame, self.reference, self.motion, self.lamp)
            frame, track, self.lamp = seen.frame, seen.track, seen.lamp
            verdict = None
            if track.ok:
                verdict = self.judge(frame, self.window.view, self.reference, track, self.motion)
        if verdict is None or not verdict.believed:
            return self._recover(frame, track, verdict)
        return self._follow(frame, track, verdict, self.reference)

    def _follow(self, frame: Frame, track: Track, verdict: Verdict, reference: Reference) -> FrameReport:
        """A frame whose pose is believed."""
        before = self.motion
        posed = reference.place(frame, track.T_frame_ref, track.brightness)
        teaches = verdict.is_example and not self._is_copy  # what was seen before teaches nothing new
        self.motion = self.motion.after(posed, track, verdict.shift, teaches)
        posed, even = self._in_common_light(posed, track, reference.exposure)
        due = wants_keyframe(even, self.motion, self.config.track, verdict.is_example)
        if due and not verdict.is_example and self.variant.measures_depth:
            self.motion = before
            return self._recover(frame, track, replace(verdict, contradiction=NO_KEYFRAME))
        if before.lost:
            self.window.began = self.window.next_id
        starting = self.variant.is_starting(self.window)
        if starting:
            posed = self._improve_start(posed, even, last=due)
        if due:
            return self._report(frame, "keyframe", track, self._add_keyframe(posed, track), verdict)
        if not starting and track.covered is None:  # what covers the scene would mislead searches
            with self.watch("trace"):
                self.window.trace(posed)
        self.map.record_between(posed, self.window.keyframes[-1], track.covered)
        return self._report(frame, "ok", track, None, verdict)

    def _in_common_light(
        self, posed: PosedFrame, track: Track, reference_exposure: float
    ) -> tuple[PosedFrame, Track]:
        """A frame and its track at the brightness of the map."""
        gain = light_of(track.brightness.gain, posed.frame.exposure, reference_exposure)
        if gain == 1.0:
            return posed, track
        with self.watch("pyramid"):
            return divided(posed, gain, self.tracker.pyramid), track_divided(track, gain)

    def keep_in(self, store: Store) -> None:
        """What is needed at the end of a run alone lies there from now on, not in memory."""
        self.map.keep_in(store, often_moved=self.places is not None)

    def miss(self, frame: UnreadableFrame) -> FrameReport:
        """A frame that could not be read: it has no pose, and nothing else changes."""
        self.watch.restart()
        self._is_copy = False
        return replace(self._report(frame, "lost", None, None), problem=frame.reason)

    def _take(self, raw: InputFrame, focused: DecodedFrame | None) -> Frame:
        """The frame of now."""
        before, self.frame = self.frame, self._prepare(raw, focused)
        self._is_copy = before is not None and is_copy(raw, before.source)
        return self.frame

    def _prepare(self, raw: InputFrame, focused: DecodedFrame | None) -> Frame:
        with self.watch("decode"):
            focused = focused if focused is not None else self.sensor.focus(raw)
        with self.watch("pyramid"):
            return Frame.of(raw, focused, self.tracker.pyramid(focused.image))

    def _add_keyframe(self, posed: PosedFrame, track: Track) -> MappingReport:
        """Mapping: the keyframe joins the window, which is optimised while its candidates are selected beside."""
        if track.covered is None:
            with self.watch("trace"):
                self.window.trace(posed)
        view = self.window.view
        candidates = self.selector.begin(posed.frame, view)
        with self.watch("optimise"):
            change = self.window.add(posed, track.covered, for_places=self.places is not None)
        self.map.take(change)
        if change.rescaling is not None:
            self.motion = self.motion.scaled(change.rescaling.factor)
            self.map.unrefined.again()
            if self.places is not None:
                self.places.rescale(change.rescaling.first, change.rescaling.factor)
        with self.watch("refine"):
            if self.window.is_filling:  # the first depths become better every time
                self.map.unrefined.again()
            undecided = not self.window.focus_is_settled or self.window.is_young
            self.map.unrefined.refine(self.window.keyframes, self.window.locate, keep=undecided)
        with self.watch("wait"):
            found = candidates()
            self.window.adopt(found, view)
        self._measured = (*self._measured, found.measured_share)[-REMEMBERED:]
        self._track_against_newest(posed.frame, change)
        return change.report

    def _track_against_newest(self, frame: Frame, change: WindowChange | None) -> None:
        """The newest keyframe, made of ``frame``, becomes the reference; ``change``: what its coming did."""
        with self.watch("reference"):
            depth = self.window.keyframe_depth()
            self.reference = self.tracker.reference(depth, frame.pyramid)
        newest = self.window.keyframes[-1]
        self.motion = self.motion.at_keyframe(newest.pose, newest.exposure)
        self.map.follow(self.window.keyframes, self.segment)
        self.map.follow_camera(self.window.camera.value, self.window.focus_since)
        self.map.record(frame.time, newest.pose, newest)
        if self.places is not None:
            with self.watch("places"):
                self.places.add(self._new_keyframe(frame, depth, change))

    def _new_keyframe(self, frame: Frame, depth: KeyframeDepth, change: WindowChange | None) -> NewKeyframe:
        ids = [k.id for k in self.window.keyframes]
        step = None if change is None else Step(ids[-2], ids[-1], change.step_covariance)
        departed, finished = ([], None) if change is None else (change.departed, change.finished)
        now, smoothed, view = dict(self.map.T_view_world), self.map.odometry(), self.window.view
        return NewKeyframe(
            frame, view, depth, self.segment, step, departed, finished, set(ids), now, smoothed
        )

    def _start_segment(self, frame: Frame) -> FrameReport:
        """First frame, or the first after a loss: metric at once, because its depth is measured."""
        found = self._recognised(frame)
        if found is not None:
            return self._start_at(frame, found)
        # a world of its own: where the camera went while nothing was seen is not known
        if not self._begin_window(frame, np.eye(4)):
            return self._report(frame, "lost", None, None)
        self.segment = self._segments
        self._segments += 1
        self._track_against_newest(frame, None)
        return self._report(frame, "keyframe", None, None)

    def _begin_window(self, frame: Frame, T_view_world: Array) -> bool:
        """A window of one keyframe; False: a dark or empty frame, wait for a better one."""
        window = self._new_window(self.window.next_id)
        window.insert(PosedFrame(frame, T_view_world, np.zeros(2)), fixed=True)
        found = self.selector.first(frame, window.view)
        window.adopt(found, window.view)
        self.variant.begin(window)
        if len(window.points) < LEAST_POINTS or self._has_poor_depth(found):
            if self.reference is None:
                self.sensor.unlearn()
            return False
        if self.segment >= 0:
            self.map.points.append(self.window.finished_points(self.window.points.inlier_count >= 3))
        self.window = window
        self._measured = (*self._measured, found.measured_share)[-REMEMBERED:]
        self.motion = Motion(T_view_world, was_moving=self.motion.was_moving)
        self.map.unrefined.clear()
        return True

    def _has_poor_depth(self, found: Candidates) -> bool:
        """Whether a frame has so much less depth than keyframes had that a better one should be waited for."""
        if not self._measured or self.motion.lost > WAITED * self.config.track.patience:
            return False
        return bool(found.measured_share < LEAST_DEPTH * np.median(self._measured))

    def _recognised(self, frame: Frame) -> Found | None:
        """A known place that the frame shows."""
        if self.places is None:
            return None
        with self.watch("places"):
            return self.places.recognise(frame, self.window.view)

    def _start_at(self, frame: Frame, found: Found) -> FrameReport:
        """A window begins at a known place, in the world of the keyframe that was recognised."""
        assert self.places is not None
        T_view_world = found.T_frame_keyframe @ self.places.pose_of(found.keyframe, self.map.odometry())
        if not self._begin_window(frame, se3.renormalised(T_view_world)):
            return self._report(frame, "lost", None, None)
        self.segment = self.map.corrections.segment_of.get(found.keyframe, 0)
        self.places.joined(found, self.window.keyframes[-1].id)
        self._track_against_newest(frame, None)
        return self._report(frame, "recovered", None, None)

    def _improve_start(self, posed: PosedFrame, track: Track, last: bool) -> PosedFrame:
        """A variant that cannot start at once gets better depths from one more frame."""
        with self.watch("optimise"):
            posed = self.variant.improve_start(self.window, self.tracker, posed, track, last)
        self.motion = self.motion.moved_to(posed.T_view_world)
        self.reference = self.tracker.reference(self.window.keyframe_depth())
        return posed

    def _recover(self, frame: Frame, track: Track, verdict: Verdict | None) -> FrameReport:
        """Try older keyframes; give up on the segment after a while and start a new one, metric at once."""
        self.motion = self.motion.after_loss()
        older = range(len(self.window.keyframes) - 2, -1, -1)
        with self.watch("track"):
            keyframes = map(self.window.keyframe_depth, older)
            found = relocate(self.tracker, self.judge, frame, self.window.view, keyframes, self.motion)
        if found is not None:
            self.window.began = self.window.next_id
            self.motion = self.motion.recovered(found.posed, found.track)
            posed, even = self._in_common_light(found.posed, found.track, found.exposure)
            mapping = self._add_keyframe(posed, even)
            return self._report(frame, "recovered", found.track, mapping, found.verdict)
        place = self._recognised(frame)
        if place is not None:
            return self._start_at(frame, place)
        if self.motion.lost > self.config.track.patience:
            return self._start_segment(frame)
        return self._report(frame, "lost", track, None, verdict)

    def _new_window(self, first_id: int) -> Window:
        calibrate = self.config.calibrate
        focus = None if calibrate == "off" else FocusModel.of(self.view, self.camera)
        lens = LensModel.of(self.camera) if calibrate == "all" else None
        return Window(self.view, self.config.window, self.variant.model(self.sensor, focus, lens), first_id)

    def _new_places(self, threads: bool, known: KnownPlaces | None) -> Places | None:
        """None: odometry alone, or a variant without metric depth."""
        if not (self.config.loops and self.variant.measures_depth):
            return None
        track, select = self.config.track, self.config.select
        places = Places(self.view, self.sensor.measure, track, select, threads, self.map.corrections)
        if known is not None:
            places.load(known)
        return places

    def _report(
        self,
        frame: Frame | UnreadableFrame,
        status: Status,
        track: Track | None,
        mapping: MappingReport | None,
        verdict: Verdict | None = None,
    ) -> FrameReport:
        return FrameReport(
            frame.index,
            frame.time,
            status,
            camera_pose(self.view, self.motion.T_view_world),
            self.segment,
            self.window.keyframes[-1].id if self.window.keyframes else -1,
            track,
            mapping,
            self.watch.seconds(),
            verdict=verdict,
            T_map_odometry=self._T_map_odometry(),
            covered=0.0 if status == "lost" else self._covered_share(track),
            copy=self._is_copy,
            measured=self._measured[-1] if status in ("keyframe", "recovered") else float("nan"),
        )

    def _covered_share(self, track: Track | None) -> float:
        """Of the image, by its track or in the keyframe that it is, or was, tracked against."""
        known = [k.covered for k in self.window.keyframes[-1:]] + [None if track is None else track.covered]
        masks = [zones.covered for zones in known if zones is not None]
        return float(np.any(masks, axis=0).mean()) if masks else 0.0

    def _T_map_odometry(self) -> Array:
        if self.places is None or not self.window.keyframes:
            return np.eye(4)
        return se3.inverse(self.map.corrections.of(self.window.keyframes[-1].id))

    # --- results ---------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """After the last frame: the frames since the last keyframe get their refined poses too."""
        self.map.unrefined.refine(self.window.keyframes, self.window.locate)
        if self.places is not None:
            remaining = [self.window.keyframe_depth(k) for k in range(len(self.window.keyframes))]
            self.places.finish(self.map.odometry(), remaining)

    def trajectory(self) -> Trajectory:
        """Pose of every tracked frame with the final keyframe poses."""
        return self.map.trajectory(self.view)

    def pose_covariances(self) -> Array:
        """(N, 6, 6) of the poses of :meth:`trajectory`: x, y, z (m), rotations about x, y, z (rad), world axes."""
        return self.map.pose_covariances()

    def keyframe_trajectory(self) -> Trajectory:
        """Poses of the keyframes alone."""
        return self.map.keyframe_trajectory(self.view)

    def refined_camera(self) -> Calibration | None:
        """The camera file with what this run found of it and how well that is known; None: it was not looked at."""
        seen, lens = self.window.focus_report(), self.window.lens_report()
        if seen is None or self.window.model.focus is None:
            return None
        refined = self.window.model.focus.refined(seen.shift, seen.sigma)
        if lens is None or self.window.model.lens is None:
            return refined
        return self.window.model.lens.refined(refined, self.window.view, lens.sigma)

    def cloud(self) -> PointCloud:
        """All map points so far, in the world frame, with σ of their depth."""
        return self.map.cloud(
            self.window.view, self.window.finished_points(self.window.points.inlier_count >= 1)
        )
