# SPDX-License-Identifier: Apache-2.0
"""``prism-vo bench``: the paper's experiments at one command."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from prism_vo.commands.quiet import Quiet

if TYPE_CHECKING:
    from prism_vo.bench.plan import BenchSequence
    from prism_vo.bench.results import Results
    from prism_vo.bench.run import Progress


def bench(
    *,
    suite: Literal["loops", "close-range", "fan", "closing", "all"] = "all",
    methods: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (),
    runs: int | None = None,
    scale: Literal["small", "medium", "full"] = "small",
    data: Path | None = None,
    sequences: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (),
    out: Path = Path("bench"),
    jobs: int | None = None,
    scheduler: str | None = None,
    programs: Path | None = None,
    quiet: Quiet = False,
    force: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Run methods over sequences and write report.html, tables and figures. Finished jobs are not repeated.

    Parameters
    ----------
    suite
        loops: 11 loops, drift. close-range: 7 scenes, absolute error. fan: the hard scene. all: these three.
        closing: 11 whole paths that come back, with and without recognised places.
    methods
        prism, prism-plenoptic, prism-pinhole, spo, rgbd (these five by default; of closing: prism, prism-loops);
        colmap, dso, orbslam3, dpvo if installed; or module:NAME of your own.
    runs
        Runs of each method on each sequence; 1 at the small scale, 10 otherwise.
    scale
        Size of the simulated recordings: small (640-px camera, 4-m loops), medium, full (the camera as built).
    data
        Folder of real recordings (one folder each, with sequence.yaml) instead of simulated ones.
    sequences
        Only these recordings of the suite or data folder, by name.
    out
        Folder of recordings, results, tables, figures and report.
    jobs
        Jobs at the same time on this machine; default: as many as it has cores.
    scheduler
        Address of a Dask scheduler (tcp://host:8786): jobs run on its workers instead.
    programs
        YAML file that names external programs, e.g. dso: {executable: [/opt/dso/bin/dso_dataset]}.
    force
        Write among other files in --out, and replace those of the same names.
    """
    import os

    from prism_vo.baselines.external import read_programs
    from prism_vo.bench.methods import CLOSING_METHODS, OUR_METHODS, check_methods
    from prism_vo.bench.plan import BenchPlan
    from prism_vo.bench.run import run_bench
    from prism_vo.bench.suites import check_scenes, suites_of
    from prism_vo.bench.summary import Summary
    from prism_vo.errors import ConfigError
    from prism_vo.output_folder import check_folder, claim_folder
    from prism_vo.report.plots import check_matplotlib
    from prism_vo.simulate.scene import check_ray_tracer
    from prism_vo.workers.executors import unsafe_scheduler

    check_matplotlib()  # hours before the figures are drawn
    if data is None:
        check_ray_tracer()
    chosen = check_methods(methods or (CLOSING_METHODS if suite == "closing" else OUR_METHODS))
    read_programs(programs)
    count = runs if runs is not None else (1 if scale == "small" and data is None else 10)
    if count < 1 or (jobs is not None and jobs < 1):
        raise ConfigError("--runs and --jobs must be at least 1.")
    if scheduler is not None and (warning := unsafe_scheduler(scheduler)):
        print(f"note: {warning}", file=sys.stderr)
    check_folder(out, "bench", force, resume=True)
    start = time.perf_counter()
    if data is not None:
        recordings = real_recordings(data, suite, sequences)
        claim_folder(out, "bench", force)
    else:
        check_scenes(sequences, suites_of(suite))
        claim_folder(out, "bench", force)
        recordings = simulated(suite, scale, out, sequences)
    source = "real" if data is not None else scale
    plan = BenchPlan(recordings, chosen, count, out / "results" / source, programs)
    processes = jobs or os.cpu_count() or 1
    results = run_bench(plan, processes, scheduler, Lines())
    facts = describe(suite, source, count, results)
    report = Summary(results, recordings, out).write(facts)
    print_tables(results)
    failed = sum(r["status"] == "failed" for r in results.records)
    minutes = (time.perf_counter() - start) / 60
    print(f"{len(results.records)} jobs, {failed} failed, {minutes:.1f} min. Report: {report}")
    return 0


def real_recordings(folder: Path, suite: str, only: tuple[str, ...]) -> tuple[BenchSequence, ...]:
    """Recordings the user has, all in one suite."""
    from prism_vo.bench.plan import recordings_in, unique_names
    from prism_vo.errors import ConfigError

    if suite == "all":
        raise ConfigError("With --data say which tables suit the recordings: --suite loops or close-range.")
    found = unique_names(
        recordings_in(folder, suite, left_out=lambda why: print(f"left out: {why}", file=sys.stderr))
    )
    missing = set(only) - {s.name for s in found}
    if missing:
        raise ConfigError(f"{folder}: there is no recording '{min(missing)}'.")
    return tuple(s for s in found if not only or s.name in only)


def simulated(
    suite: str, scale: Literal["small", "medium", "full"], out: Path, only: tuple[str, ...]
) -> tuple[BenchSequence, ...]:
    """Recordings rendered into the benchmark's folder, or found there from before."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from prism_vo.bench.suites import SCENES, render_suite, suites_of

    parts = suites_of(suite)
    total = len(only) or sum(len(SCENES[part]) for part in parts)
    found: list[BenchSequence] = []
    done: list[str] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, transient=True) as bar:
        task = bar.add_task("rendering", total=None)

        def report(scene: str, frame: int, frames: int) -> None:
            bar.update(task, description=f"rendering {scene}", completed=frame, total=frames)
            if frame == frames and not bar.console.is_terminal:
                done.append(scene)
                print(f"[{len(done)}/{total}] recording {scene}: {frames} frames", flush=True)

        for part in parts:
            found += render_suite(part, scale, out / "sequences" / scale, only, report)
    return tuple(found)


class Lines:
    """One line a finished job, with the time left."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.computed = 0

    def __call__(self, progress: Progress) -> None:
        record = progress.record
        if progress.stored:
            state = "done before"
        else:
            self.computed += 1
            state = f"{record['status']}, {record.get('seconds', 0.0):.0f} s"
            if record["status"] != "ok":
                state += f": {record['error']}"
        left = ""
        if self.computed and progress.done < progress.total:
            pace = (time.perf_counter() - self.start) / self.computed
            left = f" (about {pace * (progress.total - progress.done) / 60:.0f} min left)"
        print(f"[{progress.done}/{progress.total}] {progress.job.title}: {state}{left}", flush=True)


def describe(suite: str, source: str, runs: int, results: Results) -> dict[str, str]:
    """Settings, seed, version and machine: what every figure of the report shares."""
    from prism_vo import __version__
    from prism_vo.results import source_revision

    machines = sorted(
        {
            f"{r['machine']['processor']}, {r['machine']['cores']} cores, {r['machine']['system']}"
            for r in results.records
            if "machine" in r
        }
    )
    versions = sorted({r["version"] for r in results.records if r.get("version")})
    return {
        "suite": suite,
        "recordings": "real" if source == "real" else f"simulated, scale {source}, seed 0",
        "methods": ", ".join(results.methods),
        "loops": "off (odometry alone) but for prism-loops, in which places seen again are recognised",
        "runs": f"{runs} of each method on each recording; run r of prism methods has seed r",
        "version": f"{', '.join(versions) or __version__}, source revision {source_revision() or 'unknown'}",
        "machine": "; ".join(machines) or "unknown",
    }


def print_tables(results: Results) -> None:
    """The tables a reader wants first."""
    from prism_vo.bench import tables
    from prism_vo.bench.closing import closing_table
    from prism_vo.bench.results import DRIFT
    from prism_vo.bench.summary import FULL_QUANTITIES, verdict

    loops, close, fan, closing = (results.of_suite(s) for s in ("loops", "close-range", "fan", "closing"))
    if loops.records:
        print(tables.threshold_table(loops).text())
        print(tables.median_table(loops, (*DRIFT, *FULL_QUANTITIES), "Medians over the loops").text())
        print(verdict(loops) + "\n")
    if close.records:
        print(tables.scene_table(close).text())
    if fan.records:
        print(tables.error_table(fan, "The fan scene").text())
    if closing.records:
        print(closing_table(closing).text())
    print(tables.cost_table(results).text())
