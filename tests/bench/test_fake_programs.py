# SPDX-License-Identifier: Apache-2.0
"""``prism-vo bench`` with a program that behaves as DSO does: keyframes only, a few poses, none, other settings."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from loops import write_loop

from prism_vo.cli import main

# writes every KEPT-th pose of the truth in a world of its own, and as the real one ends its paths at the first space
FAKE_DSO = """#!{python}
import pathlib, sys
options = dict(a.split("=", 1) for a in sys.argv[1:])
images = pathlib.Path(options["files"].split(" ")[0])
calibration = pathlib.Path(options["calib"].split(" ")[0]).read_text().splitlines()
assert calibration[2] == "none", "anything else makes it resample"
times = [line.split()[1] for line in open(images.parent / "times.txt")]
rows = [line.split() for line in open({truth!r}) if not line.startswith("#")]
assert len(times) == len(rows) == len(list(images.iterdir()))
kept = {kept}
if kept:
    with open("result.txt", "w") as out:
        for time, row in list(zip(times, rows))[kept]:
            numbers = [3.0 * float(n) + 1.0 for n in row[1:4]]
            out.write(" ".join([time, *map(str, numbers), *row[4:]]) + chr(10))
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a space in its name, a recording in it, and workers that find the methods of these tests."""
    folder = tmp_path / "my data"
    write_loop(folder / "recordings" / "loop")
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    return folder


def programs_file(folder: Path, kept: str, timeout: int = 60) -> Path:
    """``kept``: which of the poses the program writes, as Python says it."""
    script, truth = folder / "dso_dataset", str(folder / "recordings" / "loop" / "groundtruth.txt")
    script.write_text(FAKE_DSO.format(python=sys.executable, kept=kept, truth=truth))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    file = folder / "programs.yaml"
    file.write_text(json.dumps({"dso": {"executable": [str(script)], "timeout": timeout}}))
    return file


def bench(folder: Path, kept: str, timeout: int = 60) -> tuple[int, dict[str, Any]]:
    """The exit code, and what is known of the program's run."""
    given = ["--data", str(folder / "recordings"), "--out", str(folder / "out"), "--runs", "1", "--jobs", "1"]
    methods = [
        "--methods",
        "stand_in_methods:GOOD",
        "dso",
        "--programs",
        str(programs_file(folder, kept, timeout)),
    ]
    code = main(["bench", "--suite", "loops", *given, *methods])
    return code, json.loads(next((folder / "out").rglob("dso/**/result.json")).read_text())


def test_keyframes_alone_are_measured_and_their_share_is_said(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, record = bench(place, "slice(None, None, 4)")
    printed = capsys.readouterr().out
    assert code == 0 and record["status"] == "ok", record["error"]
    assert record["coverage"]["pose_share"] == pytest.approx(0.25, abs=0.01)
    assert record["coverage"]["spanned_share"] > 0.9
    assert record["metrics"]["drift"]["e_align_percent"] < 1e-3, "a loop that was tracked is not failed"
    assert "25.00" in printed, "the share of frames that have a pose"


@pytest.mark.parametrize(
    ("kept", "words"),
    [("slice(0, 3)", "3 poses of 140 frames"), ("None", "wrote no result.txt; see")],
)
def test_a_few_poses_or_none_never_win(
    place: Path, kept: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, record = bench(place, kept)
    printed = capsys.readouterr().out
    assert record["status"] == "failed" and words in record["error"]
    if "see" in words:  # the log is where the message says, space and all
        log = Path(record["error"].partition("; see ")[2].rstrip("."))
        assert log.is_file() and "my data" in str(log)
    assert "failed" in printed and "against no result" not in printed


def test_changed_contents_of_the_programs_file_run_the_program_again(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench(place, "slice(None, None, 4)")
    before = {path.parent.parent.name: path.stat().st_mtime_ns for path in place.rglob("result.json")}
    capsys.readouterr()
    bench(place, "slice(None, None, 4)")
    assert "done before" in capsys.readouterr().out
    same = {path.parent.parent.name: path.stat().st_mtime_ns for path in place.rglob("result.json")}
    assert same == before
    bench(place, "slice(None, None, 4)", timeout=61)
    after = {path.parent.parent.name: path.stat().st_mtime_ns for path in place.rglob("result.json")}
    assert after["dso"] != before["dso"]
