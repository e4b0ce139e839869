# SPDX-License-Identifier: Apache-2.0
"""``prism-vo dense``: a dense coloured map and a mesh of finished runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from prism_vo.commands.quiet import Quiet
from prism_vo.workers.processes import Workers
from prism_vo.workers.program import Ended, call_program

if TYPE_CHECKING:
    from prism_vo.dense.densify import DenseMap


@dataclass(frozen=True)
class FinishedRecording:
    """One of several results folders."""

    folder: str
    force: bool

    @property
    def title(self) -> str:
        return Path(self.folder).name


def dense(
    *results: Path,
    sequence: Path | None = None,
    camera: Path | None = None,
    force: Annotated[bool, Parameter(negative=())] = False,
    jobs: int = 1,
    scheduler: str | None = None,
    quiet: Quiet = False,
) -> int:
    """Make the dense map of finished runs: map.ply (points with colour, normal, σ), mesh.ply and mesh.glb; the report
    of each shows it from then on.

    Parameters
    ----------
    results
        Results folders of `prism-vo run`; the files are written into them.
    sequence
        The recording it was made of (default: where it was then); of a single one.
    camera
        Camera file of the recording (default: its own); of a single one.
    force
        Overwrite the dense maps that are there.
    jobs
        Of several results folders, so many at the same time on this machine.
    scheduler
        Address of a Dask scheduler (tcp://host:8786): each goes to one of its workers, which see the same files.
    """
    from prism_vo.errors import ConfigError, InputError

    if not results:
        raise InputError("No results folder given: name one that `prism-vo run` has written.")
    if len(results) == 1 and scheduler is None:
        _one(results[0], sequence, camera, force, quiet)
        return 0
    if sequence is not None or camera is not None:
        raise ConfigError("--sequence and --camera are for a single results folder, made here.")
    return _several(results, force, jobs, scheduler)


def _several(results: tuple[Path, ...], force: bool, jobs: int, scheduler: str | None) -> int:
    """Each in a process of its own; runs that have a dense map are left alone, unless with ``force``."""
    from prism_vo.commands.many import carry_out
    from prism_vo.dense_run import FinishedRun
    from prism_vo.results import DENSE

    for folder in results:
        FinishedRun.read(folder)
    missing = [r for r in results if force or not all((r / name).exists() for name in DENSE)]
    if len(missing) < len(results):
        print(f"{len(results) - len(missing)} of {len(results)} runs have their dense map.")
    tasks = [FinishedRecording(str(folder.resolve()), force) for folder in missing]
    return carry_out(make_dense, tasks, jobs, scheduler)


def make_dense(task: FinishedRecording, workers: Workers | None) -> Ended:
    """As ``prism-vo dense`` does it; what a worker that died has left of it is overwritten."""
    from prism_vo.results import DENSE, DENSE_LOG

    folder = Path(task.folder)
    there = [(folder / name).exists() for name in DENSE]
    force = ["--force"] if task.force or (any(there) and not all(there)) else []
    return call_program(["dense", task.folder, *force], folder / DENSE_LOG, workers)


def _one(results: Path, sequence: Path | None, camera: Path | None, force: bool, quiet: bool) -> None:
    from prism_vo.commands.narration import Narration
    from prism_vo.commands.output import dense_words
    from prism_vo.datasets import open_sequence
    from prism_vo.dense_run import FinishedRun, write_dense
    from prism_vo.errors import InputError
    from prism_vo.results import DENSE, REPORT

    run = FinishedRun.read(results)
    if not force and (taken := [name for name in DENSE if (results / name).exists()]):
        raise InputError(f"{results / taken[0]}: exists already; overwrite it with --force.")
    recording = open_sequence(sequence or run.recording_path(), camera=camera)
    with Narration(quiet) as say:
        say("loading or, the first time, compiling")
        found = run.dense(recording, say)
        say("writing the map")
        write_dense(found, results)
        _refresh(results / REPORT, found)
    print(f"dense map       {dense_words(found)}")
    print(f"results         {results}")


def _refresh(path: Path, found: DenseMap) -> None:
    """The report of the run shows the map from now on."""
    from prism_vo.atomic import write_text_atomically
    from prism_vo.bounded.files import MB, read_text
    from prism_vo.report.refresh import with_dense_map

    page = with_dense_map(read_text(path, 100 * MB), found) if path.is_file() else None
    if page is not None:
        write_text_atomically(path, page)
