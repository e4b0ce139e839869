# SPDX-License-Identifier: Apache-2.0
"""Frames → odometry → results folder. Reading and focusing of the next frames run beside tracking and mapping."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Many
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from types import NoneType
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from prism_vo.calibrate.check import CameraCheck
from prism_vo.calibrate.watch import CameraWatch
from prism_vo.config import Config
from prism_vo.datasets import open_sequence
from prism_vo.datasets.reading import frames_of
from prism_vo.datasets.selection import check_part
from prism_vo.datasets.source import FrameSource, closing_notes_of, is_live, naming_white
from prism_vo.errors import ArgumentError, ConfigError, DegenerateError, InputError, expect
from prism_vo.evaluate.metrics import TrajectoryMetrics, evaluate_trajectory
from prism_vo.frame_rate import FrameClock, FrameRate
from prism_vo.interruption import uninterrupted
from prism_vo.kept_run import KeptRun
from prism_vo.lightfield import Decoder
from prism_vo.linear.one_thread import one_thread
from prism_vo.loading import Loaded, first_readable, focused_frames, nothing_usable
from prism_vo.map_file import StoredMap, check_map_target, check_view, read_map, write_map
from prism_vo.notebook.html import card, path_drawing
from prism_vo.notices import doubts, focus_notices, lamp_notices, lens_notices
from prism_vo.odometry import FrameReport, Odometry
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.nominal import metric_notice
from prism_vo.places.places import KnownPlaces
from prism_vo.results import check_free
from prism_vo.sensor import DecodedSensor, Sensor
from prism_vo.shelf import Shelf
from prism_vo.trajectory import Trajectory
from prism_vo.types import DecodedFrame, InputFrame, SourceFrame, UnreadableFrame
from prism_vo.variants import VARIANTS
from prism_vo.withdrawal import withdraw

Progress = Callable[[int, int | None, FrameReport], None]  # frames done, frames in all if that is known


class Sink(Protocol):
    """A viewer, a logger, a report. All calls come from one thread, in order."""

    def on_frame(self, report: FrameReport, frame: DecodedFrame, odometry: Odometry) -> None: ...

    def on_end(self, result: RunResult) -> None: ...


@runtime_checkable
class SeesUnreadable(Protocol):
    """A sink that also wants to know of frames there is no image of."""

    def on_unreadable(self, report: FrameReport) -> None: ...


@dataclass(frozen=True)
class RunResult:
    """What a run came to; ``out`` is None when nothing was written."""

    name: str
    out: Path | None
    trajectory: Trajectory
    reports: Many[FrameReport]
    truth: Trajectory | None
    metrics: TrajectoryMetrics | None
    metrics_refusal: str | None
    seconds: float
    odometry: Odometry
    rate: FrameRate
    check: CameraCheck | None  # of the camera file against the images; None: nobody looked
    remarks: tuple[str, ...] = ()  # of the source, after its last frame

    def __repr__(self) -> str:
        known = f" ± {100 * self.scale_sigma:.2f} %" if np.isfinite(self.scale_sigma) else ""
        lost = f", {self.lost} without a pose" if self.lost else ""
        return f"RunResult({self.name!r}, {len(self.reports)} frames{lost}, {self.trajectory.length:.3f} m{known})"

    def _repr_html_(self) -> str:
        return run_html(self)

    @property
    def lost(self) -> int:
        """Frames without a pose."""
        return sum(r.status == "lost" for r in self.reports)

    @property
    def unreadable(self) -> list[FrameReport]:
        """Those of the lost frames that could not be read; ``problem`` says why."""
        return [r for r in self.reports if r.problem is not None]

    @property
    def notices(self) -> list[str]:
        """What does not fit, one sentence each."""
        camera = self.odometry.camera
        metric = metric_notice(camera.calibration)
        problems = self.check.problems() if self.check is not None else []
        optics = [] if metric is None else [metric]
        optics += [*focus_notices(self.reports, camera), *lens_notices(self.reports, camera)]
        return [
            *problems,
            *self.odometry.sensor.remarks(),
            *doubts(self.reports),
            *lamp_notices(self.odometry.lamp.frames, len(self.reports)),
            *optics,
            *self.remarks,
        ]

    @property
    def scale_sigma(self) -> float:
        """Relative standard deviation of the scale at the end of the run; NaN: not determined."""
        known = (r.mapping.scale_sigma for r in reversed(self.reports) if r.mapping is not None)
        return next(known, float("nan"))

    @property
    def segments(self) -> int:
        """1 when tracking never had to start again, or a recognised place joined what was apart."""
        return len({self.world_of(r) for r in self.reports if r.segment >= 0})

    def world_of(self, report: FrameReport) -> int:
        """The segment in whose world a frame is at the end; −1: none was begun."""
        return self.odometry.map.corrections.joined.get(report.segment, report.segment)

    @property
    def exit_code(self) -> int:
        """0: every frame has a pose in one world; 3: some have none, worlds are separate, or something may have drawn
        poses aside: the scene was covered, images became poor, or came again while the camera went on."""
        return 3 if self.lost or self.segments > 1 or doubts(self.reports) else 0


@one_thread
def run(
    source: FrameSource | Path | str,
    config: Config | None = None,
    out: Path | str | None = None,
    *,
    sinks: Many[Sink] = (),
    progress: Progress | None = None,
    frames: int | None = None,
    threads: bool = True,
    force: bool = False,
    check: bool = False,
    resume: bool = False,
    call: dict[str, Any] | None = None,
    known: Path | None = None,
    save_map: Path | None = None,
) -> RunResult:
    """Run the odometry over a recording (or its path), a growing folder or a :class:`Stream` of frames from anywhere.

    With ``out`` the results folder is written as frames come; ``frames``: stop after so many;
    ``check``: also look, beside the run, whether the camera file fits the images. ``resume``: go on in ``out`` where an
    unfinished run of the same recording and settings was ended; ``call``: what to note in its checkpoint.
    ``known``: a map to start in; ``save_map``: where to write that of this run, with what was known before.
    """
    source = open_sequence(source) if isinstance(source, str | Path) else source
    if not hasattr(source, "camera"):
        raise ArgumentError(
            f"source must be a recording, its path or a Stream(frames, camera), not a {type(source).__name__}."
        )
    expect(config, (Config, NoneType), "config", "settings are named: Config(variant='full')")
    config, out = config or Config(), None if out is None else Path(out)
    check_part(0, frames, 1)
    if out is not None:
        check_free(out, force, resume)
    if known is not None or save_map is not None:
        _check_recognising(config)
    if save_map is not None:
        check_map_target(save_map, force, known, resume)
    incoming = islice(frames_of(source), frames)
    unreadable, first = first_readable(source.name, incoming)
    with naming_white(source):
        sensor = sensor_for(source.camera, config, source.white, first)
    stored = None if known is None else _known_map(known, sensor)
    odometry = Odometry(source.camera, config, sensor, threads=threads, known=stored)
    total = _length(source, frames)
    watch = CameraWatch(source.camera, source.white, threads) if check else None
    # made last: input that cannot be used leaves no folder, and older results as they were
    kept = (
        None
        if out is None
        else KeptRun.begin(out, source, total, odometry, (watch, *sinks), force, resume, call)
    )
    reports: Shelf[FrameReport] = Shelf() if kept is None else kept.reports
    waiting: Iterator[SourceFrame] = chain(unreadable, [first], incoming)
    if reports:
        waiting = islice(frames_of(source, len(reports)), None if frames is None else frames - len(reports))
    clock, start = FrameClock(), time.perf_counter()
    try:
        with clock.listening():
            for loaded in focused_frames(waiting, sensor, threads, is_live(source)):
                with uninterrupted():  # a signal ends the run between two frames
                    if watch is not None:
                        watch.offer(loaded.frame)
                    report = _processed(loaded, odometry)
                    reports.append(report)
                    if kept is not None:
                        kept.add(report)
                    clock.tick()
                    _tell(sinks, report, loaded.focused, odometry)
                    if kept is not None:
                        kept.keep(loaded.memory)
                    if progress is not None:
                        progress(len(reports), total, report)
    except BaseException as error:
        if kept is not None:
            kept.end_early(odometry, error)
        raise
    with uninterrupted():
        odometry.finish()
        withdraw(odometry.map, reports)
        sensor.rest()
        if kept is not None:
            kept.close(odometry)
    if save_map is not None:
        write_map(map_of(odometry), save_map)
    seconds = time.perf_counter() - start
    if all(r.problem is not None for r in reports):
        raise nothing_usable(source.name, [r.problem or "" for r in reports])
    trajectory, truth = odometry.trajectory(), source.groundtruth
    metrics, refusal = _metrics(trajectory, truth)
    result = RunResult(
        source.name,
        out,
        trajectory,
        reports,
        truth,
        metrics,
        refusal,
        seconds,
        odometry,
        clock.rate(),
        None if watch is None else watch.result(),
        closing_notes_of(source),
    )
    for sink in sinks:
        sink.on_end(result)
    if kept is not None:
        kept.finish(result.lost, result.segments, result.exit_code)
    return result


def _check_recognising(config: Config) -> None:
    """Maps, to start in or to save, are made of recognisable places: refused before anything is done."""
    if not VARIANTS[config.variant].measures_depth:
        raise ConfigError(
            f"The variant {config.variant} recognises no places, so it can neither use nor save a map."
        )
    if not config.loops:
        raise ConfigError(
            "A map needs recognised places, which are off by default; add --loops (loops: true)."
        )


def _known_map(path: Path, sensor: Sensor) -> KnownPlaces:
    stored = read_map(path)
    check_view(stored, sensor.view, path)
    return KnownPlaces(stored.keyframes, stored.poses)


def map_of(odometry: Odometry) -> StoredMap:
    """The keyframes of a finished run that hang together with its first one, and those of the map it started in."""
    places = odometry.places
    if places is None:
        raise ConfigError(
            "Without recognised places (loops: off, or the pinhole variant) there is no map to save."
        )
    poses = {**places.loaded, **odometry.map.poses()}
    first = next((part for part in places.joints.parts(sorted(poses))), [])
    keyframes = [places.finder.keyframes[k] for k in first if k in places.finder.keyframes]
    return StoredMap(odometry.view, keyframes, {k.id: poses[k.id] for k in keyframes})


def _processed(loaded: Loaded, odometry: Odometry) -> FrameReport:
    if isinstance(loaded.frame, UnreadableFrame):
        report = odometry.miss(loaded.frame)
    else:
        report = odometry(loaded.frame, loaded.focused)
    return replace(report, seconds={**report.seconds, "decode": loaded.seconds})


def _tell(sinks: Many[Sink], report: FrameReport, focused: DecodedFrame | None, odometry: Odometry) -> None:
    for sink in sinks:
        if focused is not None:
            sink.on_frame(report, focused, odometry)
        elif isinstance(sink, SeesUnreadable):
            sink.on_unreadable(report)


def _length(source: FrameSource, frames: int | None) -> int | None:
    """How many frames are to come, if the source knows."""
    known = operator.length_hint(source) or None
    return known if frames is None or known is None else min(frames, known)


def sensor_for(
    camera: PlenopticCamera, config: Config, white: NDArray[Any] | None, first: InputFrame
) -> Sensor:
    """The decoder for raw frames, a look-up for decoded ones."""
    if not isinstance(first, DecodedFrame):
        return Decoder(camera, config.decode, white=white)
    if VARIANTS[config.variant].measures_depth and first.inv_virtual_depth is None:
        raise InputError(
            "The sequence has focused images but no virtual depth; add virtual_depth/ or use raw images."
        )
    return DecodedSensor(first.view)


def _metrics(estimate: Trajectory, truth: Trajectory | None) -> tuple[TrajectoryMetrics | None, str | None]:
    if truth is None:
        return None, "no ground truth"
    try:
        half_step = 0.5 * float(np.median(np.diff(truth.times))) if len(truth.times) > 1 else 0.01
        return evaluate_trajectory(estimate, truth, max_difference=max(half_step, 1e-6)), None
    except DegenerateError as error:
        return None, str(error)


def run_html(result: RunResult) -> str:
    """A run for notebooks: the numbers one looks at first, and the path."""
    path, m = result.trajectory, result.metrics
    known = f" ± {100 * result.scale_sigma:.2f} % (scale)" if np.isfinite(result.scale_sigma) else ""
    rows = [
        ("frames", f"{len(result.reports)}, {result.lost} of them without a pose"),
        ("path", f"{path.length:.3f} m{known}"),
        ("map", f"{len(result.odometry.cloud())} points"),
    ]
    if m is not None:
        se3 = m.se3
        rows.append(
            (
                "error",
                f"{1e3 * se3.rmse_t:.2f} mm = {se3.rmse_t_percent:.3f} % of the path, {se3.rmse_r_deg:.3f}°",
            )
        )
    rows += [("note", notice) for notice in result.notices]
    if result.out is not None:
        rows.append(("results", str(result.out)))
    return card(result.name, rows, path_drawing(path.paths, path.poses) if len(path) else "")
