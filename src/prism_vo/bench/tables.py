# SPDX-License-Identifier: Apache-2.0
"""The benchmark's tables, in the form of the paper's, with the paper's own figures beside ours."""

from __future__ import annotations

import math
from collections.abc import Sequence

from prism_vo.bench import published
from prism_vo.bench.results import (
    DRIFT,
    RMSE_R,
    RMSE_T,
    RMSE_T_PERCENT,
    RPE,
    SCALE,
    Quantity,
    Record,
    Results,
    middle,
)
from prism_vo.report.table import Table, number

BOUNDS = {
    "d_s": published.SCALE_BOUNDS,
    "e_s": published.SCALE_BOUNDS,
    "e_align": published.ALIGN_BOUNDS,
    "e_r": published.ROTATION_BOUNDS,
}
FAILED = "failed"
NOT_INSTALLED = "not installed"
FREE = "free"  # scale of a monocular method


def threshold_table(results: Results) -> Table:
    """Table 1: how many loops stay under three bounds of each drift metric (median over runs)."""
    columns = (
        "method",
        "loops",
        *(f"{q.label} < {'/'.join(f'{b:g}' for b in BOUNDS[q.key])}" for q in DRIFT),
    )
    rows: list[tuple[str, ...]] = []
    for method in results.methods:
        if not results.installed(method):
            rows.append((method, NOT_INSTALLED, *["–"] * len(DRIFT)))
            continue
        counts = [
            _counts(results.per_sequence(q, method), BOUNDS[q.key]) if results.defined(q, method) else FREE
            for q in DRIFT
        ]
        rows.append((method, str(len(results.sequences)), *counts))
    for name, row in published.LOOPS_UNDER_BOUNDS.items():
        counts = ["/".join(map(str, row[q.key])) for q in DRIFT]
        rows.append((f"{name} ({published.LABEL})", str(published.LOOP_COUNT), *counts))
    return Table(
        "Loops under thresholds",
        columns,
        tuple(rows),
        "Median over the runs of a loop; a failed run counts as infinite.",
    )


def _counts(values: Sequence[float], bounds: Sequence[float]) -> str:
    return "/".join(str(sum(v < bound for v in values)) for bound in bounds)


def median_table(results: Results, quantities: Sequence[Quantity], title: str) -> Table:
    """Medians over the sequences, the best of each column marked with a star."""
    columns = ("method", "alignment of RMSE", *(q.label for q in quantities))
    values = {
        m: [results.overall(q, m) if results.defined(q, m) else math.nan for q in quantities]
        for m in results.methods
    }
    best = [
        min((v[k] for v in values.values() if v[k] == v[k]), default=math.inf) for k in range(len(quantities))
    ]
    rows = []
    for method in results.methods:
        cells = [
            shown(v) + (" *" if v == best[k] and math.isfinite(v) else "")
            for k, v in enumerate(values[method])
        ]
        if not results.installed(method):
            cells = [NOT_INSTALLED] + ["–"] * (len(quantities) - 1)
        rows.append((method, results.alignment(method), *cells))
    note = "Median over sequences of the median over runs; * best. Failed runs count as infinite."
    return Table(title, columns, tuple(rows), note)


def drift_table(results: Results) -> Table:
    """Every loop, method and run: nothing is averaged away."""
    columns = (
        "loop",
        "method",
        "run",
        *(q.label for q in DRIFT),
        SCALE.label,
        RMSE_T_PERCENT.label,
        "alignment",
    )
    quantities = (*DRIFT, SCALE, RMSE_T_PERCENT)
    rows = []
    for sequence in results.sequences:
        for method in results.methods:
            for record in results.select(method, sequence):
                if record["status"] != "ok":
                    cells = [record["status"], *["–"] * (len(quantities) - 1)]
                else:
                    values = [q.value(record) if results.defined(q, method) else math.nan for q in quantities]
                    cells = ["not defined" if math.isinf(v) else shown(v) for v in values]
                run = str(record["job"]["run"])
                rows.append((sequence, method, run, *cells, record.get("alignment", "–")))
    return Table("Drift of every run", columns, tuple(rows))


def scene_table(results: Results) -> Table:
    """Table 2: RMSE_t in mm and RMSE_r in degrees a scene, the paper's figures in the last columns."""
    paper = tuple(f"{m} ({published.LABEL})" for m in published.LIFMCR_METHODS)
    methods = results.methods
    columns = ("scene", *(f"{m} [{results.alignment(m)}]" for m in methods), *paper)
    rows = []
    for sequence in results.sequences:
        cells = [_millimetres(results, method, sequence) for method in methods]
        known = published.LIFMCR_RMSE.get(sequence[:2], ())
        theirs = [f"{t:.2f} / {r:.2f}" for t, r in known] or ["–"] * len(paper)
        rows.append((sequence, *cells, *theirs))
    note = (
        "RMSE_t mm / RMSE_r °, median over runs. The paper's scenes are other scenes than the simulated ones."
    )
    return Table("Absolute error in close range", columns, tuple(rows), note)


def _millimetres(results: Results, method: str, sequence: str) -> str:
    if not results.installed(method):
        return NOT_INSTALLED
    t = middle(results.values(RMSE_T, method, sequence))
    r = middle(results.values(RMSE_R, method, sequence))
    return FAILED if math.isinf(t) else f"{number(1000 * t)} / {number(r)}"


def cost_table(results: Results) -> Table:
    """Tracked share and time a frame of each method over everything it ran on."""
    columns = ("method", "runs", "failed", "frames", "with a pose %", "followed %", "ms a frame", "remark")
    rows = []
    for method in results.methods:
        records = results.select(method)
        good = [r for r in records if r["status"] == "ok"]
        frames = sum(r["frames"] for r in good)
        posed, followed = (_share(good, key) for key in ("pose_share", "spanned_share"))
        milliseconds = 1000 * sum(r["method_seconds"] for r in good) / frames if frames else math.nan
        details = sorted({r["detail"] for r in good if r.get("detail") and "keyframes" not in r["detail"]})
        remark = NOT_INSTALLED if not results.installed(method) else ", ".join(details[:2])
        rows.append(
            (
                method,
                str(len(records)),
                str(len(records) - len(good)),
                str(frames),
                number(posed, 4),
                number(followed, 4),
                number(milliseconds),
                remark,
            )
        )
    note = (
        "With a pose: of the frames of runs with a result; followed: also those between the keyframes of programs that "
        "write no others. Time includes reading and decoding; jobs may have shared the machine, so compare with care."
    )
    return Table("Tracking and time", columns, tuple(rows), note)


def _share(records: list[Record], key: str) -> float:
    """Per cent of all frames; records of older versions know only the lost ones."""
    frames = sum(r["frames"] for r in records)
    if not frames:
        return math.nan
    known = (
        r["frames"] * r["coverage"][key] if r.get("coverage") else r["frames"] - r["lost"] for r in records
    )
    return 100.0 * sum(known) / frames


def failure_table(results: Results) -> Table:
    """What did not work, and why."""
    rows = tuple(
        (r["job"]["sequence"], r["job"]["method"], str(r["job"]["run"]), r["status"], r["error"])
        for r in results.records
        if r["status"] != "ok"
    )
    return Table("Jobs without a result", ("sequence", "method", "run", "state", "reason"), rows)


def error_table(results: Results, title: str) -> Table:
    """Full-trajectory errors of every sequence and method (median over runs)."""
    quantities = (RMSE_T_PERCENT, RMSE_R, RPE, SCALE)
    columns = ("sequence", "method", "alignment", *(q.label for q in quantities))
    rows = []
    for sequence in results.sequences:
        for method in results.methods:
            cells = [_cell(results, q, method, sequence) for q in quantities]
            rows.append((sequence, method, results.alignment(method), *cells))
    return Table(title, columns, tuple(rows), "Median over runs.")


def _cell(results: Results, quantity: Quantity, method: str, sequence: str) -> str:
    if not results.defined(quantity, method):
        return FREE
    value = middle(results.values(quantity, method, sequence))
    worked = any(r["status"] == "ok" for r in results.select(method, sequence))
    return "–" if math.isinf(value) and worked else shown(value)  # e.g. no RPE on paths below a metre


def shown(value: float) -> str:
    """A figure, or what its absence means."""
    if math.isnan(value):
        return FREE
    return FAILED if math.isinf(value) else number(value, 4)
