# SPDX-License-Identifier: Apache-2.0
"""The demo, small: it ends with errors in mm and per cent and an existing report, and is never silent for long."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from prism_vo.cli import main
from prism_vo.commands.narration import PLAIN_EVERY, Narration


def test_prints_errors_and_the_path_of_a_report(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "prism_vo",
        "demo",
        "--frames",
        "10",
        "--camera",
        "mini",
        "--out",
        str(tmp_path / "d"),
    ]
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    took = time.monotonic() - started
    assert done.returncode == 0, done.stderr
    assert re.search(r"[\d.]+ mm = [\d.]+ % of the path", done.stdout)
    report = re.search(r"^Report: (.+)$", done.stdout, re.M)
    assert report is not None
    assert Path(report[1]).is_file()
    # plain lines as long as it works, though no terminal is there
    assert done.stderr.count("\n") >= took / (2 * PLAIN_EVERY) - 1


def test_replaces_an_earlier_demo_and_nothing_else(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("precious")
    assert main(["demo", "--out", str(tmp_path / "mine")]) == 2
    assert "no earlier demo" in capsys.readouterr().err
    assert (tmp_path / "mine" / "notes.txt").read_text() == "precious"
    assert main(["demo", "--out", str(tmp_path / "new"), "--frames", "3"]) == 2
    assert not (tmp_path / "new").exists()


def test_narration_repeats_itself_while_nothing_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("prism_vo.commands.narration.PLAIN_EVERY", 0.05)
    with Narration() as say:
        say("rendering", 3, 40)
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert sum("rendering 3/40" in line for line in lines) >= 3
