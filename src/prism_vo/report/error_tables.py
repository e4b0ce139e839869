# SPDX-License-Identifier: Apache-2.0
"""The tables ``prism-vo eval`` prints: absolute errors under each alignment, and drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prism_vo.evaluate.metrics import Alignment, TrajectoryMetrics
from prism_vo.report.table import Table, number

ALIGNMENT_NOTE = (
    "SE(3): scale not fitted (metric methods); Sim(3): scale fitted (monocular methods). "
    "RPE: RMSE over {delta:g} m of path. Scale error: max(s, 1/s) − 1 of the Sim(3) scale."
)


def error_table(
    results: Mapping[str, TrajectoryMetrics], alignments: Sequence[Alignment], rpe_delta: float
) -> Table:
    """Absolute and relative pose errors, one row an estimate and alignment."""
    columns = (
        "estimate",
        "alignment",
        "poses",
        "covered %",
        "path m",
        "RMSE_t mm",
        "RMSE_t %",
        "RMSE_r °",
        "max mm",
        "RPE mm",
        "RPE °",
        "scale error %",
    )
    rows = []
    for name, result in results.items():
        for alignment in alignments:
            error = result.aligned(alignment)
            relative = error.relative
            rows.append(
                (
                    name,
                    alignment,
                    str(result.matched),
                    number(100 * result.covered),
                    number(result.path_length, 4),
                    number(1e3 * error.rmse_t),
                    number(error.rmse_t_percent),
                    number(error.rmse_r_deg),
                    number(1e3 * error.max_t),
                    number(1e3 * relative.translation if relative else None),
                    number(relative.rotation_deg if relative else None),
                    number(100 * result.scale_error),
                )
            )
    apart = [
        f"{name}: {result.segments} segments in worlds of their own, each aligned by itself."
        for name, result in results.items()
        if result.segments > 1
    ]
    note = " ".join([ALIGNMENT_NOTE.format(delta=rpe_delta), *apart])
    return Table("Absolute and relative pose error", columns, tuple(rows), note)


def drift_table(results: Mapping[str, TrajectoryMetrics]) -> Table:
    """Drift between the start and the end of a loop; where it cannot be measured, the note says why."""
    columns = ("estimate", "alignment", "d_s'", "e_s'", "e_align %", "e_r °", "poses start/end")
    rows, reasons = [], []
    for name, result in results.items():
        drift = result.drift
        if drift is None:
            rows.append((name, "–", *["–"] * 5))
            reasons.append(f"{name}: {result.drift_refusal}")
            continue
        rows.append(
            (
                name,
                "Sim(3) at each end",
                f"{drift.d_s_prime:.4f}",
                f"{drift.e_s_prime:.4f}",
                number(drift.e_align_percent),
                number(drift.e_r_deg),
                f"{drift.start_poses}/{drift.end_poses}",
            )
        )
    return Table("Drift over the loop", columns, tuple(rows), " ".join(reasons))
