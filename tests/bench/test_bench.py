# SPDX-License-Identifier: Apache-2.0
"""The benchmark resumes, survives crashes, and gives the same tables wherever its jobs run."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from loops import write_loop

from prism_vo.bench.plan import BenchPlan, recordings_in, segment_share, unique_names
from prism_vo.bench.results import DRIFT
from prism_vo.bench.run import Progress, run_bench
from prism_vo.bench.tables import drift_table, failure_table, median_table, threshold_table
from prism_vo.errors import ConfigError, InputError


@pytest.fixture
def loops(loop_folder: Path) -> Path:
    write_loop(loop_folder.parent / "other", 120)
    (loop_folder.parent / "notes").mkdir()
    return loop_folder.parent


def plan(loops: Path, tmp_path: Path, methods: tuple[str, ...], runs: int = 2) -> BenchPlan:
    names = tuple(f"stand_in_methods:{m}" for m in methods)
    return BenchPlan(recordings_in(loops, "loops"), names, runs, tmp_path / "results")


def test_finished_jobs_are_not_repeated_and_crashes_do_not_stop_the_rest(loops: Path, tmp_path: Path) -> None:
    seen: list[Progress] = []
    first = run_bench(plan(loops, tmp_path, ("GOOD", "CRASH"), 1), 2, report=seen.append)
    assert [p.done for p in seen] == [1, 2, 3, 4] and not any(p.stored for p in seen)
    assert sorted(r["status"] for r in first.records) == ["failed", "failed", "ok", "ok"]
    stamps = {p: p.stat().st_mtime_ns for p in (tmp_path / "results").rglob("GOOD/**/result.json")}

    seen.clear()
    again = run_bench(plan(loops, tmp_path, ("GOOD", "CRASH"), 1), 1, report=seen.append)
    assert [p.stored for p in seen] == [True, True, False, False], "only the crashed ones are tried again"
    assert stamps == {p: p.stat().st_mtime_ns for p in (tmp_path / "results").rglob("GOOD/**/result.json")}
    assert threshold_table(again) == threshold_table(first)
    assert "code -11" in failure_table(again).text()


def test_tables_show_all_runs_and_the_paper(loops: Path, tmp_path: Path) -> None:
    results = run_bench(plan(loops, tmp_path, ("GOOD", "WORSE", "ABSENT")), 2)
    good, worse, absent = results.methods
    assert all(results.overall(q, good) < results.overall(q, worse) for q in DRIFT)
    counts = {row[0]: row for row in threshold_table(results).rows}
    assert counts[good][2] == "2/2/2" and counts[worse][2] == "0/0/2"
    assert counts[absent][1] == "not installed"
    assert counts["PRISM-VO (paper, measured on the real data)"][2:] == (
        "5/8/10",
        "7/7/10",
        "4/6/10",
        "6/8/10",
    )
    assert len(drift_table(results).rows) == 2 * 3 * 2, "every run has its own row"
    marked = [row[0] for row in median_table(results, DRIFT, "medians").rows if "*" in row[2]]
    assert marked == [good]


def test_a_dask_cluster_that_loses_a_worker_gives_the_same_tables(loops: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    methods = ("SLOW", "WORSE")
    expected = run_bench(plan(loops, tmp_path / "local", methods, runs=1), 2)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        killed: list[int] = []

        def kill_one_busy_worker() -> None:
            with distributed.Client(cluster.scheduler_address) as client:
                while not any(client.processing().values()):
                    time.sleep(0.05)
                pid = next(iter(client.run(os.getpid).values()))
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

        killer = threading.Thread(target=kill_one_busy_worker)
        killer.start()
        results = run_bench(
            plan(loops, tmp_path / "cluster", methods, 1), scheduler=cluster.scheduler_address
        )
        killer.join()
    assert killed and all(r["status"] == "ok" for r in results.records)
    assert threshold_table(results) == threshold_table(expected)
    assert drift_table(results) == drift_table(expected)


def test_a_silent_scheduler_is_one_sentence(loops: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    from prism_vo.workers import executors

    with pytest.raises(ConfigError, match="No Dask scheduler answers"):
        list(executors.run_on_cluster(str, [1], "tcp://127.0.0.1:1", patience=0.5))


def test_folders_of_recordings(loops: Path, tmp_path: Path) -> None:
    found = recordings_in(loops, "loops")
    assert [(s.name, s.frames) for s in found] == [("loop", 140), ("other", 120)]
    with pytest.raises(InputError, match="holds no recordings"):
        recordings_in(loops / "notes", "loops")
    with pytest.raises(ConfigError, match="Two recordings are called 'loop'"):
        unique_names((found[0], found[0]))
    assert segment_share(200) == 0.15 and segment_share(100) == 0.2 and segment_share(30) == 0.5
    with pytest.raises(ConfigError, match="no method 'pr1sm'"):
        BenchPlan(found, ("pr1sm",), 1, tmp_path).jobs()
