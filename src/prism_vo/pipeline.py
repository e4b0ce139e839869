# SPDX-License-Identifier: Apache-2.0
"""Frames → odometry → results folder. Reading and focusing of the next frames run beside tracking and mapping."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Many
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from types import NoneType
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from prism_vo.calibrate.watch import CameraWatch
from prism_vo.config import Config
from prism_vo.config_file import check_config
from prism_vo.datasets import open_sequence
from prism_vo.datasets.reading import frames_of
from prism_vo.datasets.selection import check_part
from prism_vo.datasets.source import FrameSource, closing_notes_of, is_live, naming_white
from prism_vo.errors import ArgumentError, DegenerateError, InputError, expect
from prism_vo.evaluate.metrics import TrajectoryMetrics, evaluate_trajectory
from prism_vo.frame_rate import FrameClock
from prism_vo.interruption import uninterrupted
from prism_vo.kept_run import KeptRun
from prism_vo.known_map import check_maps, known_places, map_of
from prism_vo.lightfield import Decoder
from prism_vo.linear.one_thread import one_thread
from prism_vo.loading import Loaded, first_readable, focused_frames, nothing_usable
from prism_vo.map_file import write_map
from prism_vo.odometry import FrameReport, Odometry
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.recognition import mark_recognised, recognition_of
from prism_vo.results import check_free
from prism_vo.run_result import RunResult as RunResult
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
    known: Path | str | None = None,
    save_map: Path | str | None = None,
) -> RunResult:
    """Run the odometry over a recording (or its path), a growing folder or a :class:`Stream` of frames from anywhere.

    With ``out`` the results folder is written as frames come; ``frames``: stop after so many;
    ``check``: also look, beside the run, whether the camera file fits the images. ``resume``: go on in ``out`` where an
    unfinished run of the same recording and settings was ended; ``call``: what to note in its checkpoint.
    ``known``: a map to start in; ``save_map``: where to write that of this run, with what was known before.
    """
    _check_arguments(config, sinks, progress, frames)
    config, out = config or Config(), _path(out, "out")
    known, save_map = _path(known, "known"), _path(save_map, "save_map")
    source = open_sequence(source) if isinstance(source, str | Path) else source
    if not hasattr(source, "camera"):
        raise ArgumentError(
            f"source must be a recording, its path or a Stream(frames, camera), not a {type(source).__name__}."
        )
    if out is not None:
        check_free(out, force, resume)
    check_maps(config, known, save_map, force, resume)
    incoming = islice(frames_of(source), frames)
    unreadable, first = first_readable(source.name, incoming)
    with naming_white(source):
        sensor = sensor_for(source.camera, config, source.white, first)
    stored = None if known is None else known_places(known, sensor.view)
    odometry = Odometry(source.camera, config, sensor, threads=threads, known=stored)
    total = _length(source, frames)
    watch = CameraWatch(source.camera, source.white, threads) if check else None
    # made last: input that cannot be used leaves no folder, and older results as they were
    kept = (
        None
        if out is None
        else KeptRun.begin(out, source, first, total, odometry, (watch, *sinks), force, resume, call)
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
        mark_recognised(odometry, reports)
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
        recognition_of(odometry, reports, None if known is None else known.name),
    )
    for sink in sinks:
        sink.on_end(result)
    if kept is not None:
        kept.finish(result.lost, result.segments, result.exit_code)
    return result


def _check_arguments(
    config: Config | None, sinks: Many[object], progress: object, frames: int | None
) -> None:
    """Before anything is opened."""
    expect(config, (Config, NoneType), "config", "settings are named: Config(variant='full')")
    check_config(config or Config())
    check_part(0, frames, 1)
    expect(sinks, Many, "sinks", "a list of sinks")
    for sink in sinks:
        if not (callable(getattr(sink, "on_frame", None)) and callable(getattr(sink, "on_end", None))):
            raise ArgumentError(f"a sink has on_frame and on_end, which a {type(sink).__name__} has not.")
    if progress is not None and not callable(progress):
        raise ArgumentError(f"progress must be a function, not a {type(progress).__name__}.")


def _path(value: object, name: str) -> Path | None:
    expect(value, (str, Path, NoneType), name)
    return Path(value) if isinstance(value, str | Path) else None


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
