# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.cache_misses RECORDING``: how often the hottest kernels miss the caches, by valgrind.

Where a machine has no hardware counters, valgrind's cachegrind simulates its caches. A recording is tracked once and
the last call of each of the hottest kernels is kept; then each is called again a few times in a process under
cachegrind, and what such a process counts beyond one that calls none, divided by the calls, is that of a call. Compiled
for a processor with AVX2, the most that valgrind knows, so that instructions differ a little from those of a run.
Takes minutes: every process of Python takes fifty times as long there.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.cost import Watched, watched
from benchmarks.speed import ALONE, frames_of
from prism_vo.datasets import open_sequence
from prism_vo.datasets.source import Sequence
from prism_vo.odometry import Odometry
from prism_vo.types import InputFrame

FRAMES = 12
HOTTEST = 5
CALLS = 10
PROCESSOR = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+fma", "OPENBLAS_NUM_THREADS": "1"}
LAST_CACHE = "--LL=8388608,16,64"  # 8 MB: what a process has of a server's cache that many share
COUNTED = {
    "instructions": "I +refs",
    "reads and writes": "D +refs",
    "first": "D1 +misses",
    "last": "LLd misses",
}


class Kept(Watched):
    """A kernel whose last call can be repeated."""

    def __call__(self, *arguments: Any) -> Any:
        self.arguments = arguments
        return super().__call__(*arguments)


def keep_calls(recording: Path, file: Path) -> None:
    """Track the recording's first frames; the last calls of the hottest kernels go to ``file``."""
    sequence = open_sequence(recording)
    frames = frames_of(sequence)[:FRAMES]
    _track(sequence, frames)  # compiles
    with watched(Kept) as kernels:
        _track(sequence, frames)
    hottest = sorted(kernels, key=lambda k: -k.seconds)[:HOTTEST]
    calls = {
        k.kernel.py_func.__name__: (k.kernel.py_func.__module__, k.arguments)  # type: ignore[attr-defined]
        for k in hottest
    }
    file.write_bytes(pickle.dumps(calls))


def _track(sequence: Sequence, frames: list[InputFrame]) -> None:
    odometry = Odometry(sequence.camera, ALONE, white=sequence.white, threads=False)
    for frame in frames:
        odometry(frame)


def repeat(file: Path, name: str, times: int) -> None:
    """Call kernels again: each once, which loads them, and that of ``name`` so many times more."""
    for kernel, (module, arguments) in pickle.loads(file.read_bytes()).items():
        function = getattr(import_module(module), kernel)
        for _ in range(1 + times * (kernel == name)):
            function(*arguments)


def counted(file: Path, name: str, times: int) -> dict[str, int]:
    """What cachegrind counts in a process that repeats calls."""
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", LAST_CACHE]
    command += ["--cachegrind-out-file=/dev/null"]
    command += [sys.executable, "-m", "benchmarks.cache_misses", "--repeat", str(file), name, str(times)]
    environment = {**os.environ, **PROCESSOR}
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr
    found = {what: re.search(rf"{words}: +([\d,]+)", said) for what, words in COUNTED.items()}
    return {what: int(match[1].replace(",", "")) for what, match in found.items() if match is not None}


def print_misses(recording: Path) -> None:
    """A row a kernel."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "calls.pickle"
        command = [sys.executable, "-m", "benchmarks.cache_misses", "--keep", str(file), str(recording)]
        subprocess.run(command, env={**os.environ, **PROCESSOR}, check=True)
        names = list(pickle.loads(file.read_bytes()))
        print(
            "| kernel | million instructions a call | of reads and writes miss the first cache | the last |"
        )
        print("|---|---:|---:|---:|")
        without = counted(file, "", 0)
        for name in names:
            more = counted(file, name, CALLS)
            a = {what: (more[what] - without[what]) / CALLS for what in more}
            accesses = max(a["reads and writes"], 1.0)
            print(
                f"| `{name}` | {a['instructions'] / 1e6:.2f} | {100 * a['first'] / accesses:.2f} % "
                f"| {100 * a['last'] / accesses:.2f} % |",
                flush=True,
            )


def main() -> int:
    """Print the table, or do a part of it in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cache_misses", description=__doc__)
    parser.add_argument("recording", type=Path, nargs="?")
    parser.add_argument("--keep", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--repeat", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.repeat is not None:
        repeat(Path(given.repeat[0]), given.repeat[1], int(given.repeat[2]))
    elif given.recording is None:
        parser.error("name a recording")
    elif given.keep is not None:
        keep_calls(given.recording, given.keep)
    elif shutil.which("valgrind") is None:
        print("valgrind is not installed (Debian: apt-get install valgrind).", file=sys.stderr)
        return 2
    else:
        print_misses(given.recording)
    return 0


if __name__ == "__main__":
    sys.exit(main())
