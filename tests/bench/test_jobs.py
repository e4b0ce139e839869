# SPDX-License-Identifier: Apache-2.0
"""Jobs: isolated, described in full, never half finished."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prism_vo.bench.jobs import RESULT, Job, run_isolated, stored_result
from prism_vo.workers.executors import run_local


def job(loop: Path, tmp_path: Path, method: str, run: int = 0) -> Job:
    folder = tmp_path / "results" / method / str(run)
    return Job("loop", str(loop), "loops", f"stand_in_methods:{method}", run, str(folder))


def test_a_job_leaves_a_complete_description(loop_folder: Path, tmp_path: Path) -> None:
    task = job(loop_folder, tmp_path, "GOOD")
    assert stored_result(task) is None
    record = run_isolated(task)
    assert record["status"] == "ok"
    assert record["metrics"]["drift"]["d_s_prime"] == pytest.approx(1.0, abs=0.01)
    assert record["settings"] == {"noise": 0.002} and record["version"] and record["machine"]["cores"]
    folder = Path(task.folder)
    assert {p.name for p in folder.iterdir()} >= {RESULT, "trajectory.txt", "extra.txt", "log.txt"}
    assert stored_result(task) == json.loads((folder / RESULT).read_text())
    assert not list(folder.parent.glob(".*")), "no traces of the attempt"


def test_other_settings_are_another_job(loop_folder: Path, tmp_path: Path) -> None:
    task = job(loop_folder, tmp_path, "GOOD")
    run_isolated(task)
    changed = Job(**{**task.__dict__, "segment_share": 0.2})
    assert stored_result(task) is not None and stored_result(changed) is None


@pytest.mark.parametrize(
    ("method", "status", "words"),
    [
        ("CRASH", "failed", "code -11"),
        ("REFUSE", "failed", "too dark"),
        ("ABSENT", "not installed", "not on this machine"),
        ("MISSING", "failed", "cannot be loaded"),
    ],
)
def test_what_goes_wrong_is_a_record(
    method: str, status: str, words: str, loop_folder: Path, tmp_path: Path
) -> None:
    task = job(loop_folder, tmp_path, method)
    record = run_isolated(task)
    assert record["status"] == status and words in record["error"]
    assert stored_result(task) is None, "it is tried again next time"


def test_a_damaged_result_is_computed_again(loop_folder: Path, tmp_path: Path) -> None:
    task = job(loop_folder, tmp_path, "GOOD")
    run_isolated(task)
    (Path(task.folder) / RESULT).write_text('{"status": "o')
    assert stored_result(task) is None
    assert run_isolated(task)["status"] == "ok" and stored_result(task) is not None


def test_an_endless_job_is_stopped(loop_folder: Path, tmp_path: Path) -> None:
    task = Job(**{**job(loop_folder, tmp_path, "SLOW").__dict__, "timeout": 0.2})
    record = run_isolated(task)
    assert record["status"] == "failed" and "stopped after" in record["error"]


def test_local_processes_survive_a_crash(loop_folder: Path, tmp_path: Path) -> None:
    tasks = [job(loop_folder, tmp_path, name) for name in ("CRASH", "GOOD")]
    outcome = {task.method: result for task, result in run_local(run_isolated, tasks, 2)}
    states = {name: r["status"] for name, r in outcome.items() if isinstance(r, dict)}
    assert states == {"stand_in_methods:CRASH": "failed", "stand_in_methods:GOOD": "ok"}
