# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.same_bytes [RECORDING] [--frames N]``: one run several ways; are its files the same?

With threads beside tracking and without, on one core and on two, ended by SIGTERM and gone on with.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.small_recording import program, recording
from prism_vo.results import COVARIANCES, KEYFRAMES, POINTS, QUALITY, REFINED_CAMERA, STATS, TRAJECTORY

FILES = (TRAJECTORY, KEYFRAMES, POINTS, COVARIANCES, QUALITY, REFINED_CAMERA)
QUIET = ("--no-report", "--quiet")


def one_core() -> None:
    """For a process before it starts: it and its threads share one core."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def whole(walk: Path, out: Path, frames: int, *options: str, alone: bool = False) -> None:
    """A run that nobody disturbs."""
    arguments = ("run", str(walk), "--frames", str(frames), "--out", str(out), *QUIET, *options)
    done = subprocess.run(
        program(*arguments), capture_output=True, text=True, preexec_fn=one_core if alone else None
    )
    assert done.returncode in (0, 3), done.stderr


def interrupted(walk: Path, out: Path, frames: int) -> None:
    """A run that is told to end after a third and after two thirds of its frames, and gone on with each time."""
    arguments = ("run", str(walk), "--frames", str(frames), "--out", str(out), *QUIET)
    for share in (1 / 3, 2 / 3):
        process = subprocess.Popen(program(*arguments), stderr=subprocess.DEVNULL)
        while process.poll() is None and _frames(out) < share * frames:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 128 + signal.SIGTERM, "it came to its end before it was told to"
        arguments = ("run", "--resume", str(out), *QUIET)
    done = subprocess.run(program(*arguments), capture_output=True, text=True)
    assert done.returncode in (0, 3), done.stderr


def _frames(out: Path) -> int:
    stats = out / STATS
    return stats.read_text().count("\n") if stats.is_file() else 0


def digests(out: Path) -> dict[str, str]:
    """File → the beginning of its hash."""
    paths = [out / name for name in FILES if (out / name).is_file()]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in paths}


def compare(walk: Path, folder: Path, frames: int) -> bool:
    """Print the hashes of every way; True: they are all the same."""
    ways = {
        "two threads": lambda out: whole(walk, out, frames),
        "one thread": lambda out: whole(walk, out, frames, "--no-threads"),
        "two threads, one core": lambda out: whole(walk, out, frames, alone=True),
        "from two checkpoints": lambda out: interrupted(walk, out, frames),
    }
    found = {}
    for number, (words, way) in enumerate(ways.items()):
        way(folder / f"out-{number}")
        found[words] = digests(folder / f"out-{number}")
        print(f"{words:24s}", *(f"{name} {digest}" for name, digest in found[words].items()), flush=True)
    first = next(iter(found.values()))
    same = all(other == first for other in found.values()) and set(first) >= {TRAJECTORY, KEYFRAMES, POINTS}
    print("the same bytes" if same else "NOT THE SAME")
    return same


def main() -> int:
    """Print the comparison of one recording."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_bytes", description=__doc__)
    parser.add_argument("recording", type=Path, nargs="?", help="default: a small simulated one")
    parser.add_argument("--frames", type=int, default=40)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        walk = given.recording or recording(Path(name) / "walk", given.frames)
        return 0 if compare(walk, Path(name), given.frames) else 1


if __name__ == "__main__":
    sys.exit(main())
