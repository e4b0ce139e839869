# SPDX-License-Identifier: Apache-2.0
"""``prism-vo bench`` from the outside, with methods that need no images."""

from __future__ import annotations

from pathlib import Path

import pytest

from prism_vo.cli import main

METHODS = ("--methods", "stand_in_methods:GOOD", "stand_in_methods:WORSE", "dso")


def test_report_tables_and_figures(
    loop_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "bench"
    arguments = ["bench", "--suite", "loops", "--data", str(loop_folder.parent), "--out", str(out), *METHODS]
    assert main([*arguments, "--runs", "2"]) == 0
    printed = capsys.readouterr().out
    assert "Loops under thresholds" in printed and "not installed" in printed
    page = (out / "report.html").read_text()
    for words in ("measured on the real data", "Drift of every run", "source revision", "cores", "seed r"):
        assert words in page
    assert "http://" not in page and "https://" not in page, "the report must open offline"
    assert (out / "figures/loops_cumulative.png").read_bytes().startswith(b"\x89PNG")
    for suffix in ("md", "tex", "csv"):
        assert "1.05" in (out / f"tables/loops_thresholds.{suffix}").read_text()
    rows = (out / "runs.csv").read_text().splitlines()
    assert len(rows) == 1 + 3 * 2, "every run, the absent program's too"

    before = page
    assert main([*arguments, "--runs", "2"]) == 0
    assert "done before" in capsys.readouterr().out
    assert (out / "report.html").read_text() == before, "the same results give the same report"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--methods", "pr1sm"], "no method 'pr1sm'"),
        (["--data", "nowhere", "--suite", "loops"], "nowhere: no such folder"),
        (["--data", ".", "--suite", "all"], "--suite loops or close-range"),
        (["--runs", "0", "--methods", "prism"], "at least 1"),
        (["--programs", "nowhere.yaml"], "nowhere.yaml: no such file"),
    ],
)
def test_refusals(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", *arguments]) == 2
    message = capsys.readouterr().err
    assert sentence in message and message.count("\n") == 1


def test_somebodys_own_files_are_not_written_among(
    loop_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "report.html").write_text("my thesis")
    arguments = ["bench", "--suite", "loops", "--data", str(loop_folder.parent), "--out", str(mine)]
    assert main([*arguments, "--methods", "dso"]) == 2
    assert "holds files that are not results of `prism-vo bench`" in capsys.readouterr().err
    assert [path.name for path in mine.iterdir()] == ["report.html"]
    assert main([*arguments, "--methods", "dso", "--force", "--runs", "1"]) == 0
    assert "thesis" not in (mine / "report.html").read_text()
    assert main([*arguments, "--methods", "dso", "--runs", "1"]) == 0, "its own folder is gone on with"
