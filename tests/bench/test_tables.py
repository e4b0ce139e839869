# SPDX-License-Identifier: Apache-2.0
"""Tables in all formats, and the questions asked of benchmark records."""

from __future__ import annotations

import csv
import math

import pytest

from prism_vo.bench import published
from prism_vo.bench.results import D_S, RMSE_T, Results, middle
from prism_vo.bench.tables import median_table, threshold_table
from prism_vo.report.table import Table, latex_text, number

TABLE = Table(
    "Errors & more",
    ("method", "d_s' < 1.05", "RMSE_t %"),
    (("a_b", "1", "2.5"), ("c|d", "–", "3")),
    "50 % of runs.",
)


def test_markdown_latex_csv_and_text_hold_the_same_cells() -> None:
    markdown = TABLE.markdown().splitlines()
    assert markdown[2] == "| method | d_s' < 1.05 | RMSE_t % |" and "c\\|d" in markdown[5]
    latex = TABLE.latex()
    assert r"a\_b & 1 & 2.5 \\" in latex and r"RMSE\_t \%" in latex and r"50 \% of runs" in latex
    rows = list(csv.reader(line for line in TABLE.csv().splitlines() if not line.startswith("#")))
    assert rows == [list(TABLE.columns), *map(list, TABLE.rows)]
    assert "c|d" in TABLE.text()
    with pytest.raises(ValueError, match="2 cells under 1"):
        Table("t", ("a",), (("1", "2"),))


def test_latex_escapes_everything_special() -> None:
    assert latex_text(r"\$%_{}&#~^") == (r"\textbackslash{}\$\%\_\{\}\&\#\textasciitilde{}\textasciicircum{}")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1.00"),
        (123.456, "123"),
        (0.012345, "0.0123"),
        (12345.6, "12346"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_numbers_have_three_digits(value: float | None, text: str) -> None:
    assert number(value) == text


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
