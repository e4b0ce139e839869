# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.judging FOLDER``: what judging every track costs, as a share of a frame's processor time.

The frames of a recording are tracked several times in one process, in turns with the judge and with one that believes
everything and looks for nothing (which exists for this benchmark alone): the poses must be the same. On a busy machine
two such runs differ by more than the judge costs, so the time spent in it is also taken by itself. Decoding is part of
a frame.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from prism_vo.config import Config
from prism_vo.datasets import open_sequence
from prism_vo.datasets.source import Sequence
from prism_vo.odometry import Odometry
from prism_vo.tracking.judge import Judge, Verdict


class Credulous(Judge):
    """Believes everything."""

    def doubts(self, *_: Any, **__: Any) -> bool:  # type: ignore[override]
        """Never."""
        return False

    def __call__(self, *_: Any, **__: Any) -> Verdict:  # type: ignore[override]
        """Always."""
        return Verdict(1.0)


class Timed:
    """Calls something and adds up the time."""

    def __init__(self, call: Any) -> None:
        self.call, self.seconds = call, 0.0

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        start = time.thread_time()
        found = self.call(*arguments, **named)
        self.seconds += time.thread_time() - start
        return found


class TimedJudge:
    """A judge whose answers are timed."""

    def __init__(self, judge: Judge) -> None:
        self.judged, self.doubts, self.recovered = Timed(judge), Timed(judge.doubts), Timed(judge.recovered)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.judged(*arguments, **named)

    @property
    def seconds(self) -> float:
        """In all."""
        return self.judged.seconds + self.doubts.seconds + self.recovered.seconds


@dataclass(frozen=True)
class Run:
    """Processor time a frame, that of judging, and the poses, to compare."""

    seconds: float
    judging: float
    poses: bytes


def tracked(sequence: Sequence, frames: int, judged: bool) -> Run:
    """All frames on one thread."""
    odometry = Odometry(sequence.camera, Config(), white=sequence.white, threads=False)
    bands = Timed(odometry.tracker.without_bands)
    judge = TimedJudge(odometry.following.judge)
    if judged:
        odometry.following.judge = judge  # type: ignore[assignment]
        odometry.tracker.without_bands = bands  # type: ignore[method-assign]
    else:
        odometry.following.judge = Credulous(
            odometry.following.judge.measure, odometry.following.judge.cutoff
        )
    start = time.process_time()
    for k in range(frames):
        odometry(sequence[k])
    spent = time.process_time() - start
    poses = odometry.trajectory().poses.tobytes()
    return Run(spent / frames, (judge.seconds + bands.seconds) / frames, poses)


def main() -> None:
    """Print both times and what they differ by."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--frames", type=int, default=30)
    parser.add_argument("--turns", type=int, default=5)
    chosen = parser.parse_args()
    sequence = open_sequence(chosen.folder)
    frames = min(chosen.frames, len(sequence))
    for judged in (True, False):
        tracked(sequence, min(frames, 8), judged)  # compiles
    turns = [[tracked(sequence, frames, judged) for judged in (True, False)] for _ in range(chosen.turns)]
    times = 1e3 * np.array([[each.seconds for each in pair] for pair in turns])
    judging = 1e3 * float(np.median([pair[0].judging for pair in turns]))
    differences = 100.0 * (times[:, 0] / times[:, 1] - 1.0)
    same = all(pair[0].poses == pair[1].poses for pair in turns)
    with_judge, without = np.median(times, axis=0)
    print(
        f"{sequence.name}: judging takes {judging:.2f} ms of processor of {with_judge:.1f} ms a frame,"
        f" {100 * judging / with_judge:.2f} % (bar 3 %); in turns {with_judge:.1f} and {without:.1f} ms"
        f" ({differences.min():+.1f} to {differences.max():+.1f} %); poses {'the same' if same else 'differ'}"
    )


if __name__ == "__main__":
    main()
