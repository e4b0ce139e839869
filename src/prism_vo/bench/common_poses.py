# SPDX-License-Identifier: Apache-2.0
"""Two methods on the poses both have: who covers less of a recording must not win by that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prism_vo.bench.plan import BenchSequence
from prism_vo.bench.results import Record, Results, middle
from prism_vo.datasets import open_sequence
from prism_vo.errors import PrismError
from prism_vo.evaluate.association import as_series, associate
from prism_vo.evaluate.metrics import evaluate_trajectory
from prism_vo.report.table import Table, number
from prism_vo.trajectory import Trajectory, read_trajectory

OURS = "prism"


@dataclass(frozen=True)
class Pair:
    """Errors of our method and another one on one recording, in per cent of the path, medians over runs."""

    sequence: str
    rival: str
    share: float  # of the frames that have a pose of both
    ours: float  # RMSE after each method's own alignment
    theirs: float


def compared(results: Results, sequences: Iterable[BenchSequence], ours: str = OURS) -> list[Pair]:
    """Our method with every other one, on every recording where both have a result."""
    found = []
    for sequence in sequences:
        own = _finished(results, ours, sequence.name)
        rivals = [m for m in results.methods if m != ours and _finished(results, m, sequence.name)]
        if not own or not rivals:
            continue
        truth = open_sequence(sequence.path).groundtruth
        if truth is None:
            continue
        for rival in rivals:
            theirs = _finished(results, rival, sequence.name)
            pairs = [_errors(a, b, truth, sequence.frames) for a, b in zip(own, theirs)]
            known = [pair for pair in pairs if pair is not None]
            if known:
                share, first, second = (middle(column) for column in zip(*known))
                found.append(Pair(sequence.name, rival, share, first, second))
    return found


def _finished(results: Results, method: str, sequence: str) -> list[Record]:
    records = [r for r in results.select(method, sequence) if r["status"] == "ok"]
    return sorted(records, key=lambda record: record["job"]["run"])


def _errors(
    ours: Record, theirs: Record, truth: Trajectory, frames: int
) -> tuple[float, float, float] | None:
    try:
        paths = [read_trajectory(Path(r["job"]["folder"]) / "trajectory.txt") for r in (ours, theirs)]
        step = float(np.median(np.diff(truth.times))) if len(truth) > 1 else 0.01
        first, second = associate(as_series(paths[0]), as_series(paths[1]), 0.5 * step)
        errors = [
            evaluate_trajectory(path.select(which), truth).aligned(record["alignment"]).rmse_t_percent
            for path, which, record in zip(paths, (first, second), (ours, theirs))
        ]
    except PrismError:  # too few poses in common, or a straight line of them
        return None
    return len(first) / max(frames, 1), errors[0], errors[1]


def pair_table(pairs: list[Pair]) -> Table:
    """One row a recording and rival."""
    rows = tuple(
        (p.sequence, p.rival, f"{100 * p.share:.0f}", number(p.ours, 4), number(p.theirs, 4)) for p in pairs
    )
    columns = ("sequence", "method", "frames in common %", f"{OURS} RMSE_t %", "its RMSE_t %")
    note = (
        "Both trajectories cut to the time stamps they share, then aligned as each method is judged (Sim(3) fits the "
        "scale of methods without one)."
    )
    return Table("On the poses both have", columns, rows, note)


def pair_sentence(pairs: list[Pair]) -> str:
    """On how many recordings our method is better, against each rival, and on how much of them."""
    parts = []
    for rival in dict.fromkeys(p.rival for p in pairs):
        of_rival = [p for p in pairs if p.rival == rival]
        wins = sum(p.ours < p.theirs for p in of_rival)
        share = middle(p.share for p in of_rival)
        parts.append(
            f"{rival}: better on {wins} of {len(of_rival)} ({100 * share:.0f} % of the frames in common)"
        )
    return f"On the poses both have, {OURS} against {'; '.join(parts)}." if parts else ""
