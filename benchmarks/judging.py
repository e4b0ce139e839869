# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.judging FOLDER``: what judging every track costs, as a share of a frame's processor time.

The frames of a recording are tracked several times in one process, in turns with the judge and with one that believes
everything and looks for nothing (which exists for this benchmark alone). Decoding is part of a frame.
"""

from __future__ import annotations

import argparse
import time
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

    @staticmethod
    def doubts(*_: Any) -> bool:  # type: ignore[override]
        """Never."""
        return False

    def __call__(self, *_: Any) -> Verdict:  # type: ignore[override]
        """Always."""
        return Verdict(1.0)


def seconds_a_frame(sequence: Sequence, frames: int, judged: bool) -> tuple[float, bytes]:
    """Processor seconds a frame, and the poses, to compare."""
    odometry = Odometry(sequence.camera, Config(), white=sequence.white, threads=False)
    if not judged:
        odometry.judge = Credulous(odometry.judge.measure, odometry.judge.cutoff)
    start = time.process_time()
    for k in range(frames):
        odometry(sequence[k])
    spent = time.process_time() - start
    return spent / frames, odometry.trajectory().poses.tobytes()


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
        seconds_a_frame(sequence, min(frames, 8), judged)  # compiles
    runs = [
        [seconds_a_frame(sequence, frames, judged) for judged in (True, False)] for _ in range(chosen.turns)
    ]
    times = 1e3 * np.array([[each[0] for each in pair] for pair in runs])
    with_judge, without = np.median(times, axis=0)
    shares = 100.0 * (times[:, 0] / times[:, 1] - 1.0)
    same = all(pair[0][1] == pair[1][1] for pair in runs)
    print(
        f"{sequence.name}: {with_judge:.1f} ms of processor a frame with the judge, {without:.1f} without;"
        f" {np.median(shares):+.1f} % (turns {shares.min():+.1f} to {shares.max():+.1f} %; bar 3 %);"
        f" poses {'the same' if same else 'differ'}"
    )


if __name__ == "__main__":
    main()
