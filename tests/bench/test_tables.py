# SPDX-License-Identifier: Apache-2.0
"""The benchmark's tables, and the questions asked of its records."""

from __future__ import annotations

import math

import pytest

from prism_vo.bench import published
from prism_vo.bench.results import D_S, RMSE_T, Results, middle
from prism_vo.bench.tables import median_table, threshold_table


def record(sequence: str, method: str, run: int, d_s: float | None, status: str = "ok") -> dict:  # type: ignore[type-arg]
    drift = (
        None if d_s is None else {"d_s_prime": d_s, "e_s_prime": 1.0, "e_align_percent": 1.0, "e_r_deg": 1.0}
    )
    aligned = {"se3": {"rmse_t_m": 1.0}, "sim3": {"rmse_t_m": 0.1}}
    return {
        "job": {"sequence": sequence, "method": method, "run": run, "suite": "loops"},
        "status": status,
        "alignment": "Sim(3)" if method == "mono" else "SE(3)",
        "metrics": {"drift": drift, **aligned} if status == "ok" else None,
    }


def test_failed_runs_count_as_infinite() -> None:
    results = Results(
        (
            record("a", "m", 0, 1.01),
            record("a", "m", 1, 1.03),
            record("b", "m", 0, 1.2),
            record("b", "m", 1, None, "failed"),
        )
    )
    assert results.per_sequence(D_S, "m") == [pytest.approx(1.02), math.inf]
    assert results.overall(D_S, "m") == math.inf
    assert middle([1.0, 2.0, math.inf]) == 2.0 and middle([]) == math.inf


def test_each_method_is_measured_under_its_own_alignment() -> None:
    results = Results((record("a", "metric", 0, 1.0), record("a", "mono", 0, 1.0)))
    assert results.overall(RMSE_T, "metric") == 1.0 and results.overall(RMSE_T, "mono") == 0.1


def test_a_free_scale_is_not_judged() -> None:
    results = Results((record("a", "metric", 0, 1.2), record("a", "mono", 0, 1.01)))
    rows = {row[0]: row for row in median_table(results, (D_S, RMSE_T), "t").rows}
    assert rows["mono"][2] == "free" and rows["metric"][2] == "1.200 *"
    assert threshold_counts(results) == {"metric": "0/0/1", "mono": "free"}


def threshold_counts(results: Results) -> dict[str, str]:
    return {row[0]: row[2] for row in threshold_table(results).rows if "paper" not in row[0]}


def test_the_papers_tables_are_complete() -> None:
    for counts in published.LOOPS_UNDER_BOUNDS.values():
        assert set(counts) == {"d_s", "e_s", "e_align", "e_r"}
        assert all(a <= b <= c <= published.LOOP_COUNT for a, b, c in counts.values())
    assert len(published.LIFMCR_RMSE) == 7
    assert all(len(row) == len(published.LIFMCR_METHODS) for row in published.LIFMCR_RMSE.values())
