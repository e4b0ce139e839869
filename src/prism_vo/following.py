# SPDX-License-Identifier: Apache-2.0
"""The method's loop: a frame finds its place, and becomes a keyframe when it has moved far enough."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.config import Config
from prism_vo.frame_report import FrameReport, Status
from prism_vo.map.world import Map, camera_pose
from prism_vo.optics.camera import FocusedView, PlenopticCamera
from prism_vo.optics.focus import FocusModel
from prism_vo.optics.lens import LensModel
from prism_vo.places.finder import Found
from prism_vo.places.joints import Step
from prism_vo.places.places import KnownPlaces, NewKeyframe, Places
from prism_vo.points.selector import CandidateSelector
from prism_vo.sensor import Sensor
from prism_vo.stopwatch import Stopwatch
from prism_vo.tracking.brightness import covered_share
from prism_vo.tracking.common_light import divided, light_of, track_divided
from prism_vo.tracking.depth_shares import DepthShares
from prism_vo.tracking.evened import Lamp, first_without_bands, track_without_bands
from prism_vo.tracking.judge import Judge, Verdict
from prism_vo.tracking.motion import Motion
from prism_vo.tracking.policy import keyframe_distance, wants_keyframe
from prism_vo.tracking.recovery import judged, relocate
from prism_vo.tracking.reference import KeyframeDepth, Reference
from prism_vo.tracking.track import Track
from prism_vo.tracking.tracker import Tracker
from prism_vo.types import Frame, PosedFrame, UnreadableFrame
from prism_vo.variants.variant import Variant
from prism_vo.window.refocus import begin_with
from prism_vo.window.report import MappingReport, WindowChange
from prism_vo.window.window import Window

LEAST_POINTS = 30  # to start a segment with
WAITED = 3  # times the patience, after which a segment starts though others had more depth
NO_TEXTURE = "Hardly anything in the image can be followed: no map can begin with it."
NO_KEYFRAME = "The image fits badly and has no depth: the map cannot go on with it."


@dataclass(frozen=True)
class Tools:
    """What a camera is followed with; the same however often that begins."""

    camera: PlenopticCamera
    config: Config
    variant: Variant
    sensor: Sensor
    view: FocusedView
    watch: Stopwatch
    tracker: Tracker
    selector: CandidateSelector
    known: KnownPlaces | None  # keyframes of a map that was made before
    threads: bool


class Following:
    """Follows the camera from the first frame on: all that is known of its path and of the scene."""

    def __init__(self, tools: Tools, numbers: Array | None = None, held_for: int = 0) -> None:
        """``numbers`` of the camera, where they are known better than by its file; ``held_for``: keyframes that its
        focus was found with, and is held for."""
        self.tools, self.held_for = tools, held_for
        self.camera, self.config, self.variant = tools.camera, tools.config, tools.variant
        self.sensor, self.view, self.watch = tools.sensor, tools.view, tools.watch
        self.tracker, self.selector, self.numbers = tools.tracker, tools.selector, numbers
        self.judge = Judge(partial(self.variant.measure, self.sensor), self.config.track.cutoff)
        known, self.segment = tools.known, -1
        self.window = self._new_window(0 if known is None else 1 + max(known.poses))
        self.reference: Reference | None = None
        self.motion = Motion()
        self.map = Map()
        self.places = self._new_places(tools.threads, known)
        self.segments = int(known is not None)  # that were begun; the world of a known map is the first
        self.lamp = Lamp()
        self.last: FrameReport | None = None  # of the frame before
        self._depth = DepthShares()
        self._farther = 1.0  # times the usual distance between keyframes

    def __call__(self, frame: Frame, copy: bool = False) -> FrameReport:
        """Track one frame and, when it has moved far enough, make it a keyframe.

        ``copy``: of the frame before it; what was seen before teaches nothing new.
        """
        if copy and self.last is not None and self.last.status != "lost":
            self.last = self._shown_again(frame, self.last)
        else:
            self.last = self._new(frame)
        return self.last

    def forget_place(self) -> None:
        """The frames before the next one must not be used; a map begins with it."""
        self.reference, self._depth = None, DepthShares()

    def lose(self, frame: Frame | UnreadableFrame) -> FrameReport:
        """A frame that cannot be used: nothing but time has gone on."""
        self.motion = self.motion.after_copy()
        self.last = self.report(frame, "lost", None, None)
        return self.last

    def _shown_again(self, frame: Frame, before: FrameReport) -> FrameReport:
        """A copy has the pose of its image; whether the camera stood still, the next new image tells."""
        self.motion = self.motion.after_copy()
        self.map.record_copy(frame.time)
        return before.again(frame.index, frame.time, self.watch.seconds())

    def _new(self, frame: Frame) -> FrameReport:
        """An image that was not seen before."""
        if self.reference is None:
            frame, self.lamp = first_without_bands(self.tracker, self.sensor, frame, self.lamp)
            return self._start_segment(frame)
        with self.watch("track"):
            tools = self.tracker, self.judge, self.sensor
            seen = track_without_bands(*tools, frame, self.reference, self.motion, self.lamp)
            frame, track, self.lamp = seen.frame, seen.track, seen.lamp
            at = frame, self.window.view, self.reference, track, self.motion
            track, verdict = judged(self.tracker, self.judge, *at) if track.ok else (track, None)
        if verdict is None or not verdict.believed:
            return self._recover(frame, track, verdict)
        return self._believed(frame, track, verdict, self.reference)

    def _believed(self, frame: Frame, track: Track, verdict: Verdict, reference: Reference) -> FrameReport:
        """A frame whose pose is believed."""
        before = self.motion
        posed = reference.place(frame, track.T_frame_ref, track.brightness)
        self.motion = self.motion.after(posed, track, verdict.shift, verdict.is_example, verdict.surprise)
        posed, even = self._in_common_light(posed, track, reference.exposure)
        due = wants_keyframe(even, self.motion, self.config.track, verdict.is_example, self._farther)
        if due and not verdict.is_example and self.variant.measures_depth:
            self.motion = before
            return self._recover(frame, track, replace(verdict, contradiction=NO_KEYFRAME))
        if before.lost:
            self.window.began = self.window.next_id
        starting = self.variant.is_starting(self.window)
        if starting:
            posed = self._improve_start(posed, even, last=due)
        if due:
            return self.report(frame, "keyframe", track, self._add_keyframe(posed, track), verdict)
        if not starting and track.covered is None:  # what covers the scene would mislead searches
            with self.watch("trace"):
                self.window.trace(posed)
        self.map.record_between(posed, self.window.keyframes[-1], track.covered)
        return self.report(frame, "ok", track, None, verdict)

    def _in_common_light(
        self, posed: PosedFrame, track: Track, reference_exposure: float
    ) -> tuple[PosedFrame, Track]:
        """A frame and its track at the brightness of the map."""
        gain = light_of(track.brightness.gain, posed.frame.exposure, reference_exposure)
        if gain == 1.0:
            return posed, track
        with self.watch("pyramid"):
            return divided(posed, gain, self.tracker.pyramid), track_divided(track, gain)

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
        self._farther = 1.0 if self.window.is_learning else keyframe_distance(found.scale_sigma(view))
        self._depth = self._depth.after(found.measured_share)
        self._track_against_newest(posed.frame, change)
        return change.report

    def _track_against_newest(self, frame: Frame, change: WindowChange | None) -> None:
        """The newest keyframe, made of ``frame``, becomes the reference; ``change``: what its coming did."""
        with self.watch("reference"):
            depth = self.window.keyframe_depth()
            self.reference = self.tracker.reference(depth, frame.pyramid)
        newest = self.window.keyframes[-1]
        self.motion = self.motion.at_keyframe(newest.pose, newest.exposure, self._depth.are_usual)
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
        """First frame, or the first after a loss: metric at once, in a world of its own: the way there is not known."""
        found = self._recognised(frame)
        if found is not None:
            return self._start_at(frame, found)
        problem = self._begin_window(frame, np.eye(4))
        if problem is not None:
            return self.report(frame, "lost", None, None, Verdict(0.0, problem))
        self.segment = self.segments
        self.segments += 1
        self._track_against_newest(frame, None)
        return self.report(frame, "keyframe", None, None)

    def _begin_window(self, frame: Frame, T_view_world: Array) -> str | None:
        """A window of one keyframe; or why none should begin with this frame: a better one is waited for."""
        if self.window.focus_has_moved:
            self.numbers = self.window.camera.value
        window = self._new_window(self.window.next_id)
        window.insert(PosedFrame(frame, T_view_world, np.zeros(2)), fixed=True)
        found = self.selector.first(frame, window.view)
        window.adopt(found, window.view)
        self.variant.begin(window)
        problem = NO_TEXTURE if len(window.points) < LEAST_POINTS else None
        if problem is None and self.variant.measures_depth:
            waited = self.motion.lost > WAITED * self.config.track.patience
            problem = self._depth.problem(found.measured_share, self.sensor.least_depth_share, waited)
        if problem is not None:
            if self.reference is None:
                self.sensor.unlearn()
            return problem
        if self.segment >= 0:
            self.map.points.append(self.window.finished_points(self.window.points.inlier_count >= 3))
        self.window, self._farther = window, 1.0
        self._depth = self._depth.after(found.measured_share)
        self.motion = Motion(T_view_world, was_moving=self.motion.was_moving)
        self.map.unrefined.clear()
        return None

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
        problem = self._begin_window(frame, se3.renormalised(T_view_world))
        if problem is not None:
            return self.report(frame, "lost", None, None, Verdict(0.0, problem))
        self.segment = self.map.corrections.segment_of.get(found.keyframe, 0)
        self.places.joined(found, self.window.keyframes[-1].id)
        self._track_against_newest(frame, None)
        return replace(self.report(frame, "recovered", None, None), recognised=found.keyframe)

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
        if found is not None and (found.verdict.is_example or not self.motion.depth_is_usual):
            self.window.began = self.window.next_id
            self.motion = self.motion.recovered(found.posed, found.track)
            posed, even = self._in_common_light(found.posed, found.track, found.exposure)
            mapping = self._add_keyframe(posed, even)
            return self.report(frame, "recovered", found.track, mapping, found.verdict)
        place = self._recognised(frame)
        if place is not None:
            return self._start_at(frame, place)
        if self.motion.lost > self.config.track.patience:
            self.lamp = self.lamp.in_another_map()
            return self._start_segment(frame)
        return self.report(frame, "lost", track, None, verdict)

    def _new_window(self, first_id: int) -> Window:
        calibrate = self.config.calibrate
        focus = None if calibrate == "off" else FocusModel.of(self.view, self.camera)
        lens = LensModel.of(self.camera) if calibrate == "all" else None
        model = self.variant.model(self.sensor, focus, lens)
        window = Window(self.view, self.config.window, model, first_id)
        if self.numbers is not None:
            begin_with(window, self.numbers)
            if self.segment < 0:  # a later one sees other keyframes
                window.held_for = max(window.held_for, self.held_for)
        return window

    def _new_places(self, threads: bool, known: KnownPlaces | None) -> Places | None:
        """None: odometry alone, or a variant without metric depth."""
        if not (self.config.loops and self.variant.measures_depth):
            return None
        track, select = self.config.track, self.config.select
        places = Places(self.view, self.sensor.measure, track, select, threads, self.map.corrections)
        if known is not None:
            places.load(known)
        return places

    def report(
        self,
        frame: Frame | UnreadableFrame,
        status: Status,
        track: Track | None,
        mapping: MappingReport | None,
        verdict: Verdict | None = None,
    ) -> FrameReport:
        """What is known of a frame now."""
        zones = [k.covered for k in self.window.keyframes[-1:]] + [None if track is None else track.covered]
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
            covered=0.0 if status == "lost" else covered_share(zones),
            measured=self._depth.last if status in ("keyframe", "recovered") else float("nan"),
        )

    def _T_map_odometry(self) -> Array:
        if self.places is None or not self.window.keyframes:
            return np.eye(4)
        return se3.inverse(self.map.corrections.of(self.window.keyframes[-1].id))
