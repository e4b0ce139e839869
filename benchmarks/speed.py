# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.speed [RECORDING…]``: where the time of a frame goes, and how long it takes on any machine.

Times are given in ms and as a ratio to a fixed loop of sorting, looking up and multiplying, which is measured in the
same run before and after: machines differ, and one machine differs from minute to minute. Without a recording a short
one is simulated. ``--gate`` compares that one's ratio with ``speed_baseline.json``, ``--update`` writes it.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np

from prism_vo.config import Config
from prism_vo.datasets import open_sequence
from prism_vo.datasets.source import Sequence
from prism_vo.frame_report import FrameReport
from prism_vo.odometry import Odometry
from prism_vo.pipeline import run
from prism_vo.simulate.options import SimulateOptions
from prism_vo.simulate.write import simulate_sequence
from prism_vo.types import InputFrame

BASELINE = Path(__file__).with_name("speed_baseline.json")
SLOWER = 1.25  # times the baseline's ratio, beyond which the gate fails
LOOPS = 5  # of the reference, of which the fastest counts
RUNS = 3  # of a recording, likewise
FRAMES = 40
WARM_UP = 5  # frames at the start that are not counted in frames a second
KERNELS_SHOWN = 12
# without threads stage times add up, and wall time is processor time on a free machine
ALONE = replace(Config(), decode=replace(Config().decode, threads=1))
NESTED = ("measure",)  # stages that are part of another one


def reference_loop() -> float:
    """Processor seconds of a fixed piece of work on one core: half arithmetic, half memory."""
    rng = np.random.default_rng(0)
    values, image = rng.random(1 << 18, np.float32), rng.random((1024, 1024), np.float32)
    x, y = (rng.random((512, 512), np.float32) * 1020 for _ in range(2))
    a = rng.random((192, 192))
    cv2.setNumThreads(1)
    best = np.inf
    for _ in range(LOOPS):
        start = time.process_time()
        for _ in range(4):
            np.sort(
                values, kind="stable"
            )  # the default one is four times faster on processors with wide vectors
            cv2.remap(image, x, y, cv2.INTER_LINEAR)
            np.einsum("ij,jk->ik", a, a)
        best = min(best, time.process_time() - start)
    return best


@dataclass(frozen=True)
class Times:
    """Of one recording."""

    processor: float  # s a frame
    wall: float  # s a frame
    reports: list[FrameReport]


def frames_of(sequence: Sequence) -> list[InputFrame]:
    """All frames in memory: reading files is not what is measured."""
    return [sequence[i] for i in range(len(sequence))]


def timed(sequence: Sequence, frames: list[InputFrame], config: Config, threads: bool) -> Times:
    """The fastest of some runs after one that compiles."""
    best: Times | None = None
    for turn in range(1 + RUNS):
        odometry = Odometry(sequence.camera, config, white=sequence.white, threads=threads)
        processor, wall = time.process_time(), time.perf_counter()
        reports = [odometry(frame) for frame in frames]
        processor, wall = time.process_time() - processor, time.perf_counter() - wall
        if turn and (best is None or processor < best.processor * len(frames)):
            best = Times(processor / len(frames), wall / len(frames), reports)
    assert best is not None
    return best


def print_stages(reports: list[FrameReport]) -> None:
    """Wall ms by stage (no threads), for an ordinary frame and for a keyframe."""
    kinds = {"ordinary frame": [], "keyframe": []}  # type: dict[str, list[FrameReport]]
    for report in reports[1:]:
        kinds["ordinary frame" if report.mapping is None else "keyframe"].append(report)
    stages = list(dict.fromkeys(stage for r in reports for stage in r.seconds))
    print("| ms | " + " | ".join(stages) + " | all |\n|---" + "|---:" * (len(stages) + 1) + "|")
    for kind, some in kinds.items():
        means = [1e3 * float(np.mean([r.seconds.get(s, 0.0) for r in some])) for s in stages]
        whole = sum(m for m, s in zip(means, stages) if s not in NESTED)
        print(f"| {kind} ({len(some)}) | " + " | ".join(f"{m:.1f}" for m in means) + f" | {whole:.1f} |")


def print_kernels(sequence: Sequence, frames: list[InputFrame]) -> None:
    """Processor ms a frame of the compiled kernels, and of all that is not compiled."""
    odometry = Odometry(sequence.camera, ALONE, white=sequence.white, threads=False)
    profile = cProfile.Profile(time.process_time)
    profile.enable()
    for frame in frames:
        odometry(frame)
    profile.disable()
    kernels, others = defaultdict[str, list[float]](lambda: [0.0, 0.0]), 0.0
    for (file, _, name), (_, calls, own, _, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        compiled = "prism_vo" in file and name in _compiled_names(file)
        if compiled:
            kernels[name][0] += 1e3 * own / len(frames)
            kernels[name][1] += calls / len(frames)
        else:
            others += 1e3 * own / len(frames)
    print("\n| kernel | ms a frame | calls a frame |\n|---|---:|---:|")
    ranked = sorted(kernels.items(), key=lambda item: -item[1][0])
    for name, (own, calls) in ranked[:KERNELS_SHOWN]:
        print(f"| `{name}` | {own:.2f} | {calls:.1f} |")
    rest = sum(own for _, (own, _) in ranked[KERNELS_SHOWN:])
    print(f"| {len(ranked) - KERNELS_SHOWN} more kernels | {rest:.2f} | |")
    print(f"| NumPy, OpenCV, SciPy and Python (with the profiler's own cost) | {others:.2f} | |")


@cache
def _compiled_names(file: str) -> set[str]:
    """Functions of a source file that Numba compiles."""
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return {
        after.split("def ")[1].split("(")[0]
        for line, after in pairwise(lines)
        if line.startswith("@njit") and after.startswith("def ")
    }


def measure(path: Path, detailed: bool) -> float:
    """Print the times of a recording; returns processor time a frame over that of the reference loop."""
    sequence = open_sequence(path)
    frames = frames_of(sequence)
    before = reference_loop()
    single = timed(sequence, frames, ALONE, threads=False)
    both = timed(sequence, frames, Config(), threads=True)
    unit = min(before, reference_loop())
    stamps: list[float] = []
    run(sequence, Config(), progress=lambda *_: stamps.append(time.perf_counter()))
    rate = (len(stamps) - WARM_UP) / (stamps[-1] - stamps[WARM_UP - 1])
    ratio = both.processor / unit
    size = f"{sequence.camera.calibration.sensor.width} × {sequence.camera.calibration.sensor.height}"
    keyframes = sum(r.mapping is not None for r in both.reports)
    print(f"\n{sequence.name}: {size} px, {len(frames)} frames, {keyframes} keyframes")
    print(f"reference loop {1e3 * unit:.1f} ms of processor time")
    print(
        f"a frame: {1e3 * both.processor:.1f} ms of processor time ({ratio:.3f} loops), {1e3 * both.wall:.1f} ms of "
        f"wall time ({both.wall / unit:.3f}); without threads {1e3 * single.processor:.1f} ms"
    )
    print(f"end to end, reading and decoding beside: {rate:.1f} frames/s after the first {WARM_UP} frames\n")
    if detailed:
        print_stages(single.reports)
        print_kernels(sequence, frames)
    return ratio


def main() -> int:
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("recordings", type=Path, nargs="*")
    parser.add_argument("--profile", action="store_true", help="by stage and by kernel")
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--update", action="store_true")
    given = parser.parse_args()
    for path in given.recordings:
        measure(path, given.profile)
    if given.recordings and not (given.gate or given.update):
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        simulate_sequence("table", path, SimulateOptions(camera="small", frames=FRAMES))
        ratio = measure(path, given.profile)
    if given.update:
        BASELINE.write_text(
            json.dumps({"sweep": "table, small camera", "loops": round(ratio, 3)}, indent=2) + "\n"
        )
    if not given.gate:
        return 0
    limit = SLOWER * json.loads(BASELINE.read_text())["loops"]
    print(f"{'ok' if ratio <= limit else 'SLOWER'}: {ratio:.3f} loops a frame, limit {limit:.3f}")
    return 0 if ratio <= limit else 1


if __name__ == "__main__":
    sys.exit(main())
