# SPDX-License-Identifier: Apache-2.0
"""Those who look on: the JSON log, the keyframe log, Rerun recordings, and the command that reopens a run."""

from __future__ import annotations

import builtins
import io
import json
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism_vo import pipeline
from prism_vo.cli import main
from prism_vo.datasets import open_sequence
from prism_vo.errors import InputError
from prism_vo.trajectory import read_trajectory
from prism_vo.view.log import KeyframeLog


def test_json_log_has_one_object_a_frame_and_an_end(recording: Path, tmp_path: Path, capfd: Any) -> None:
    code = main(
        ["run", str(recording), "--out", str(tmp_path / "r"), "--frames", "4", "--log-json", "--no-report"]
    )
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert code == 0
    assert [line["event"] for line in lines] == ["frame"] * 4 + ["end"]
    written = read_trajectory(tmp_path / "r" / "trajectory.txt")
    assert np.allclose(lines[0]["T_world_cam"], written.poses[0])
    assert lines[-1]["frames"] == 4
    assert not (tmp_path / "r" / "report.html").exists()


def test_following_a_folder_gives_the_same_bytes(recording: Path, tmp_path: Path) -> None:
    common = ["--frames", "5", "--no-report", "-q"]
    assert main(["run", str(recording), "--out", str(tmp_path / "a"), *common]) == 0
    assert main(["run", str(recording), "--out", str(tmp_path / "b"), "--follow", "1", *common]) == 0
    assert (tmp_path / "a" / "trajectory.txt").read_bytes() == (
        tmp_path / "b" / "trajectory.txt"
    ).read_bytes()


def test_following_ends_when_nothing_comes(tmp_path: Path, capsys: Any) -> None:
    started = time.monotonic()
    assert main(["run", str(tmp_path), "--follow", "0.5"]) == 2
    assert "the folder is empty" in capsys.readouterr().err
    assert time.monotonic() - started < 30


def test_keyframe_log_has_a_line_for_each_keyframe(reported: pipeline.RunResult) -> None:
    stream = io.StringIO()
    log = KeyframeLog(stream)
    for report in reported.reports:
        log.on_frame(report, None, reported.odometry)  # type: ignore[arg-type]
    assert stream.getvalue().count("\n") == sum(r.status == "keyframe" for r in reported.reports)
    assert "η" in stream.getvalue()


def test_rerun_recording_holds_path_images_points_and_curves(recording: Path, tmp_path: Path) -> None:
    pytest.importorskip("rerun")
    from prism_vo.view.rerun_sink import RerunSink

    file = tmp_path / "run.rrd"
    sink = RerunSink(file)
    pipeline.run(open_sequence(recording), sinks=[sink], frames=5)
    content = file.read_bytes()
    assert content.startswith(b"RRF2")
    for entity in (
        b"world/path",
        b"world/camera/image",
        b"world/cloud",
        b"world/truth",
        b"depth/points",
        b"sigma/points",
        b"eta/eta",
        b"seconds/track",
    ):
        assert entity in content, entity


def test_view_reopens_a_finished_run(reported: pipeline.RunResult, tmp_path: Path, capsys: Any) -> None:
    assert main(["view", str(reported.out), "--no-open"]) == 0
    assert capsys.readouterr().out.strip().endswith("report.html")
    pytest.importorskip("rerun")
    file = tmp_path / "again.rrd"
    assert main(["view", str(reported.out), "--record", str(file)]) == 0
    assert b"world/cloud" in file.read_bytes()


def test_view_explains_what_is_missing(reported: pipeline.RunResult, tmp_path: Path, capsys: Any) -> None:
    assert main(["view", str(tmp_path)]) == 2
    assert "holds no results" in capsys.readouterr().err
    assert reported.out is not None
    shutil.copy(reported.out / "trajectory.txt", tmp_path)
    assert main(["view", str(tmp_path)]) == 2
    assert "no report.html" in capsys.readouterr().err


def test_without_the_extra_one_sentence_says_what_to_install(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    real = builtins.__import__

    def no_rerun(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".")[0] == "rerun":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", no_rerun)
    assert (
        main(["run", str(recording), "--out", str(tmp_path / "r"), "--record", str(tmp_path / "a.rrd")]) == 2
    )
    error = capsys.readouterr().err
    assert "pip install 'prism-vo[view]'" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "r").exists()  # said before anything was begun


def test_viewer_listens_on_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from prism_vo.view import rerun_sink

    real, started = subprocess.Popen, []

    def stand_in(command: list[str], **options: Any) -> Any:
        """Something that listens where the viewer was told to."""
        where = {name: command[command.index(name) + 1] for name in ("--bind", "--port")}
        server = [sys.executable, "-m", "http.server", where["--port"], "--bind", where["--bind"]]
        started.append((where["--bind"], real(server, **options)))
        return started[-1][1]

    monkeypatch.setattr(rerun_sink.subprocess, "Popen", stand_in)
    try:
        port = rerun_sink.start_viewer()
        assert started[0][0] == "127.0.0.1"
        socket.create_connection(("127.0.0.1", port), 1).close()
    finally:
        for _, process in started:
            process.kill()
            process.wait()


def test_no_screen_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from prism_vo.view import rerun_sink

    real = subprocess.Popen
    fails = [sys.executable, "-c", "raise SystemExit(1)"]
    monkeypatch.setattr(rerun_sink.subprocess, "Popen", lambda command, **options: real(fails, **options))
    with pytest.raises(InputError, match="use --record"):
        rerun_sink.start_viewer()


def test_record_into_a_folder_that_does_not_exist(recording: Path, tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("rerun")
    assert main(["run", str(recording), "--record", str(tmp_path / "no" / "a.rrd")]) == 2
    assert "does not exist" in capsys.readouterr().err
