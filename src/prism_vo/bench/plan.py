# SPDX-License-Identifier: Apache-2.0
"""What a benchmark computes: recordings × methods × runs, each of them one job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from prism_vo.baselines.external import ProgramsFile, read_programs
from prism_vo.bench.jobs import Job
from prism_vo.bench.methods import check_methods
from prism_vo.errors import ConfigError, InputError
from prism_vo.evaluate.drift import MIN_SEGMENT_POSES

USUAL_SHARE = 0.15  # of the poses at either end of a loop


@dataclass(frozen=True)
class BenchSequence:
    """A recording to run on."""

    name: str
    suite: str
    path: Path
    frames: int


@dataclass(frozen=True)
class BenchPlan:
    """What is to be computed, and where results live."""

    sequences: tuple[BenchSequence, ...]
    methods: tuple[str, ...]
    runs: int
    results: Path
    programs: Path | None = None
    timeout: float = 6 * 3600.0  # s a job

    def jobs(self) -> list[Job]:
        """All jobs, in the order of the tables."""
        if self.runs < 1:
            raise ConfigError("--runs must be at least 1.")
        names, programs = check_methods(self.methods), read_programs(self.programs)
        return [
            self._job(sequence, method, run, programs)
            for sequence in self.sequences
            for method in names
            for run in range(self.runs)
        ]

    def _job(self, sequence: BenchSequence, method: str, run: int, programs: ProgramsFile) -> Job:
        folder = self.results / sequence.name / method.replace(":", "_") / f"run_{run:02d}"
        return Job(
            sequence=sequence.name,
            path=str(sequence.path.resolve()),
            suite=sequence.suite,
            method=method,
            run=run,
            folder=str(folder.resolve()),
            programs=programs.for_method(method),
            segment_share=segment_share(sequence.frames),
            timeout=self.timeout,
        )


def segment_share(frames: int) -> float:
    """15 % of the poses at either end, or as many more as a short loop needs for the smallest segment."""
    return min(0.5, max(USUAL_SHARE, MIN_SEGMENT_POSES / max(frames, 1)))


def _say_nothing(_: InputError) -> None:
    """Somebody who does not want to know."""


def recordings_in(
    folder: Path,
    suite: str,
    camera: Path | None = None,
    left_out: Callable[[InputError], None] = _say_nothing,
) -> tuple[BenchSequence, ...]:
    """Every recording directly inside a folder: native ones, and real datasets with a sequence.yaml.

    ``camera``: of images without one; ``left_out`` is told why a folder is no recording.
    """
    from prism_vo.datasets import open_sequence

    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder.")
    found: list[BenchSequence] = []
    for path in sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith(".")):
        try:
            sequence = open_sequence(path, camera=camera)
        except InputError as error:
            if (path / "sequence.yaml").exists() or (path / "camera.yaml").exists():
                raise
            left_out(error)  # a folder of something else, or images whose camera nothing describes
            continue
        found.append(BenchSequence(path.name, suite, path, len(sequence)))
    if not found:
        raise InputError(f"{folder}: holds no recordings; each needs a sequence.yaml or camera.yaml.")
    return tuple(found)


def unique_names(sequences: Sequence[BenchSequence]) -> tuple[BenchSequence, ...]:
    """Refuse two recordings of one name: their results would share a folder."""
    names = [s.name for s in sequences]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise ConfigError(f"Two recordings are called '{twice}'; rename one of their folders.")
    return tuple(sequences)
