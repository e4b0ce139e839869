# SPDX-License-Identifier: Apache-2.0
"""What a new user meets first: lines while it works, missing extras said at once, what to type next."""

from __future__ import annotations

import builtins
import os
import pty
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from prism_vo.cli import main
from prism_vo.commands.narration import Narration, TrackingProgress


def test_run_in_a_pipe_prints_plain_lines(recording: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "prism_vo", "run", str(recording), "--out", str(tmp_path / "r")]
    done = subprocess.run([*command, "--frames", "6"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert lines and all(re.fullmatch(r" *\d+ s  \S.*", line) for line in lines)
    assert "\x1b" not in done.stderr + done.stdout
    assert re.search(
        r"^speed +(\d+\.\d frames/s, compiling not counted|too few frames to tell)", done.stdout, re.M
    )
    quiet = subprocess.run(
        [*command, "--frames", "2", "-q", "--force"], capture_output=True, text=True, timeout=300
    )
    assert quiet.returncode == 0 and quiet.stdout == quiet.stderr == ""


def test_run_on_a_terminal_draws_a_bar(recording: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "prism_vo", "run", str(recording), "--out", str(tmp_path / "r")]
    worker = subprocess.Popen(
        [*command, "--frames", "4", "--no-report"],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        seen += part
    assert worker.wait(60) == 0
    assert "tracking" in seen.decode() and "4/4" in seen.decode()


def test_progress_tells_status_and_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[Any, ...]] = []
    now = [0.0]
    monkeypatch.setattr("prism_vo.commands.narration.time", type("T", (), {"monotonic": lambda: now[0]}))
    progress = TrackingProgress(lambda *words: said.append(words))  # type: ignore[arg-type]
    report: Any = type("R", (), {"status": "ok"})
    for done in range(1, 4):
        progress(done, 60, report)
        now[0] += 0.5
    progress(20, None, report)
    assert said[0] == ("tracking", 1, 60, "ok") and said[2] == ("tracking", 3, 60, "2.0 frames/s, ok")
    assert said[3][:3] == ("tracking", 20, None)


def test_words_without_a_known_total(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prism_vo.commands.narration.PLAIN_EVERY", 0.05)
    with Narration() as say:
        say("tracking", 7, None, "ok")
        time.sleep(0.2)
    assert "tracking 7, ok" in capsys.readouterr().err
    with Narration(quiet=True) as say:
        say("tracking", 7)
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Hide packages as if they were not installed."""
    real = builtins.__import__

    def hide(*hidden: str) -> None:
        def guarded(name: str, *rest: Any, **more: Any) -> Any:
            if name.split(".")[0] in hidden:
                raise ImportError(name)
            return real(name, *rest, **more)

        monkeypatch.setattr(builtins, "__import__", guarded)

    return hide


def test_a_missing_simulator_is_said_before_anything_is_touched(
    without: Any, tmp_path: Path, capsys: Any
) -> None:
    without("embreex")
    for command in (
        ["simulate", "table", str(tmp_path / "s"), "--camera", "mini"],
        ["demo", "--out", str(tmp_path / "d")],
        ["bench", "--out", str(tmp_path / "b")],
    ):
        assert main(command) == 2
        captured = capsys.readouterr()
        assert "pip install 'prism-vo[sim]'" in captured.err and captured.err.count("\n") == 1
        assert captured.out == ""
    assert list(tmp_path.iterdir()) == []


def test_missing_figures_are_said_before_the_tables(without: Any, tmp_path: Path, capsys: Any) -> None:
    lines = "".join(f"{k} {k} {k * k} 0 0 0 0 1\n" for k in range(8))
    for name in ("estimate.txt", "truth.txt"):
        (tmp_path / name).write_text(lines)
    without("matplotlib")
    files = [str(tmp_path / "estimate.txt"), str(tmp_path / "truth.txt")]
    assert main(["eval", *files, "--out", str(tmp_path / "o")]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("No figure: ") and "pip install 'prism-vo[plot]'" in first
    assert not (tmp_path / "o" / "trajectory.png").exists() and (tmp_path / "o" / "metrics.json").exists()
    assert main(["bench", "--out", str(tmp_path / "b")]) == 2
    assert "pip install 'prism-vo[plot]'" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


def test_a_missing_viewer_is_said_before_the_recording_is_opened(
    without: Any, tmp_path: Path, capsys: Any
) -> None:
    without("rerun")
    assert main(["run", str(tmp_path / "nowhere"), "--view"]) == 2
    assert "pip install 'prism-vo[view]'" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["raw", "."])
def test_info_names_the_two_next_commands(recording: Path, tmp_path: Path, place: str, capsys: Any) -> None:
    folder = tmp_path / "my walk"
    (folder / place).mkdir(parents=True, exist_ok=True)
    for index in range(3):
        shutil.copy(recording / "raw" / f"{index:06d}.png", folder / place)
    assert main(["info", str(folder)]) == 2
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert "3 images (000000.png …), but no camera.yaml. Type next:" in lines[0]
    assert lines[1].startswith("  prism-vo import-calibration MLA.xml CameraModel.xml --raw-image '")
    assert lines[2] == f"  prism-vo info '{folder}' --plot grid.png"
    assert captured.err == f"prism-vo: {folder}: camera.yaml is missing, so nothing describes the camera.\n"
    shutil.copy(recording / "camera.yaml", folder)  # as the first command would
    assert main(["info", str(folder), "--plot", str(tmp_path / "grid.png")]) == 0
    assert "3 raw plenoptic images" in capsys.readouterr().out


def test_a_camera_from_elsewhere(recording: Path, tmp_path: Path, capsys: Any) -> None:
    images = tmp_path / "images"
    shutil.copytree(recording / "raw", images)
    camera = ["--camera", str(recording / "camera.yaml")]
    options = ["--frames", "3", "--no-report", "-q", "--out", str(tmp_path / "r")]
    assert main(["run", str(images), *camera, *options]) == 0
    assert main(["run", str(images), *camera, "--follow", "1"]) == 2
    assert "--follow" in capsys.readouterr().err
    manifest = tmp_path / "sequence.yaml"
    manifest.write_text(
        f"format: prism-vo/sequence/1\nraw: 'images/*.png'\ncamera: {recording}/camera.yaml\n"
    )
    assert main(["run", str(manifest), *camera]) == 2
    assert "names its camera itself" in capsys.readouterr().err
