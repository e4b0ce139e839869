# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.kills --kills 50 --faults``: commands killed at random moments, and other faults of processes.

Every killed command is called again until it comes to its end; its files must then be those of an undisturbed one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.process_faults import all_faults
from benchmarks.small_recording import program, recording

MOST_CALLS = 5  # of a command until it must have come to its end
TIMED = ("seconds", "method_seconds", "rate")  # figures of time, which differ from run to run


@dataclass(frozen=True)
class Victim:
    """A command that writes a folder, how it is called again, and which of its files must be the same."""

    name: str
    first: Callable[[Path], list[str]]
    again: Callable[[Path], list[str]]
    content: Callable[[Path], dict[str, bytes]]
    weight: int  # kills of 50


def files(*patterns: str) -> Callable[[Path], dict[str, bytes]]:
    """The bytes of files below a folder."""

    def read(folder: Path) -> dict[str, bytes]:
        found = {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}
        return {str(path.relative_to(folder)): path.read_bytes() for path in found}

    return read


def bench_content(folder: Path) -> dict[str, bytes]:
    """Trajectories and figures of all jobs, and the names of everything there is."""
    content = files("results/**/trajectory.txt", "results/**/points.ply", "results/**/keyframes.txt")(folder)
    for path in folder.glob("results/**/result.json"):
        record = json.loads(path.read_text())
        content[str(path.relative_to(folder))] = json.dumps(record["metrics"]).encode()
    listed = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if "figures" not in p.parts)
    return content | {"names": "\n".join(listed).encode()}


def victims(walk: Path, data: Path) -> list[Victim]:
    """All commands that take long."""
    results = files("trajectory.txt", "keyframes.txt", "points.ply")
    run = ["run", str(walk), "--no-report", "--quiet"]
    depth = ["depth", str(walk), "--frames", "10"]
    simulate = ["--camera", "mini", "--frames", "8", "--truth-every", "4"]
    bench = [
        "bench",
        "--suite",
        "close-range",
        "--data",
        str(data),
        "--methods",
        "prism",
        "rgbd",
        "--runs",
        "1",
    ]

    def same(
        call: Callable[[Path], list[str]],
    ) -> tuple[Callable[[Path], list[str]], Callable[[Path], list[str]]]:
        return call, call

    return [
        Victim("run", lambda o: [*run, "--out", str(o)], lambda o: [*run, "--resume", str(o)], results, 20),
        Victim("depth", *same(lambda o: [*depth, "--out", str(o)]), files("**/*"), 12),
        Victim("simulate", *same(lambda o: ["simulate", "table", str(o), *simulate]), files("**/*"), 10),
        Victim("bench", *same(lambda o: [*bench, "--out", str(o), "--jobs", "1"]), bench_content, 8),
    ]


@dataclass(frozen=True)
class Outcome:
    """What became of one killed command."""

    moment: float  # s after its start
    calls: int
    same: bool
    words: str


def killed(victim: Victim, out: Path, moment: float, reference: dict[str, bytes]) -> Outcome:
    """Start, kill -9 at a moment, call again until it is done, compare."""
    process = subprocess.Popen(
        program(*victim.first(out)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(moment)
    process.send_signal(signal.SIGKILL)
    process.wait()
    calls, words = 1, ""
    while calls < MOST_CALLS:
        calls += 1
        done = subprocess.run(program(*victim.again(out)), capture_output=True, text=True)
        words = done.stderr.strip()[-300:]
        if done.returncode in (0, 3):
            break
    found = victim.content(out) if out.is_dir() else {}
    different = sorted(
        name for name in found.keys() | reference.keys() if found.get(name) != reference.get(name)
    )
    return Outcome(moment, calls, not different, words if not found else f"different: {different[:4]}")


def undisturbed(victim: Victim, out: Path) -> tuple[dict[str, bytes], float]:
    """What the command writes, and how long it takes when nothing has to be compiled."""
    subprocess.run(program(*victim.first(out)), capture_output=True)
    shutil.rmtree(out)
    start = time.monotonic()
    done = subprocess.run(program(*victim.first(out)), capture_output=True, text=True)
    assert done.returncode in (0, 3), done.stderr
    return victim.content(out), time.monotonic() - start


def kill_all(folder: Path, kills: int, seed: int, only: str | None) -> tuple[int, int]:
    """(same bytes, all) over the kills; prints one line a kill."""
    rng, good, total = Random(seed), 0, 0
    walk = recording(folder / "walk", 40)
    data = folder / "data"
    shutil.copytree(recording(folder / "short", 14), data / "short")
    for victim in victims(walk, data):
        if only not in (None, victim.name):
            continue
        reference, seconds = undisturbed(victim, folder / f"{victim.name}-reference")
        for number in range(max(1, round(victim.weight * kills / 50))):
            out = folder / f"{victim.name}-{number}"
            outcome = killed(victim, out, rng.uniform(0.1, 1.0) * seconds, reference)
            good, total = good + outcome.same, total + 1
            state = "same bytes" if outcome.same else f"NOT THE SAME: {outcome.words}"
            print(
                f"{victim.name:9s} kill -9 after {outcome.moment:5.1f} s, {outcome.calls} calls: {state}",
                flush=True,
            )
            shutil.rmtree(out, ignore_errors=True)
    return good, total


def main() -> int:
    """Print every kill and every fault."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=("run", "depth", "simulate", "bench"))
    parser.add_argument("--faults", action="store_true", help="the process faults as well")
    given = parser.parse_args()
    code = 0
    with tempfile.TemporaryDirectory(prefix="prism-vo kills ") as name:
        os.chmod(name, 0o755)
        if given.kills:
            good, total = kill_all(Path(name), given.kills, given.seed, given.only)
            print(f"{good} of {total} killed commands came to the same bytes", flush=True)
            code |= good < total
        if given.faults:
            found = all_faults(Path(name) / "faults")
            print(f"{sum(found)} of {len(found)} process faults ended as documented")
            code |= not all(found)
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
