# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.cost RECORDING [--sizes RECORDING…]``: what a frame costs, and what its hottest kernels do.

Tables of cost against image size (of the recordings given, or of simulated ones), number of points and keyframes in
the window; and of the hottest kernels: vector instructions in their machine code, and memory against what the machine
can move. Times are processor time without threads; the reference loop is that of :mod:`benchmarks.speed`.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numba
import numpy as np

from benchmarks.speed import ALONE, frames_of, reference_loop
from prism_vo.config import Config
from prism_vo.datasets import open_sequence
from prism_vo.datasets.source import Sequence
from prism_vo.odometry import Odometry
from prism_vo.simulate.options import SimulateOptions
from prism_vo.simulate.write import simulate_sequence
from prism_vo.types import InputFrame

RUNS = 2  # of which the faster counts, after one that compiles
SCALES = (0.25, 0.5, 1.0)  # of the camera r5: 512², 1024², 2048²
SIMULATED_FRAMES = 12
POINTS = (500, 1000, 2000, 4000)
WINDOWS = (4, 5, 7, 9)
HOTTEST = 5
TRIAD_SIZE = 1 << 25  # floats: larger than any cache
# single and double precision, VEX-encoded or not: the last two letters say packed or scalar
ARITHMETIC = re.compile(r"^\s+v?(?:add|sub|mul|div|min|max|sqrt|fn?m(?:add|sub)\d*)([ps])[sd]\s", re.M)


@dataclass(frozen=True)
class Cost:
    """Of a frame of one recording with one configuration."""

    processor: float  # s, of the faster run
    keyframes: int

    def cells(self, unit: float) -> str:
        """Of a table: ms, loops, frames/s of one core, keyframes."""
        rate = 1.0 / self.processor
        return f"{1e3 * self.processor:.1f} | {self.processor / unit:.2f} | {rate:.1f} | {self.keyframes}"


def cost(sequence: Sequence, frames: list[InputFrame], config: Config) -> Cost:
    """The faster of some runs after one that compiles."""
    best: Cost | None = None
    for turn in range(1 + RUNS):
        odometry = Odometry(sequence.camera, config, white=sequence.white, threads=False)
        start = time.process_time()
        reports = [odometry(frame) for frame in frames]
        seconds = (time.process_time() - start) / len(frames)
        if turn and (best is None or seconds < best.processor):
            best = Cost(seconds, sum(r.mapping is not None for r in reports))
    assert best is not None
    return best


def heading(first: str) -> None:
    """Of a table of costs."""
    print(
        f"\n| {first} | processor ms a frame | loops | frames/s of one core | keyframes |\n|---"
        + "|---:" * 4
        + "|"
    )


def print_sizes(paths: list[Path], count: int) -> None:
    """Cost against the size of the raw image."""
    heading("raw image")
    for path in paths:
        sequence = open_sequence(path)
        sensor = sequence.camera.calibration.sensor
        found = cost(sequence, frames_of(sequence)[:count], ALONE)
        print(f"| {sensor.width} × {sensor.height} | {found.cells(reference_loop())} |", flush=True)


def simulated(folder: Path) -> list[Path]:
    """The same sweep over a table in several sizes."""
    paths = []
    for scale in SCALES:
        paths.append(folder / f"table_{scale}")
        options = SimulateOptions(camera="r5", scale=scale, frames=SIMULATED_FRAMES, truth_every=0)
        simulate_sequence("table", paths[-1], options)
    return paths


def with_points(count: int) -> Config:
    """So many active points, and new ones in proportion."""
    select = replace(ALONE.select, first_candidates=count, candidates=count // 2)
    return replace(ALONE, select=select, window=replace(ALONE.window, points=count))


def with_window(count: int) -> Config:
    """So many keyframes in the window."""
    return replace(ALONE, window=replace(ALONE.window, keyframes=count))


def print_settings(sequence: Sequence, frames: list[InputFrame]) -> None:
    """Cost against the number of points and of keyframes."""
    kinds: list[tuple[str, Callable[[int], Config], tuple[int, ...]]] = [
        ("points", with_points, POINTS),
        ("keyframes in the window", with_window, WINDOWS),
    ]
    for words, config, numbers in kinds:
        heading(words)
        for number in numbers:
            found = cost(sequence, frames, config(number))
            print(f"| {number} | {found.cells(reference_loop())} |", flush=True)


class Watched:
    """A kernel that notes how long its calls took and how large the arrays were that it was given."""

    def __init__(self, kernel: Any) -> None:
        self.kernel, self.seconds, self.size, self.calls = kernel, 0.0, 0, 0

    def __call__(self, *arguments: Any) -> Any:
        start = time.process_time()
        try:
            return self.kernel(*arguments)
        finally:
            self.seconds += time.process_time() - start
            self.size += sum(array.nbytes for array in _arrays(arguments))
            self.calls += 1


def _arrays(things: Any) -> Iterator[np.ndarray]:
    """All arrays in nested tuples."""
    for thing in things:
        if isinstance(thing, np.ndarray):
            yield thing
        elif isinstance(thing, tuple):
            yield from _arrays(thing)


@contextmanager
def watched(by: type[Watched] = Watched) -> Iterator[list[Watched]]:
    """Every kernel that is called from Python; those that kernels call are part of their callers."""
    found: dict[int, Watched] = {}
    places = []
    for module in [m for name, m in sys.modules.items() if name.startswith("prism_vo.")]:
        for name, thing in list(vars(module).items()):
            if hasattr(thing, "nopython_signatures"):
                places.append((module, name, thing))
                setattr(module, name, found.setdefault(id(thing), by(thing)))
    try:
        yield list(found.values())
    finally:
        for module, name, thing in places:
            setattr(module, name, thing)


def instructions(kernel: Any) -> tuple[int, int]:
    """Packed and scalar arithmetic of floats in the machine code; compiled again, as kept code cannot be looked at."""
    options = {name: value for name, value in kernel.targetoptions.items() if name != "nopython"}
    again = numba.njit(**options)(kernel.py_func)
    again.compile(kernel.nopython_signatures[0].args)
    letters = ARITHMETIC.findall(next(iter(again.inspect_asm().values())))
    return letters.count("p"), letters.count("s")


def bandwidth() -> float:
    """Bytes a second of a = b + s · c on one core, the best of some: two are read, one is written."""
    b, c = np.ones(TRIAD_SIZE, np.float32), np.ones(TRIAD_SIZE, np.float32)
    a = np.empty_like(b)
    _triad(a, b, c, np.float32(3.0))
    best = np.inf
    for _ in range(5):
        start = time.process_time()
        _triad(a, b, c, np.float32(3.0))
        best = min(best, time.process_time() - start)
    return 3 * a.nbytes / best


@numba.njit(fastmath=True)
def _triad(a, b, c, s):  # type: ignore[no-untyped-def]
    for k in range(len(a)):
        a[k] = b[k] + s * c[k]


def print_kernels(sequence: Sequence, frames: list[InputFrame]) -> None:
    """Time, vector instructions and memory of the hottest kernels."""
    odometry = Odometry(sequence.camera, ALONE, white=sequence.white, threads=False)
    for frame in frames:
        odometry(frame)  # compiles
    odometry = Odometry(sequence.camera, ALONE, white=sequence.white, threads=False)
    with watched() as kernels:
        for frame in frames:
            odometry(frame)
    most = bandwidth()
    print(f"\nmemory: {most / 1e9:.1f} GB/s of one core (a = b + s · c, {TRIAD_SIZE * 4 >> 20} MB each)\n")
    print(
        "| kernel | ms a frame | packed | scalar | packed share | MB of arrays a call | at most GB/s | of the machine |"
    )
    print("|---" + "|---:" * 7 + "|")
    for one in sorted(kernels, key=lambda k: -k.seconds)[:HOTTEST]:
        packed, scalar = instructions(one.kernel)
        rate = one.size / one.seconds
        print(
            f"| `{one.kernel.py_func.__name__}` | {1e3 * one.seconds / len(frames):.2f} | {packed} | {scalar} "
            f"| {100 * packed / max(packed + scalar, 1):.0f} % | {one.size / one.calls / 1e6:.1f} "
            f"| {rate / 1e9:.1f} | {100 * rate / most:.0f} % |",
            flush=True,
        )


def main() -> int:
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__)
    parser.add_argument("recording", type=Path, help="for points, windows and kernels")
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--sizes", type=Path, nargs="*", help="recordings of several sizes; none: simulated")
    parser.add_argument("--only", choices=("sizes", "settings", "kernels"))
    given = parser.parse_args()
    sequence = open_sequence(given.recording)
    frames = frames_of(sequence)[: given.frames]
    print(f"reference loop {1e3 * reference_loop():.1f} ms; {sequence.name}, {len(frames)} frames")
    if given.only in (None, "kernels"):
        print_kernels(sequence, frames)
    if given.only in (None, "settings"):
        print_settings(sequence, frames)
    if given.only in (None, "sizes"):
        with tempfile.TemporaryDirectory() as folder:
            print_sizes(given.sizes or simulated(Path(folder)), given.frames)
    return 0


if __name__ == "__main__":
    sys.exit(main())
