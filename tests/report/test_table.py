# SPDX-License-Identifier: Apache-2.0
"""A table holds the same cells in every format."""

from __future__ import annotations

import csv
import math

import pytest

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
