# SPDX-License-Identifier: Apache-2.0
"""Runs the jobs of a plan, here or on a cluster; what an earlier run finished is not repeated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from prism_vo.bench.jobs import RESULT, Job, recover_attempts, run_isolated, stored_result
from prism_vo.bench.plan import BenchPlan
from prism_vo.bench.record_file import Record, read_record
from prism_vo.bench.results import Results
from prism_vo.workers.executors import run_local, run_on_cluster
from prism_vo.workers.processes import Workers


@dataclass(frozen=True)
class Progress:
    """One finished job."""

    done: int
    total: int
    job: Job
    record: Record
    stored: bool  # it was finished before this run of the benchmark


def run_bench(
    plan: BenchPlan,
    processes: int = 1,
    scheduler: str | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Results:
    """Compute what is missing; a job that fails is recorded and does not stop the others."""
    jobs = plan.jobs()
    records: dict[Job, Record] = {}
    workers = Workers()
    for job in jobs:
        recover_attempts(job)
        if (known := stored_result(job)) is not None:
            records[job] = known
            report(Progress(len(records), len(jobs), job, known, stored=True))
    missing = [job for job in jobs if job not in records]
    outcomes = (
        run_on_cluster(run_isolated, missing, scheduler)
        if scheduler and missing
        else run_local(lambda job: run_isolated(job, workers), missing, max(1, processes), workers.stop)
    )
    for job, outcome in outcomes:
        records[job] = _record_of(job, outcome)
        report(Progress(len(records), len(jobs), job, records[job], stored=False))
    return Results(tuple(records[job] for job in jobs))


def _record_of(job: Job, outcome: Record | Exception) -> Record:
    """What a job returned, or why there is nothing: the executor itself may have lost it."""
    if isinstance(outcome, dict):
        return outcome
    stored = read_record(Path(job.folder) / RESULT)
    if stored is not None and stored.get("job") == asdict(job):
        return stored
    return {
        "job": asdict(job),
        "status": "failed",
        "error": f"{type(outcome).__name__}: {outcome}",
        "version": "",
    }
