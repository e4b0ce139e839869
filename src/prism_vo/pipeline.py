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
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from prism_vo.config import Config
from prism_vo.datasets.source import FrameSource
from prism_vo.errors import DegenerateError, InputError
from prism_vo.evaluate.metrics import TrajectoryMetrics, evaluate_trajectory
from prism_vo.lightfield import Decoder
from prism_vo.odometry import FrameReport, Odometry
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.read_ahead import read_ahead
from prism_vo.results import ResultsFolder, check_free
from prism_vo.sensor import DecodedSensor, Sensor
from prism_vo.trajectory import Trajectory
from prism_vo.types import DecodedFrame, InputFrame
from prism_vo.variants import VARIANTS

AHEAD = 2  # frames read and focused in advance
Progress = Callable[[int, int | None, FrameReport], None]  # frames done, frames in all if that is known


class Sink(Protocol):
    """A viewer, a logger, a report. All calls come from one thread, in order."""

    def on_frame(self, report: FrameReport, frame: DecodedFrame, odometry: Odometry) -> None: ...

    def on_end(self, result: RunResult) -> None: ...


@dataclass(frozen=True)
class RunResult:
    """What a run came to; ``out`` is None when nothing was written."""

    name: str
    out: Path | None
    trajectory: Trajectory
    reports: list[FrameReport]
    truth: Trajectory | None
    metrics: TrajectoryMetrics | None
    metrics_refusal: str | None
    seconds: float
    odometry: Odometry

    @property
    def lost(self) -> int:
        """Frames without a pose."""
        return sum(r.status == "lost" for r in self.reports)

    @property
    def segments(self) -> int:
        """1 when tracking never had to start again."""
        return 1 + max((r.segment for r in self.reports), default=-1)


def run(
    source: FrameSource,
    config: Config | None = None,
    out: Path | None = None,
    *,
    sinks: Many[Sink] = (),
    progress: Progress | None = None,
    frames: int | None = None,
    threads: bool = True,
    force: bool = False,
) -> RunResult:
    """Run the odometry over a recording, a growing folder or a :class:`Stream` of frames from anywhere.

    With ``out`` the results folder is written as frames come; ``frames``: stop after so many.
    """
    config = config or Config()
    if out is not None:
        check_free(out, force)
    incoming = islice(iter(source), frames)
    first = next(incoming, None)
    if first is None:
        raise InputError(f"{source.name}: the sequence has no frames.")
    sensor = sensor_for(source.camera, config, source.white, first)
    odometry = Odometry(source.camera, config, sensor, threads=threads)
    total = _length(source, frames)
    # made last: input that cannot be used leaves no folder, and older results as they were
    folder = ResultsFolder(out, source.name, total, config, force) if out is not None else None
    reports: list[FrameReport] = []
    start = time.perf_counter()
    try:
        for frame, focused, seconds in _focused(chain([first], incoming), sensor, threads):
            report = odometry(frame, focused)
            report = replace(report, seconds={**report.seconds, "decode": seconds})
            reports.append(report)
            if folder is not None:
                folder.add(report)
            for sink in sinks:
                sink.on_frame(report, focused, odometry)
            if progress is not None:
                progress(len(reports), total, report)
    finally:
        odometry.finish()
        if folder is not None:
            folder.close(odometry)
    seconds = time.perf_counter() - start
    trajectory, truth = odometry.trajectory(), source.groundtruth
    metrics, refusal = _metrics(trajectory, truth)
    result = RunResult(source.name, out, trajectory, reports, truth, metrics, refusal, seconds, odometry)
    for sink in sinks:
        sink.on_end(result)
    return result


def _focused(
    frames: Iterator[InputFrame], sensor: Sensor, threads: bool
) -> Iterator[tuple[InputFrame, DecodedFrame, float]]:
    """Frames in order with their totally focused image and the seconds that reading and focusing took."""

    def load() -> Iterator[tuple[InputFrame, DecodedFrame, float]]:
        start = time.perf_counter()
        for frame in frames:
            focused = sensor.focus(frame)
            yield frame, focused, time.perf_counter() - start
            start = time.perf_counter()

    return read_ahead(load(), AHEAD) if threads else load()


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
