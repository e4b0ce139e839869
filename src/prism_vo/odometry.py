# SPDX-License-Identifier: Apache-2.0
"""``Odometry(camera, config)(raw) -> FrameReport``: feed frames, read poses. Knows no files and prints nothing.

How a frame finds its place is in :mod:`~prism_vo.following`. Here it is prepared for that, and a run whose focus was
wrong from the start begins again with the one that was found.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.beginning import Beginning, Fit
from prism_vo.cloud import PointCloud
from prism_vo.config import Config
from prism_vo.config_file import check_config
from prism_vo.copies import is_copy
from prism_vo.errors import ConfigError, expect
from prism_vo.following import Following, Tools
from prism_vo.frame_report import FrameReport
from prism_vo.lightfield import Decoder
from prism_vo.linear.one_thread import one_thread
from prism_vo.map.world import Map
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import LOADING, PlenopticCamera
from prism_vo.places.places import KnownPlaces, Places
from prism_vo.points.selector import CandidateSelector
from prism_vo.sensor import Sensor
from prism_vo.shelf import Store
from prism_vo.stopwatch import Stopwatch
from prism_vo.tracking.evened import Lamp
from prism_vo.tracking.tracker import Tracker
from prism_vo.trajectory import Trajectory
from prism_vo.types import DecodedFrame, Frame, InputFrame, UnreadableFrame
from prism_vo.variants import VARIANTS
from prism_vo.window.report import MappingReport
from prism_vo.window.window import Window

ATTEMPTS = (
    3  # to begin again, each with the focus that the one before it ended with; one where it is but improved
)


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
        check_config(self.config)
        self.variant = VARIANTS[self.config.variant]
        self.sensor: Sensor = sensor or Decoder(camera, self.config.decode, white=white)
        self.view = self.sensor.view
        if self.config.calibrate == "all" and self.view.name != "central":
            raise ConfigError(
                "--calibrate all needs the central view: leave decode.view and totally_focused.view at central."
            )
        self.watch = Stopwatch()
        self.tracker = Tracker(self.view, self.config.track)
        self.selector = CandidateSelector(
            partial(self.variant.measure, self.sensor),
            self.config.select,
            self.config.window.contrast,
            self.config.seed,
            self.watch,
            threads,
        )
        basics = self.camera, self.config, self.variant, self.sensor, self.view
        self.tools = Tools(*basics, self.watch, self.tracker, self.selector, known, threads)
        self.following = Following(self.tools)
        self.beginning = Beginning()
        self.frame: Frame | None = None  # the last one
        self._is_copy = False  # of the one before it
        self._store: Store | None = None

    def __repr__(self) -> str:
        return f"Odometry({self.config.variant}, {len(self.map.frames)} poses, {len(self.map.T_view_world)} keyframes)"

    @one_thread
    def __call__(self, raw: InputFrame, focused: DecodedFrame | None = None) -> FrameReport:
        """Track one frame and, when it has moved far enough, make it a keyframe."""
        self.watch.restart()
        frame = self._take(raw, focused)
        problem = self.sensor.problem(raw)
        if problem is not None:
            return self._lost(frame, problem)
        if self.sensor.begins_anew():
            self.following.forget_place()
            self.sensor.unlearn()
        self.beginning.add(frame)
        report = self.following(frame, self._is_copy)
        self.beginning.note(report.track)
        doubtful = (
            report.mapping is not None
            and self.window.focus_is_suspect
            and self.beginning.may_try(len(self.map.T_view_world))
        )
        wrong = doubtful or _wrong_from_the_start(report) or self._knows_better(report)
        if self.beginning.is_whole and wrong:
            report = self._begin_again(report)
        elif (self.beginning.focus is None and self.window.focus_is_settled) or self.following.segments > 1:
            self.beginning.close()
        return replace(report, copy=self._is_copy, shading=self.sensor.shading(raw))

    def miss(self, frame: UnreadableFrame) -> FrameReport:
        """A frame that could not be read: it has no pose, and nothing else changes."""
        self.watch.restart()
        self._is_copy = False
        return self._lost(frame, frame.reason)

    def keep_in(self, store: Store) -> None:
        """What is needed at the end of a run alone lies there from now on, not in memory."""
        self._store = store
        self.map.keep_in(store, often_moved=self.places is not None)

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

    def _lost(self, frame: Frame | UnreadableFrame, problem: str) -> FrameReport:
        return replace(self.following.lose(frame), problem=problem, copy=self._is_copy)

    def _begin(self, numbers: Array, held_for: int = 0) -> None:
        """Nothing has been seen yet, but numbers of the camera are known better than by its file.

        ``held_for``: keyframes that its focus was found with.
        """
        self.selector.restart(self.config.seed)
        self.following = Following(self.tools, numbers, held_for)
        if self._store is not None:
            self.keep_in(self._store)

    def _begin_again(self, report: FrameReport) -> FrameReport:
        """The focus was another one from the first frame on: all frames so far once more, with the one that was found.

        The best attempt stays, which may be the first one.
        """
        answer, frames, improves = report, self.beginning.frames, self.beginning.focus is not None
        best, random = self.following, self.selector.rng
        first = fits = self._fit_of(self.beginning.residuals, report.mapping)
        for _ in range(1 if improves else ATTEMPTS):
            if self.places is not None:
                self.places.collect()
            begun, mapping, residuals = self.window.latest_numbers, answer.mapping, []
            self._begin(begun, len(self.map.T_view_world))
            for before, frame in zip([None, *frames], frames):
                copy = before is not None and is_copy(frame.source, before.source)
                pyramid = self.tracker.pyramid(frame.focused.image)
                last = self.following(replace(frame, pyramid=pyramid), copy)
                mapping = last.mapping or mapping
                residuals += [] if last.track is None else [last.track.rms]
            fit = self._fit_of(residuals, mapping)
            if not (improves or fit.is_better_than(first)) or not fit.keeps(fits):
                self.following, self.selector.rng = best, random
                break
            answer = replace(last, mapping=_saying_so(mapping), seconds=self.watch.seconds())
            best, random, fits = self.following, self.selector.rng, fit
            self.beginning.begun(float(begun[-1]), residuals)
            if self.window.focus_is_near(begun[-1]):
                break
        self.beginning.keyframes = len(self.map.T_view_world)
        if answer is report and not improves:
            self.beginning.refuse()
        return answer

    def _knows_better(self, report: FrameReport) -> bool:
        """Whether the focus that the run began again with has turned out to be another one."""
        keyframes, focus = len(self.map.T_view_world), self.beginning.focus
        if report.mapping is None or focus is None or not self.beginning.may_improve(keyframes):
            return False
        self.beginning.keyframes = keyframes
        return not self.window.focus_is_near(focus)

    def _fit_of(self, residuals: list[float], mapping: MappingReport | None) -> Fit:
        """How well the frames fit so far; ``residuals`` of their tracks, ``mapping``: of the last keyframe."""
        zones = sum(int(k.covered.covered.sum()) for k in self.window.keyframes if k.covered is not None)
        middle = float(np.median(residuals)) if residuals else np.inf
        poses, segments = len(self.map.frames), self.following.segments
        agreement = None if mapping is None else mapping.agreement
        excess = float("nan") if agreement is None else abs(agreement.slope_excess)
        return Fit(poses, segments, self.window.is_covered, zones, middle, excess)

    # --- what is known ---------------------------------------------------------------------------------------

    @property
    def window(self) -> Window:
        """The keyframes and points that are being optimised."""
        return self.following.window

    @property
    def map(self) -> Map:
        """All keyframes, frames and points so far."""
        return self.following.map

    @property
    def places(self) -> Places | None:
        """What is recognised; None: nothing is."""
        return self.following.places

    @property
    def lamp(self) -> Lamp:
        """Bands of light that were seen."""
        return self.following.lamp

    @property
    def segment(self) -> int:
        """The present one; −1: none was begun."""
        return self.following.segment

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


def _wrong_from_the_start(report: FrameReport) -> bool:
    focus = None if report.mapping is None else report.mapping.focus
    return focus is not None and focus.verdict == "wrong from the start"


def _saying_so(mapping: MappingReport | None) -> MappingReport:
    """The report of a keyframe that says that the focus was wrong from the start."""
    assert mapping is not None and mapping.focus is not None
    return replace(mapping, focus=replace(mapping.focus, verdict="wrong from the start"))
