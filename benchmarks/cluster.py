# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.cluster [--workers 1 2 4] [--pieces 8]``: what it costs to send jobs to a Dask cluster.

Three kinds of jobs on so many workers of this machine: ones that do nothing (Dask's own share), calls of this program
that do nothing (a process and its imports), and pieces of a recording that are decoded, beside the same pieces in local
processes. Jobs per second, and seconds a job costs beyond its work.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from prism_vo.cli import main as program
from prism_vo.commands import depth_pieces
from prism_vo.workers.executors import run_local, run_on_cluster
from prism_vo.workers.program import call_program

EMPTY_JOBS, EMPTY_CALLS = 200, 8
FRAMES = 6  # of a piece


def nothing(number: int) -> int:
    """A job without work."""
    return number


def empty_call(log: str) -> int:
    """A process without work."""
    return call_program(["--version"], Path(log)).code


def seconds_of(work: Callable[[], object]) -> float:
    """Wall time."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def decode(recording: Path, out: Path, where: list[str]) -> None:
    """All pieces of a recording."""
    assert program(["depth", str(recording), "--out", str(out), *where, "-q"]) == 0


def rows(folder: Path, workers: list[int], pieces: int) -> list[str]:
    """One line a number of workers."""
    from distributed import LocalCluster

    recording = folder / "recording"
    arguments = ["--camera", "mini", "--frames", str(FRAMES * pieces), "--truth-every", "0", "-q"]
    assert program(["simulate", "table", str(recording), *arguments]) == 0
    depth_pieces.PIECE = FRAMES
    decode(recording, folder / "warm", ["--jobs", "2"])  # kernels are compiled
    lines = []
    for count in workers:
        logs = [str(folder / f"log{n}.txt") for n in range(EMPTY_CALLS)]
        local = seconds_of(lambda n=count: decode(recording, folder / f"local{n}", ["--jobs", str(n)]))  # type: ignore[misc]
        local_calls = seconds_of(lambda n=count, logs=logs: list(run_local(empty_call, logs, n)))  # type: ignore[misc]
        with LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as cluster:
            address = cluster.scheduler_address
            list(run_on_cluster(nothing, range(count), address))
            jobs = seconds_of(lambda a=address: list(run_on_cluster(nothing, range(EMPTY_JOBS), a)))  # type: ignore[misc]
            calls = seconds_of(lambda a=address, logs=logs: list(run_on_cluster(empty_call, logs, a)))  # type: ignore[misc]
            where = ["--scheduler", address]
            whole = seconds_of(lambda n=count, w=where: decode(recording, folder / f"dask{n}", w))  # type: ignore[misc]
        lines.append(
            f"| {count} | {EMPTY_JOBS / jobs:.0f} ({1e3 * jobs / EMPTY_JOBS:.1f} ms) "
            f"| {EMPTY_CALLS / local_calls:.2f} | {EMPTY_CALLS / calls:.2f} | {local:.1f} s | {whole:.1f} s |"
        )
    return lines


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--pieces", type=int, default=8)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines = rows(Path(folder), given.workers, given.pieces)
    print(
        "| workers | empty jobs a second | empty calls a second, here | on the cluster "
        f"| {given.pieces} pieces of {FRAMES} images, here | on the cluster |\n|---:|---|---|---|---|---|"
    )
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
