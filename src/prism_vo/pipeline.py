# SPDX-License-Identifier: Apache-2.0
"""Sequence → odometry → results folder. Reading and focusing of the next frames run beside tracking and mapping."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as Many
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from prism_vo.config import Config
from prism_vo.datasets.follow import FollowedSequence
from prism_vo.datasets.sequence import Sequence
from prism_vo.errors import DegenerateError, InputError
from prism_vo.evaluate.metrics import TrajectoryMetrics, evaluate_trajectory
from prism_vo.lightfield import Decoder
from prism_vo.odometry import FrameReport, Odometry
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.results import ResultsFolder, check_free
from prism_vo.sensor import DecodedSensor, Sensor
from prism_vo.trajectory import Trajectory
from prism_vo.types import DecodedFrame, InputFrame
from prism_vo.variants import VARIANTS

AHEAD = 2  # frames read and focused in advance
Progress = Callable[[int, int, FrameReport], None]


class Sink(Protocol):
    """Somebody who looks on: a viewer, a report. All calls come from one thread, in order."""

    def on_frame(self, report: FrameReport, frame: DecodedFrame, odometry: Odometry) -> None: ...

    def on_end(self, result: RunResult) -> None: ...


@dataclass(frozen=True)
class RunResult:
    """What a run came to; ``out`` is None when nothing was written."""

    name: str
    out: Path | None
    trajectory: Trajectory
    reports: list[FrameReport]
    metrics: TrajectoryMetrics | None
    metrics_refusal: str | None
    seconds: float
    odometry: Odometry
    sequence: Sequence

    @property
    def truth(self) -> Trajectory | None:
        """Ground truth of the sequence, if it has one."""
        return self.sequence.groundtruth

    @property
    def lost(self) -> int:
        """Frames without a pose."""
        return sum(r.status == "lost" for r in self.reports)

    @property
    def segments(self) -> int:
        """1 when tracking never had to start again."""
        return 1 + max((r.segment for r in self.reports), default=-1)


def run(
    sequence: Sequence, config: Config | None = None, out: Path | None = None, *, sinks: Many[Sink] = (),
    progress: Progress | None = None, frames: int | None = None, threads: bool = True, force: bool = False,
) -> RunResult:  # fmt: skip
    """Run the odometry over a sequence; with ``out``, write the results folder as frames come."""
    config = config or Config()
    count = len(sequence) if frames is None else min(frames, len(sequence))
    if count == 0:
        raise InputError(f"{sequence.name}: the sequence has no frames.")
    if out is not None:
        check_free(out, force)
    sensor = sensor_for(sequence.camera, config, sequence.white, sequence[0])
    odometry = Odometry(sequence.camera, config, sensor, threads=threads)
    # made last: input that cannot be used leaves no folder, and older results as they were
    folder = ResultsFolder(out, sequence, config, force) if out is not None else None
    indices: Iterable[int] = range(count)
    if isinstance(
        sequence, FollowedSequence
    ):  # nothing to read ahead: every frame is worked on when it comes
        indices, threads = sequence.arriving(frames), False
    reports: list[FrameReport] = []
    start = time.perf_counter()
    try:
        for frame, focused, seconds in _frames(sequence, sensor, indices, threads):
            report = odometry(frame, focused)
            report = replace(report, seconds={**report.seconds, "decode": seconds})
            reports.append(report)
            if folder is not None:
                folder.add(report)
            for sink in sinks:
                sink.on_frame(report, focused, odometry)
            if progress is not None:
                progress(len(reports), max(count, len(reports)), report)
    finally:
        if folder is not None:
            folder.close(odometry)
    seconds = time.perf_counter() - start
    trajectory = odometry.trajectory()
    metrics, refusal = _metrics(trajectory, sequence.groundtruth)
    result = RunResult(sequence.name, out, trajectory, reports, metrics, refusal, seconds, odometry, sequence)
    for sink in sinks:
        sink.on_end(result)
    return result


def _frames(
    sequence: Sequence, sensor: Sensor, indices: Iterable[int], threads: bool
) -> Iterator[tuple[InputFrame, DecodedFrame, float]]:
    """Frames in order with their totally focused image and the seconds that took."""

    def load(index: int) -> tuple[InputFrame, DecodedFrame, float]:
        start = time.perf_counter()
        frame = sequence[index]
        focused = sensor.focus(frame)
        return frame, focused, time.perf_counter() - start

    if not threads:
        yield from map(load, indices)
        return
    with ThreadPoolExecutor(1, thread_name_prefix="focus") as pool:
        waiting: list[Future[tuple[InputFrame, DecodedFrame, float]]] = []
        for index in indices:
            waiting.append(pool.submit(load, index))
            if len(waiting) == AHEAD:
                yield waiting.pop(0).result()
        yield from (future.result() for future in waiting)


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
