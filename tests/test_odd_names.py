# SPDX-License-Identifier: Apache-2.0
"""Names are data: markup, templates, commands and control characters in them mean nothing anywhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from prism_vo.cli import main
from prism_vo.report.table import Table

ODD = "{{data}} [red]<b>$(id)[-red] %s & \x1b[31m"


def test_a_recording_with_an_odd_name(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walk = Path(shutil.copytree(recording, tmp_path / ODD))
    assert main(["info", str(walk)]) == 0
    assert main(["run", str(walk), "--out", str(tmp_path / f"out {ODD}"), "--frames", "3", "--no-check"]) in (
        0,
        3,
    )
    page = (tmp_path / f"out {ODD}" / "report.html").read_text(encoding="utf-8")
    assert "<b>$(id)" not in page and "{{data}} [red]&lt;b&gt;$(id)" in page
    assert "[red]" in capsys.readouterr().out, "Rich must not take it for a colour"


def test_a_sentence_stays_on_its_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(tmp_path / "a\nb\x1b[31m\udce4")]) == 2
    said = capfd.readouterr().err
    assert said.count("\n") == 1 and "\x1b" not in said and "no such file" in said


def test_tables_hold_any_name() -> None:
    table = Table("t", ("name", "x"), (("a\nb|c<script>[x](y)\\input{z}$&#_", "1"),))
    assert len(table.text().splitlines()) == 6
    row = table.markdown().splitlines()[4]
    assert row.count(" | ") == 1 and "<script" not in row and "](" not in row
    cell = next(line for line in table.latex().splitlines() if "script" in line)
    assert r"\textbackslash{}input\{z\}\$\&\#\_" in cell
