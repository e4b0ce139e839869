# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.fuzz --seconds N --seed S``: hostile files for every parser and every command.

Each input must end with a result or with one sentence of ours, within 5 s of processor time and 1 GB. Workers are
processes with those limits; one that dies of them is a finding and is replaced.
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from benchmarks.fuzz_commands import all_commands
from benchmarks.fuzz_targets import Target, all_targets
from prism_vo.errors import PrismError

SECONDS_EACH = 5.0  # of processor time
MEMORY = 1 << 30  # bytes beyond what the loaded program takes
WALL = 300.0  # s without a sign of life
BATCH = 200  # inputs between reports of a worker
COMMANDS_EVERY = 40  # inputs: one of them goes to a whole command


@dataclass
class Findings:
    """What happened to all inputs."""

    inputs: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest: float = 0.0  # s of processor time
    memory: int = 0  # bytes beyond the loaded program

    def add(self, other: Findings) -> None:
        """Those of another batch."""
        self.inputs += other.inputs
        self.refused += other.refused
        self.faults += other.faults
        self.slowest, self.memory = max(self.slowest, other.slowest), max(self.memory, other.memory)


def try_input(target: Target, data: bytes, findings: Findings) -> None:
    """One hostile file, and what became of it."""
    target.file.write_bytes(data)
    findings.inputs[target.name] += 1
    start = time.process_time()
    try:
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
            target.read(target.file)
    except PrismError as error:
        findings.refused[target.name] += 1
        if "\n" in str(error).strip():
            findings.faults.append(f"{target.name}: more than one line: {error!r} of {data[:120]!r}")
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        findings.faults.append(
            f"{target.name}: {error!r} at {where.filename}:{where.lineno} of {data[:120]!r}"
        )
    findings.slowest = max(findings.slowest, time.process_time() - start)


def run_inputs(targets: list[Target], rng: Random, count: int, pick: list[Target] | None = None) -> Findings:
    """``count`` mutants, each target in turn (or of those in ``pick``)."""
    findings, chosen = Findings(), pick or targets
    intact = {target.file: target.file.read_bytes() for target in targets}
    for number in range(count):
        target = chosen[number % len(chosen)]
        try_input(target, target.mutant(intact[target.file], rng), findings)
        target.file.write_bytes(intact[target.file])
    return findings


def _worker(seed: int, folder: str, reports: Connection) -> None:
    """Batches until it is stopped; the number of each input is told before it is tried."""
    faulthandler.disable()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what libraries print about damaged images
    targets, commands = all_targets(Path(folder)), all_commands(Path(folder))
    for command in commands:  # kernels are compiled, which is not counted
        try_input(command, command.file.read_bytes(), Findings())
        reports.send((f"{command.name}, intact", b""))
    _limit_memory()
    rng = Random(seed)
    intact = {t.file: t.file.read_bytes() for t in (*targets, *commands)}
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    number, findings = 0, Findings()
    while True:
        command = number % COMMANDS_EVERY == COMMANDS_EVERY - 1
        target = rng.choice(commands if command else targets)
        data = target.mutant(intact[target.file], rng)
        reports.send((target.name, data[:300]))
        signal.setitimer(signal.ITIMER_PROF, SECONDS_EACH)
        try_input(target, data, findings)
        signal.setitimer(signal.ITIMER_PROF, 0)
        target.file.write_bytes(intact[target.file])
        number += 1
        if number % BATCH == 0:
            findings.memory = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base)
            reports.send(findings)
            findings = Findings()


def _limit_memory() -> None:
    """Beyond it the worker gets MemoryError, which is a finding."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def fuzz(seconds: float, seed: int, processes: int, most: int | None) -> Findings:
    """Workers for so many seconds, or until so many inputs were tried."""
    total, end = Findings(), time.monotonic() + seconds
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        workers: list[tuple[multiprocessing.process.BaseProcess, Connection, list[object]]] = []
        started = 0

        def start() -> None:
            nonlocal started
            here, there = context.Pipe(duplex=False)
            place = Path(folder) / str(started)
            place.mkdir()
            worker = context.Process(
                target=_worker, args=(seed * 1000 + started, str(place), there), daemon=True
            )
            worker.start()
            there.close()
            workers.append((worker, here, [time.monotonic(), "", b""]))
            started += 1

        for _ in range(processes):
            start()
        while time.monotonic() < end and (most is None or sum(total.inputs.values()) < most):
            for entry in list(workers):
                if not _listen(entry, total):
                    workers.remove(entry)
                    start()
        for worker, _, _ in workers:
            worker.kill()
            worker.join()
    return total


def _listen(
    entry: tuple[multiprocessing.process.BaseProcess, Connection, list[object]], total: Findings
) -> bool:
    """Take what a worker has to say; False: it died or hangs."""
    worker, reports, last = entry
    try:
        while reports.poll(0.02):
            said = reports.recv()
            last[0] = time.monotonic()
            if isinstance(said, Findings):
                total.add(said)
                for fault in said.faults:
                    print(f"FAULT {fault}", flush=True)
                _print(total)
            else:
                last[1:] = said
    except EOFError:
        worker.join()
        hang = worker.exitcode == -signal.SIGPROF
        kind = f"hang of more than {SECONDS_EACH:g} s" if hang else f"died with code {worker.exitcode}"
        total.faults.append(f"{last[1]}: {kind} on {last[2]!r}")
        print(total.faults[-1], flush=True)
        return False
    started = last[0]
    assert isinstance(started, float)
    if time.monotonic() - started > WALL:
        worker.kill()
        total.faults.append(f"{last[1]}: no sign of life on {last[2]!r}")
        return False
    return True


def _print(total: Findings) -> None:
    done = sum(total.inputs.values())
    if done % (10 * BATCH) == 0:
        print(f"{done} inputs, {len(total.faults)} faults", flush=True)


def main() -> int:
    """Print a table of all kinds of files, and every fault."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--inputs", type=int, default=None, help="stop after so many")
    given = parser.parse_args()
    total = fuzz(given.seconds, given.seed, given.processes, given.inputs)
    print(f"{'file':24s} {'inputs':>8s} {'refused':>8s}")
    for name, count in sorted(total.inputs.items()):
        print(f"{name:24s} {count:8d} {total.refused[name]:8d}")
    kinds: dict[str, list[str]] = {}
    for fault in total.faults:
        kinds.setdefault(fault.partition(" of b")[0].partition(" on b")[0], []).append(fault)
    for same in kinds.values():
        print(f"FAULT ({len(same)}x) {same[0]}")
    print(
        f"{sum(total.inputs.values())} inputs, {len(total.faults)} faults, slowest {total.slowest:.2f} s, "
        f"memory {total.memory / 1e6:.0f} MB beyond the loaded program"
    )
    return 1 if total.faults else 0


if __name__ == "__main__":
    sys.exit(main())
