# SPDX-License-Identifier: Apache-2.0
"""Several jobs of one command: here, so many at once, or on the workers of a Dask cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from prism_vo.workers.executors import run_local, run_on_cluster, unsafe_scheduler
from prism_vo.workers.processes import Workers
from prism_vo.workers.program import Ended

FAILED = 2  # exit code


class Task(Protocol):
    """What a worker is told; plain values, so it can be sent anywhere."""

    @property
    def title(self) -> str: ...


Job = TypeVar("Job", bound=Task, contravariant=True)


class Work(Protocol[Job]):
    """Carries out one of them; ``workers`` ends its process when all is interrupted."""

    def __call__(self, task: Job, workers: Workers | None) -> Ended: ...


def carry_out(
    function: Work[Job],
    tasks: Sequence[Job],
    jobs: int,
    scheduler: str | None,
    say: Callable[[str], None] = print,
) -> int:
    """Run them all, one line each as it ends; the exit code is the worst of theirs."""
    if scheduler is not None and (warning := unsafe_scheduler(scheduler)):
        print(f"warning: {warning}", file=sys.stderr)
    workers = Workers()
    outcomes = (
        run_on_cluster(partial(function, workers=None), tasks, scheduler)
        if scheduler and tasks
        else run_local(lambda task: function(task, workers), tasks, max(1, jobs), workers.stop)
    )
    codes = [0]
    for done, (task, outcome) in enumerate(outcomes, 1):
        ended = outcome if isinstance(outcome, Ended) else Ended(FAILED, str(outcome))
        codes.append(ended.code if ended.code in (0, 3) else FAILED)
        line = f"{done}/{len(tasks)} {task.title}: {_words(ended)}"
        if codes[-1] == FAILED:
            print(line, file=sys.stderr)
        else:
            say(line)
    return FAILED if FAILED in codes else max(codes)


def _words(ended: Ended) -> str:
    if ended.code == 0:
        return "done"
    if ended.code == 3:
        return f"done, not all of it: {ended.words}"
    return f"failed: {ended.words or f'exit code {ended.code}'}"
