# SPDX-License-Identifier: Apache-2.0
"""Drawn faults in drawn recordings: what nobody chose, in what nobody chose.

python -m benchmarks.unseen_faults [--first 0] [--count 24] [--each 4] [--frames 40] [--keep FOLDER] [--only NUMBER …]

Recordings are those of ``benchmarks.unseen`` (the same numbers, the same folders of ``--keep``). Each is tracked as it
is and with ``--each`` faults drawn from the rows of ``benchmarks.faults``, which begin at a drawn frame. *Over clean*:
what a fault adds to the error of the clean frames. A row fails where it ends above 0.5 % of error more than the clean
frames with exit code 0 (*silent*), where frames that show nothing of the scene have a pose (*invented*), and where it
ends in an exception.
"""

from __future__ import annotations

import argparse
import tempfile
import traceback
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.fault_list import Fault, faults
from benchmarks.faults import EXIT_SILENT_LIMIT, Outcome, Recording, read_recording, run_shots
from benchmarks.unseen import DRAWN, drawn, render

EARLIEST, LATEST = 0.1, 0.8  # of the recording: where a fault begins
HEADER = (
    "| | scene | fault | from frame | error % | over clean | shape % | lost | segments | exit | fails | said |\n"
    + "|---" * 12
    + "|"
)


def drawn_faults(number: int, recording: Recording, count: int) -> list[tuple[Fault, int]]:
    """So many different faults for the recording of that number, each with the frame it begins at."""
    rng = np.random.default_rng((DRAWN, number, 1))
    rows = [f for f in faults(recording.pitch) if f.group != "clean" and not f.other]
    frames = len(recording.clean.images)
    chosen = rng.choice(len(rows), count, replace=False)
    return [(rows[k], int(frames * rng.uniform(EARLIEST, LATEST))) for k in chosen]


def failures(fault: Fault, found: Outcome, clean: float) -> list[str]:
    """In words; none: as it should be."""
    out = []
    if found.error > clean + EXIT_SILENT_LIMIT and found.code == 0:
        out.append("silent")
    if found.false:
        out.append(f"{found.false} invented")
    if fault.said and not found.said:
        out.append("unsaid")
    return out


def rows_of(number: int, scene: str, recording: Recording, count: int) -> tuple[int, int]:
    """Run and print the clean frames and the faults; how many rows there are, and how many fail."""
    clean = run_shots(recording, recording.clean.shots(), recording.poses)
    _print(number, scene, "clean", 0, clean, clean.error, [])
    fails = 0
    for fault, begin in drawn_faults(number, recording, count):
        at = replace(recording, clean=replace(recording.clean, begin=begin))
        try:
            shots = fault.inject(at.clean, np.random.default_rng((DRAWN, number, 2)))
            found = run_shots(at, shots, at.poses)
        except (
            Exception
        ) as ended:  # a run must never end so: that is a result, and the next row is wanted, too
            traceback.print_exc()
            print(f"| {number} | {scene} | {fault.name} | {begin} | ended by {ended!r} |", flush=True)
            fails += 1
            continue
        wrong = failures(fault, found, clean.error)
        fails += bool(wrong)
        _print(number, scene, fault.name, begin, found, clean.error, wrong)
    return count, fails


def _print(
    number: int, scene: str, fault: str, begin: int, found: Outcome, clean: float, fails: list[str]
) -> None:
    numbers = [f"{found.error:.3f}", f"{found.error - clean:+.3f}", f"{found.shape:.3f}"]
    cells = [number, scene, fault, begin, *numbers, found.lost, found.segments, found.code]
    print("| " + " | ".join(map(str, [*cells, ", ".join(fails), found.said])) + " |", flush=True)


def main() -> int:
    """Print the table as it is made."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--only", nargs="+", type=int)
    parser.add_argument("--each", type=int, default=4, help="faults a recording")
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--keep", type=Path, help="folder for the recordings; used again if they are there")
    given = parser.parse_args()
    print(HEADER)
    rows = fails = 0
    with tempfile.TemporaryDirectory() as temporary:
        for number in given.only or range(given.first, given.first + given.count):
            draw = drawn(number, given.frames)
            folder = (given.keep or Path(temporary)) / f"{number:04d}"
            render(draw, folder)
            run, wrong = rows_of(number, draw.scene, read_recording(folder), given.each)
            rows, fails = rows + run, fails + wrong
    print(f"\n{rows - fails} of {rows} as they should be")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
