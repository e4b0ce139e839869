# SPDX-License-Identifier: Apache-2.0
"""Paths that come back to their start, with and without recognised places: what closing a loop does to its end."""

from __future__ import annotations

import math

from prism_vo.bench.results import END_R, END_T, RMSE_R, RMSE_T_PERCENT, Record, Results, middle
from prism_vo.bench.tables import shown
from prism_vo.report.table import Table, number

CLOSING_TEXT = (
    "Whole paths, long enough to drift, that end where they began. Loops on: places seen again are recognised and the "
    "map is corrected by them; off: odometry alone. End: error of the last poses relative to the first ones, mean over "
    "five frames at either end, nothing aligned. End, off over on: how many times smaller it is with loops."
)


def closing_table(results: Results) -> Table:
    """Every recording and method (median over runs); the column ``loops`` says which might close them."""
    columns = (
        "recording",
        "path m",
        "method",
        "loops",
        "RMSE_t %",
        "RMSE_r °",
        "end mm",
        "end °",
        "end, off/on",
    )
    rows = []
    for sequence in results.sequences:
        without = _middle(results, "prism", sequence)
        for method in results.methods:
            records = results.select(method, sequence)
            good = [r for r in records if r["status"] == "ok"]
            if not good:
                state = records[0]["status"] if records else "–"
                rows.append((sequence, "–", method, "–", state, *["–"] * 4))
                continue
            end, loops = _middle(results, method, sequence), _may_close(good[0])
            rows.append(
                (
                    sequence,
                    _length(good[0]),
                    method,
                    "on" if loops else "off",
                    *(shown(middle(results.values(q, method, sequence))) for q in (RMSE_T_PERCENT, RMSE_R)),
                    shown(1000.0 * end),
                    shown(middle(results.values(END_R, method, sequence))),
                    f"{without / end:.1f}" if loops and math.isfinite(without + end) and end > 0 else "",
                )
            )
    return Table("Loops that may close", columns, tuple(rows), "Median over runs.")


def _middle(results: Results, method: str, sequence: str) -> float:
    return middle(results.values(END_T, method, sequence))


def _length(record: Record) -> str:
    length = (record.get("metrics") or {}).get("path_length_m")
    return "–" if length is None else number(length, 3)


def _may_close(record: Record) -> bool:
    return record.get("settings", {}).get("loops") is True
