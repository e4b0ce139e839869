# SPDX-License-Identifier: Apache-2.0
"""One benchmark job: one method on one sequence, once. It runs in a process of its own and leaves a folder.

The folder appears under its final name in one step, complete: a finished job is never half there.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
import traceback
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from prism_vo import __version__
from prism_vo.atomic import output_named
from prism_vo.bench.record_file import Record, read_record
from prism_vo.errors import InputError, PrismError
from prism_vo.output_folder import FolderLock
from prism_vo.workers.processes import Workers, end_with

RESULT = "result.json"
FINISHED = "ok"
LEAST_SPANNED = 0.5  # of the frames: below it there is no result to compare


@dataclass(frozen=True)
class Job:
    """Everything a worker needs to know; plain values, so it can be sent anywhere."""

    sequence: str  # name in tables
    path: str  # folder or manifest
    suite: str
    method: str
    run: int
    folder: str  # where the result goes
    programs: str | None = None  # settings of external programs it depends on, JSON
    segment_share: float = 0.15
    timeout: float = 6 * 3600.0  # s

    @property
    def title(self) -> str:
        """For progress lines and reports."""
        return f"{self.sequence} · {self.method} · run {self.run}"


def stored_result(job: Job) -> Record | None:
    """The record of a job that was finished before with the same settings, else None."""
    record = read_record(Path(job.folder) / RESULT)
    same = record is not None and record.get("job") == asdict(job)
    return record if same and record is not None and record["status"] == FINISHED else None


def run_isolated(job: Job, workers: Workers | None = None) -> Record:
    """Run a job in a fresh process; a crash there becomes a record here. Returns the record it stored."""
    final = Path(job.folder)
    attempt = final.parent / f".{final.name}-{uuid.uuid4().hex[:12]}"
    with output_named(attempt, "finished jobs are safe"):
        attempt.mkdir(parents=True)
    try:
        code = _start_worker(job, attempt, workers or Workers())
        record = read_record(attempt / RESULT)
        if record is None:
            record = _base_record(job) | {"status": "failed", "error": _last_words(attempt, code)}
            _write_record(attempt / RESULT, record)
        _move_into_place(attempt, final)
        return record
    finally:
        shutil.rmtree(attempt, ignore_errors=True)


def _start_worker(job: Job, attempt: Path, workers: Workers) -> int:
    environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with (attempt / "log.txt").open("wb") as log:
        command = [sys.executable, "-m", "prism_vo.bench.jobs", str(attempt), str(os.getpid())]
        worker = workers.start(command, log, environment)
        try:
            worker.communicate(json.dumps(asdict(job)).encode(), timeout=job.timeout)
        except subprocess.TimeoutExpired:
            log.write(f"\nstopped after {job.timeout:g} s\n".encode())
        finally:
            workers.end(worker)
        return worker.returncode


def recover_attempts(job: Job) -> None:
    """What killed workers left behind: a finished result is taken over, everything else is removed."""
    final = Path(job.folder)
    for attempt in sorted(final.parent.glob(f".{final.name}-*")):
        try:
            with FolderLock(attempt):
                record = read_record(attempt / RESULT)
                whole = record is not None and record["status"] == FINISHED and record["job"] == asdict(job)
            if whole and stored_result(job) is None:
                _move_into_place(attempt, final)
            shutil.rmtree(attempt, ignore_errors=True)
        except InputError:  # a worker of another benchmark is at it
            continue


def _last_words(attempt: Path, code: int) -> str:
    lines = (attempt / "log.txt").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return f"The process ended with code {code}: {lines[-1] if lines else 'no output'}"


def _move_into_place(attempt: Path, final: Path) -> None:
    """Rename the attempt; an older or concurrent result of the same job gives way unless it is better."""
    current, new = read_record(final / RESULT), read_record(attempt / RESULT)
    if current and new and current["status"] == FINISHED != new["status"] and current["job"] == new["job"]:
        return
    shutil.rmtree(final, ignore_errors=True)
    try:
        attempt.rename(final)
    except OSError:  # a copy of this job on another worker was faster: its result is as good
        if read_record(final / RESULT) is None:
            raise


def execute(job: Job, folder: Path) -> Record:
    """Run the method, measure it against ground truth, and describe it all in one record."""
    from prism_vo.baselines.external import NotInstalledError

    record = _base_record(job)
    start = time.perf_counter()
    try:
        record |= _measure(job, folder) | {"status": FINISHED, "error": ""}
    except NotInstalledError as error:
        record |= {"status": "not installed", "error": str(error)}
    except PrismError as error:  # the folder will have its final name when somebody reads this
        record |= {"status": "failed", "error": str(error).replace(str(folder), job.folder)}
    except Exception as error:
        traceback.print_exc()
        record |= {"status": "failed", "error": f"{type(error).__name__}: {error}"}
    return record | {"seconds": time.perf_counter() - start}


def _measure(job: Job, folder: Path) -> Record:
    from prism_vo.baselines.external import ProgramsFile
    from prism_vo.bench.methods import find_method
    from prism_vo.datasets import open_sequence
    from prism_vo.evaluate.coverage import coverage_of
    from prism_vo.evaluate.metrics import evaluate_trajectory
    from prism_vo.evaluate.record import end_record, metrics_record
    from prism_vo.trajectory import write_trajectory

    sequence = open_sequence(Path(job.path))
    method = find_method(job.method)
    start = time.perf_counter()
    programs = ProgramsFile.model_validate_json(job.programs) if job.programs else ProgramsFile()
    output = method.run(sequence, job.run, folder, programs)
    seconds = time.perf_counter() - start
    write_trajectory(output.trajectory, folder / "trajectory.txt")
    coverage = coverage_of(output.trajectory.times, np.asarray(sequence.times, np.float64))
    if coverage.spanned_share < LEAST_SPANNED:
        raise InputError(
            f"{method.name} covers {100 * coverage.spanned_share:.0f} % of the frames ({coverage.poses} poses of "
            f"{coverage.frames} frames); less than {100 * LEAST_SPANNED:.0f} % count as no result."
        )
    metrics = None
    if sequence.groundtruth is not None:
        measured = evaluate_trajectory(
            output.trajectory, sequence.groundtruth, segment_share=job.segment_share
        )
        metrics = metrics_record(measured) | {"end": end_record(output.trajectory, sequence.groundtruth)}
    return {
        "alignment": method.alignment,
        "frames": len(sequence),
        "lost": output.lost,
        "coverage": {"pose_share": coverage.pose_share, "spanned_share": coverage.spanned_share},
        "method_seconds": seconds,
        "detail": output.detail,
        "settings": output.settings,
        "metrics": metrics,
    }


def _base_record(job: Job) -> Record:
    return {
        "format": "prism-vo/bench-result/1",
        "job": asdict(job),
        "version": __version__,
        "machine": {
            "processor": processor_name(),
            "cores": os.cpu_count(),
            "system": platform.system(),
            "python": platform.python_version(),
        },
    }


def processor_name() -> str:
    """The processor's name, as well as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _write_record(path: Path, record: Record) -> None:
    from prism_vo.atomic import write_text_atomically

    write_text_atomically(path, json.dumps(record, indent=1) + "\n")


def _worker() -> None:
    folder, parent = Path(sys.argv[1]), int(sys.argv[2])
    end_with(parent)
    job = Job(**json.loads(sys.stdin.read()))
    with FolderLock(folder):
        _write_record(folder / RESULT, execute(job, folder))


if __name__ == "__main__":
    _worker()
