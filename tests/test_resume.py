# SPDX-License-Identifier: Apache-2.0
"""A run that was ended early goes on to the same bytes; a checkpoint is read with care."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml

from prism_vo.checkpoint import keeper
from prism_vo.checkpoint.file import CHECKPOINT, write_checkpoint
from prism_vo.checkpoint.pickling import from_bytes, to_bytes
from prism_vo.cli import main
from prism_vo.commands.call import Call
from prism_vo.config import Config
from prism_vo.datasets import open_sequence
from prism_vo.errors import InputError, OutputError
from prism_vo.export.finished_run import FinishedRun
from prism_vo.output_folder import MARKER, OutputFolder, read_marker
from prism_vo.pipeline import run
from prism_vo.report.sink import ReportSink

FILES = ("trajectory.txt", "keyframes.txt", "points.ply")
Variant = Literal["full", "plenoptic", "pinhole"]


def statistics(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "stats.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if k != "seconds"} for line in lines]


def assert_same(out: Path, reference: Path) -> None:
    for name in FILES:
        assert (out / name).read_bytes() == (reference / name).read_bytes(), name
    assert statistics(out) == statistics(reference)


class Interrupt:
    """Ends a run after so many frames, as Ctrl-C (between frames) or as a fault (in the middle of one)."""

    def __init__(self, after: int, error: BaseException) -> None:
        self.after, self.error = after, error

    def __call__(self, done: int, total: int | None, report: object) -> None:
        if done == self.after:
            raise self.error

    def on_frame(self, report: Any, frame: object, odometry: object) -> None:
        if report.index == self.after:
            raise self.error

    def on_end(self, result: object) -> None:
        """Nothing."""


@pytest.mark.parametrize(("variant", "after"), [("full", 1), ("full", 7), ("plenoptic", 5), ("pinhole", 3)])
def test_an_interrupted_run_goes_on_to_the_same_bytes(
    recording: Path, tmp_path: Path, variant: Variant, after: int
) -> None:
    sequence, config = open_sequence(recording), Config(variant=variant)
    whole = run(sequence, config, tmp_path / "whole", check=True, sinks=[ReportSink(tmp_path / "whole")])
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run(
            sequence,
            config,
            out,
            progress=Interrupt(after, KeyboardInterrupt()),
            check=True,
            sinks=[ReportSink(out)],
        )
    assert (out / CHECKPOINT).is_file() and (out / "points.ply").is_file()
    result = run(
        open_sequence(recording), config, out, resume=True, check=True, sinks=[ReportSink(out)], threads=False
    )
    assert_same(out, tmp_path / "whole")
    assert len(result.reports) == len(whole.reports) and result.notices == whole.notices
    assert (out / "report.html").is_file() and not (out / CHECKPOINT).exists()


def test_a_fault_in_the_middle_of_a_frame_goes_back_to_the_last_checkpoint(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "KEYFRAMES", 1)
    monkeypatch.setattr(keeper, "MOST_TIME", 1.0)
    sequence, out = open_sequence(recording), tmp_path / "out"
    run(sequence, None, tmp_path / "whole")
    with pytest.raises(RuntimeError):
        run(sequence, None, out, sinks=[Interrupt(8, RuntimeError("a fault of ours"))])
    header = (out / CHECKPOINT).read_bytes().split(b"\n")[1]
    assert 0 < json.loads(header)["position"] < 8
    run(sequence, None, out, resume=True)
    assert_same(out, tmp_path / "whole")


def test_other_settings_do_not_go_on(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run(open_sequence(recording), None, out, progress=Interrupt(2, KeyboardInterrupt()))
    with pytest.raises(InputError, match="another recording or with other settings"):
        run(open_sequence(recording), Config(seed=3), out, resume=True)


def test_a_recording_that_has_moved_goes_on(recording: Path, tmp_path: Path) -> None:
    """Another folder with another name; what is recorded is the same."""
    first, moved = tmp_path / "walk", tmp_path / "elsewhere" / "monday"
    shutil.copytree(recording, first)
    run(open_sequence(first), None, tmp_path / "whole")
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        call = Call(first).record()
        run(open_sequence(first), None, out, progress=Interrupt(5, KeyboardInterrupt()), call=call)
    moved.parent.mkdir()
    shutil.move(first, moved)
    assert main(["run", str(moved), "--resume", str(out), "--no-report", "--quiet"]) == 0
    assert_same(out, tmp_path / "whole")
    settings = yaml.safe_load((out / "config.yaml").read_text())
    assert settings["path"] == str(moved) and settings["sequence"] == "monday"
    assert FinishedRun.read(out).sequence.name == "monday"


def test_a_recording_that_has_grown_meanwhile_goes_on_to_its_end(recording: Path, tmp_path: Path) -> None:
    walk, out = tmp_path / "walk", tmp_path / "out"
    shutil.copytree(recording, walk)
    last, times = sorted((walk / "raw").iterdir())[-1], (walk / "times.txt").read_text()
    image = last.read_bytes()
    last.unlink()
    (walk / "times.txt").write_text("".join(times.splitlines(keepends=True)[:-1]))
    with pytest.raises(KeyboardInterrupt):
        run(open_sequence(walk), None, out, progress=Interrupt(2, KeyboardInterrupt()))
    last.write_bytes(image)
    (walk / "times.txt").write_text(times)
    result = run(open_sequence(walk), None, out, resume=True)
    assert len(result.reports) == len(open_sequence(walk))


def test_another_recording_of_the_same_name_does_not_go_on(recording: Path, tmp_path: Path) -> None:
    first, second, out = tmp_path / "a" / "walk", tmp_path / "b" / "walk", tmp_path / "out"
    shutil.copytree(recording, first)
    shutil.copytree(recording, second)
    images = sorted((second / "raw").iterdir())
    shutil.copy(images[3], images[0])
    with pytest.raises(KeyboardInterrupt):
        run(open_sequence(first), None, out, progress=Interrupt(2, KeyboardInterrupt()))
    before = (out / CHECKPOINT).read_bytes()
    with pytest.raises(InputError, match="another recording or with other settings"):
        run(open_sequence(second), None, out, resume=True)
    assert (out / CHECKPOINT).read_bytes() == before


def test_killed_and_gone_on_with(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """kill -9 as soon as a few frames are there; the folder alone is enough to go on."""
    out, flags = tmp_path / "an odd [name]", ["--no-report", "--quiet"]
    assert main(["run", str(recording), "--out", str(tmp_path / "whole"), *flags]) == 0
    command = [sys.executable, "-m", "prism_vo", "run", str(recording), "--out", str(out), *flags]
    process = subprocess.Popen(command)
    stats = out / "stats.jsonl"
    while process.poll() is None and not (stats.is_file() and stats.read_text().count("\n") >= 3):
        time.sleep(0.005)
    process.kill()
    process.wait()
    assert main(["run", str(recording), "--out", str(out), *flags]) == 2
    assert "--resume" in capsys.readouterr().err
    assert main(["run", "--resume", str(out), *flags]) == 0
    assert_same(out, tmp_path / "whole")
    assert main(["run", "--resume", str(out)]) == 0
    assert "finished already" in capsys.readouterr().out
    assert main(["run", "--resume", str(tmp_path / "none")]) == 2
    assert main(["run"]) == 2


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals_write_what_is_known(recording: Path, tmp_path: Path, number: int, code: int) -> None:
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "prism_vo",
        "run",
        str(recording),
        "--out",
        str(out),
        "--no-report",
        "-q",
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    stats = out / "stats.jsonl"
    while process.poll() is None and not (stats.is_file() and stats.read_text().count("\n") >= 2):
        time.sleep(0.005)
    process.send_signal(number)
    said = process.communicate()[1]
    if process.returncode != 0:  # else it was faster than the signal
        assert process.returncode == code and "go on with: prism-vo run --resume" in said, said
        assert all((out / name).is_file() for name in (*FILES, CHECKPOINT))


class Hostile:
    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (f"touch {self.trace}",)


@pytest.mark.parametrize("module", ["os.system", "builtins.eval", "prism_vo.atomic.write_bytes_atomically"])
def test_a_foreign_pickle_runs_nothing(tmp_path: Path, module: str) -> None:
    trace = tmp_path / "trace"
    room, _, name = module.rpartition(".")
    data = f"c{room}\n{name}\n(V{trace}\ntR.".encode()
    for hostile in (data, pickle.dumps(Hostile(trace))):
        with pytest.raises(InputError, match="cannot be used"):
            from_bytes(hostile, {}, lambda _: pytest.fail("nothing is read"), lambda _: None)
    assert not trace.exists()


def test_a_checkpoint_that_is_none(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run(open_sequence(recording), None, out, progress=Interrupt(2, KeyboardInterrupt()))
    data = (out / CHECKPOINT).read_bytes()
    for wrong, words in (
        (b"x" + data, "no checkpoint of prism-vo"),
        (data[:-1], "damaged"),
        (data.replace(b'"program": "', b'"program": "x'), "another version"),
        (re.sub(rb'("records": {"bytes": )\d+', rb"\1Infinity", data), "missing or damaged"),
    ):
        (out / CHECKPOINT).write_bytes(wrong)
        with pytest.raises(InputError, match=words):
            run(open_sequence(recording), None, out, resume=True)
    write_checkpoint(out, json.loads(data.split(b"\n")[1]), to_bytes({"position": 3}, {}))
    with pytest.raises(InputError, match="not whole"):
        run(open_sequence(recording), None, out, resume=True)


def test_somebodys_files_are_refused(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    out.mkdir()
    (out / "config.yaml").write_text("mine")
    flags = ["--no-report", "--quiet", "--frames", "2"]
    assert main(["run", str(recording), "--out", str(out), *flags]) == 2
    assert (out / "config.yaml").read_text() == "mine" and len(list(out.iterdir())) == 1
    (tmp_path / "link").symlink_to(out)
    assert main(["run", str(recording), "--out", str(tmp_path / "link"), *flags, "--force"]) == 2
    precious = tmp_path / "precious"
    precious.write_text("precious")
    for name in ("trajectory.txt", "points.ply", "report.html"):
        (out / name).symlink_to(precious)
    assert main(["run", str(recording), "--out", str(out), *flags, "--force"]) == 0
    assert precious.read_text() == "precious" and not (out / "report.html").exists()
    marker = read_marker(out)
    assert marker is not None and marker["state"] == "finished"


def test_one_process_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prism_vo.output_folder.PATIENCE", 0.1)
    first = OutputFolder(tmp_path / "out", "run")
    first.mark("running")
    with pytest.raises(InputError, match="another process is writing here"):
        OutputFolder(tmp_path / "out", "run", force=True)
    first.close()
    OutputFolder(tmp_path / "out", "run", force=True).close()
    assert [p.name for p in (tmp_path / "out").iterdir()] == [MARKER]


def test_a_full_disk_is_named(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run(open_sequence(recording), None, out, progress=Interrupt(4, KeyboardInterrupt()))
    before = (out / CHECKPOINT).read_bytes()
    monkeypatch.setattr("prism_vo.atomic.os.fsync", full)
    with pytest.raises(OutputError, match=r"cannot be written \(No space left on device\)"):
        run(open_sequence(recording), None, out, resume=True)
    assert (out / CHECKPOINT).read_bytes() == before
    assert not list(out.glob(".*tmp"))


def test_depth_goes_on_where_it_was_killed(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prism_vo.commands import depth_folder

    def contents(folder: Path) -> dict[str, bytes]:
        return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}

    call = ["depth", str(recording), "--frames", "11", "--stride", "1", "--out"]
    assert main([*call, str(tmp_path / "whole")]) == 0
    write, count = depth_folder._save, 0

    def killed(path: Path, image: Any) -> None:
        nonlocal count
        count += 1
        if count == 4 * 9 + 2:
            raise KeyboardInterrupt
        write(path, image)

    monkeypatch.setattr(depth_folder, "_save", killed)
    assert main([*call, str(tmp_path / "out")]) == 130
    assert main([*call, str(tmp_path / "out")]) == 0
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert count < 4 * 14, "whole images are not decoded again"
    assert main([*call[:3], "2", "--out", str(tmp_path / "out")]) == 2
