# SPDX-License-Identifier: Apache-2.0
"""The suite in which loops may close: its table says which runs might, and what that did to the end of the path."""

from __future__ import annotations

from typing import Any

from prism_vo.bench.closing import closing_table
from prism_vo.bench.results import Results


def record(method: str, loops: bool, end: float | None, status: str = "ok") -> dict[str, Any]:
    aligned = {"rmse_t_m": 0.01, "rmse_t_percent": 0.1, "rmse_r_deg": 0.2}
    ends = None if end is None else {"translation_m": end, "rotation_deg": 0.3}
    return {
        "job": {"sequence": "seq_001-whole", "method": method, "run": 0, "suite": "closing"},
        "status": status,
        "alignment": "SE(3)",
        "settings": {"loops": loops},
        "metrics": {"se3": aligned, "sim3": aligned, "end": ends, "path_length_m": 13.2},
    }


def test_the_table_says_which_loops_might_close_and_what_that_did() -> None:
    results = Results((record("prism", False, 0.012), record("prism-loops", True, 0.002)))
    rows = closing_table(results).rows
    assert [row[3] for row in rows] == ["off", "on"]
    assert rows[0][6:] == ("12.00", "0.3000", "") and rows[1][8] == "6.0"
    assert rows[0][1] == "13.2"


def test_runs_without_a_result_or_an_end_are_said_to_have_none() -> None:
    failed = record("prism-loops", True, None, "failed")
    rows = closing_table(Results((record("prism", False, None), failed))).rows
    assert rows[0][6] == "failed" and rows[0][8] == ""
    assert rows[1][4] == "failed"
