# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.soak --frames 10000``: a recording played to and fro with faults; memory, handles, time.

Growth is measured from a quarter of the frames on: before that, caches fill and kernels are loaded.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.small_recording import recording
from prism_vo.datasets import Sequence, open_sequence
from prism_vo.errors import InputError
from prism_vo.odometry import FrameReport
from prism_vo.pipeline import run
from prism_vo.report.sink import ReportSink
from prism_vo.types import InputFrame, RawFrame

BLACK_EVERY, BLACK = 700, 3  # frames
UNREADABLE_EVERY = 311
DIM_EVERY, DIM = 523, 0.8
LINES = 20


class ToAndFro:
    """A recording: frame 0 … n−1 … 0 … of another one, again and again; now and then black, darker or unreadable."""

    name, exposures, groundtruth, is_decoded = "to and fro", None, None, False

    def __init__(self, sequence: Sequence, count: int) -> None:
        self.sequence, self.camera, self.white = sequence, sequence.camera, sequence.white
        self.times = 0.1 * np.arange(count)

    def __len__(self) -> int:
        return len(self.times)

    def __iter__(self) -> Iterator[InputFrame]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> InputFrame:
        if number % UNREADABLE_EVERY == UNREADABLE_EVERY - 1:
            raise InputError(f"frame {number} is a fault for the soak test.")
        period = 2 * (len(self.sequence) - 1)
        place = number % period
        frame = self.sequence[place if place < len(self.sequence) else period - place]
        assert isinstance(frame, RawFrame)
        image = frame.image
        if number % BLACK_EVERY >= BLACK_EVERY - BLACK:
            image = np.zeros_like(image)
        elif number % DIM_EVERY == DIM_EVERY - 1:
            image = (image * DIM).astype(image.dtype)
        return replace(frame, index=number, time=float(self.times[number]), image=image)


@dataclass(frozen=True)
class Sample:
    """The process after so many frames."""

    frames: int
    memory: int  # bytes resident
    handles: int
    processor: float  # s


def sample(frames: int) -> Sample:
    """Of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Sample(
        frames, pages * os.sysconf("SC_PAGESIZE"), len(os.listdir("/proc/self/fd")), time.process_time()
    )


class Watcher:
    """Takes a sample every so many frames, as the ``progress`` of a run."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.samples = [sample(0)]

    def __call__(self, done: int, total: int | None, report: FrameReport) -> None:
        if done % self.every == 0:
            self.samples.append(sample(done))
            print(self.line(), flush=True)

    def line(self) -> str:
        """The last sample, and the time a frame since the one before."""
        before, now = self.samples[-2:]
        spent = 1e3 * (now.processor - before.processor) / (now.frames - before.frames)
        return f"{now.frames:6d} frames  {now.memory / 1e6:7.2f} MB  {now.handles:3d} handles  {spent:6.1f} ms a frame"


@dataclass(frozen=True)
class Growth:
    """What a run of any length would come to."""

    bytes_a_frame: float
    handles: int  # more at the end
    time_ratio: float  # processor time a frame, last quarter over second quarter


def growth(samples: list[Sample]) -> Growth:
    """By a line through the samples after the first quarter."""
    later = samples[len(samples) // 4 :]
    frames = np.array([s.frames for s in later], float)
    slope = float(np.polyfit(frames, [s.memory for s in later], 1)[0])
    spent = np.diff([s.processor for s in later]) / np.diff(frames)
    third = max(1, len(spent) // 3)
    ratio = float(np.median(spent[-third:]) / np.median(spent[:third]))
    return Growth(slope, later[-1].handles - later[0].handles, ratio)


def soak(folder: Path, frames: int, count: int) -> tuple[list[Sample], int, int]:
    """Samples, frames lost and segments of a run over ``count`` frames made of a recording of ``frames``.

    With checkpoints, report and a look at the camera, as ``prism-vo run`` does it.
    """
    sequence = open_sequence(recording(folder / "walk", frames))
    watcher, out = Watcher(max(1, count // LINES)), folder / "out"
    result = run(ToAndFro(sequence, count), None, out, sinks=[ReportSink(out)], progress=watcher, check=True)
    return watcher.samples, result.lost, result.segments


def main() -> int:
    """Print samples and growth."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--frames", type=int, default=10_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        samples, lost, segments = soak(Path(name), 60, given.frames)
    found = growth(samples)
    print(
        f"memory {found.bytes_a_frame:+.0f} bytes a frame, {found.handles:+d} handles, time a frame × "
        f"{found.time_ratio:.2f} from the first to the last third; {lost} frames lost, {segments} segments"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
