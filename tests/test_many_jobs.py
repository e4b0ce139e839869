# SPDX-License-Identifier: Apache-2.0
"""Several recordings, pieces of one and dense maps: at once, on a cluster that loses workers, the same bytes."""

import filecmp
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from prism_vo.cli import main
from prism_vo.commands import depth_pieces
from prism_vo.output_folder import MARKER
from prism_vo.workers.processes import Workers
from prism_vo.workers.program import call_program

FRAMES = 7


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recordings")
    for seed in range(2):
        arguments = ["--camera", "mini", "--frames", str(FRAMES), "--seed", str(seed), "--truth-every", "0"]
        assert main(["simulate", "table", str(folder / f"rec{seed}"), *arguments, "-q"]) == 0
    return folder


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        yield cluster


def files_of(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def same(one: Path, other: Path, apart: tuple[str, ...] = ()) -> None:
    names = [name for name in files_of(one) if not name.startswith(apart)] if apart else files_of(one)
    assert names and set(names) <= set(files_of(other))
    for name in names:
        assert filecmp.cmp(one / name, other / name, shallow=False), name


def kill_a_busy_worker(cluster: Any) -> threading.Thread:
    distributed = pytest.importorskip("distributed")

    def kill() -> None:
        with distributed.Client(cluster.scheduler_address) as client:
            while not any(client.processing().values()):
                time.sleep(0.02)
            busy = next(address for address, jobs in client.processing().items() if jobs)
            time.sleep(1.5)
            os.kill(client.run(os.getpid, workers=[busy])[busy], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_pieces_are_the_same_bytes_and_whole_ones_are_kept(
    recordings: Path, tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(depth_pieces, "PIECE", 3)
    recording = str(recordings / "rec0")
    assert main(["depth", recording, "--out", str(tmp_path / "one")]) == 0
    real, calls = depth_pieces.decode_piece, []

    def interrupted(task: depth_pieces.Piece, workers: Workers | None) -> Any:
        calls.append(task.first)
        if task.first == 3:
            raise KeyboardInterrupt
        return real(task, workers)

    monkeypatch.setattr(depth_pieces, "decode_piece", interrupted)
    here = ["depth", recording, "--out", str(tmp_path / "here"), "--jobs", "1"]
    assert main([*here[:-1], "2"]) != 0
    monkeypatch.setattr(depth_pieces, "decode_piece", real)
    assert main([*here[:-1], "2"]) == 0
    same(tmp_path / "one", tmp_path / "here")
    killer = kill_a_busy_worker(cluster)
    there = ["--out", str(tmp_path / "there"), "--scheduler", cluster.scheduler_address]
    assert main(["depth", recording, *there]) == 0
    killer.join()
    same(tmp_path / "one", tmp_path / "there")
    assert not (tmp_path / "there" / depth_pieces.PIECES).exists()


def test_an_image_that_cannot_be_read_is_left_out_of_its_piece(
    recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(depth_pieces, "PIECE", 3)
    folder = tmp_path / "rec"
    (folder / "raw").mkdir(parents=True)
    for path in sorted((recordings / "rec0").glob("*.*")):
        (folder / path.name).write_bytes(path.read_bytes())
    for path in sorted((recordings / "rec0" / "raw").iterdir()):
        (folder / "raw" / path.name).write_bytes(path.read_bytes())
    colour = folder / "raw" / "000004.png"
    cv2.imwrite(str(colour), np.repeat(cv2.imread(str(colour), cv2.IMREAD_GRAYSCALE)[..., None], 3, -1))
    (folder / "raw" / "000003.png").write_text("no image")
    assert main(["depth", str(folder), "--out", str(tmp_path / "one")]) == 3
    assert main(["depth", str(folder), "--out", str(tmp_path / "pieces"), "--jobs", "2"]) == 3
    assert "000003.png" in capsys.readouterr().err
    same(tmp_path / "one", tmp_path / "pieces")


def test_many_recordings_on_a_cluster_that_loses_a_worker(
    recordings: Path, tmp_path: Path, cluster: Any, capsys: pytest.CaptureFixture
) -> None:
    for name in ("rec0", "rec1"):
        assert (
            main(["run", str(recordings / name), "--out", str(tmp_path / "one" / name), "--dense", "-q"]) == 0
        )
    killer = kill_a_busy_worker(cluster)
    call = [
        "run-many",
        str(recordings),
        "--out",
        str(tmp_path / "all"),
        "--scheduler",
        cluster.scheduler_address,
    ]
    assert main(call) == 0
    killer.join()
    folders = [str(tmp_path / "all" / name) for name in ("rec0", "rec1")]
    assert main(["dense", *folders, "--jobs", "2"]) == 0
    apart = ("stats.jsonl", "report.html", "config.yaml", MARKER)  # times, and where they were made
    for name in ("rec0", "rec1"):
        same(tmp_path / "one" / name, tmp_path / "all" / name, apart)
    capsys.readouterr()
    assert main(call) == 0
    assert main(["dense", *folders]) == 0
    said = capsys.readouterr().out
    assert "2 of 2 recordings were finished before" in said and "2 of 2 runs have their dense map" in said


def test_what_cannot_be_run_is_said_and_the_others_go_on(
    recordings: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    out = str(tmp_path / "out")
    assert main(["run-many", "--out", out]) == 2
    assert main(["run-many", str(tmp_path / "nowhere"), "--out", out]) == 2
    assert main(["run-many", str(recordings / "rec0"), str(recordings / "rec0"), "--out", out]) == 2
    assert "would share a folder" in " ".join(capsys.readouterr().err.split())
    broken = tmp_path / "broken"
    (broken / "raw").mkdir(parents=True)
    (broken / "raw" / "0.png").write_text("no image")
    (broken / "camera.yaml").write_bytes((recordings / "rec0" / "camera.yaml").read_bytes())
    assert main(["run-many", str(broken), str(recordings / "rec1"), "--out", out, "--frames", "3"]) == 2
    said = capsys.readouterr()
    assert "broken: failed" in said.err and "rec1: done" in said.out
    assert main(["dense", str(tmp_path / "nowhere"), out]) == 2


def test_images_without_a_camera_file_take_the_one_that_is_named(recordings: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for path in sorted((recordings / "rec0" / "raw").iterdir())[:3]:
        (bare / path.name).write_bytes(path.read_bytes())
    call = ["run-many", str(bare), "--out", str(tmp_path / "out")]
    assert main(call) == 2
    assert main([*call, "--camera", str(recordings / "rec0" / "camera.yaml")]) == 0
    assert (tmp_path / "out" / "bare" / "trajectory.txt").is_file()


def test_what_is_left_out_of_a_folder_is_said(
    recordings: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Images whose camera nothing describes, unless it is named."""
    many, out = tmp_path / "many", tmp_path / "out"
    (many / "bare").mkdir(parents=True)
    for path in sorted((recordings / "rec0" / "raw").iterdir())[:2]:
        (many / "bare" / path.name).write_bytes(path.read_bytes())
    (many / "rec1").symlink_to(recordings / "rec1")
    call = ["run-many", str(many), "--out", str(out), "--frames", "2"]
    assert main(call) == 0
    said = capsys.readouterr()
    assert f"left out: {many / 'bare'}: camera.yaml is missing" in said.err and "1/1 rec1: done" in said.out
    assert main([*call, "--camera", str(recordings / "rec0" / "camera.yaml")]) == 0
    assert "left out" not in capsys.readouterr().err and (out / "bare" / "trajectory.txt").is_file()


def test_a_program_ends_with_the_worker_that_started_it(tmp_path: Path) -> None:
    script = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)"
    note = tmp_path / "pid"
    pid = os.fork()
    if pid == 0:
        (tmp_path / "sleeper.py").write_text(script)
        os.environ["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        call_program([str(note)], tmp_path / "log.txt", module="sleeper")
        os._exit(0)
    while not note.exists() or not note.read_text():
        time.sleep(0.05)
    sleeper = int(note.read_text())
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    for _ in range(100):
        try:
            os.kill(sleeper, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("it is still there")
