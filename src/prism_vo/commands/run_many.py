# SPDX-License-Identifier: Apache-2.0
"""``prism-vo run-many``: many recordings, several at once, here or on a cluster; what is finished is kept."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from prism_vo.commands.quiet import Quiet
from prism_vo.workers.processes import Workers
from prism_vo.workers.program import INPUT_ERROR, Ended, call_program

if TYPE_CHECKING:
    from prism_vo.errors import InputError

LOGS = "logs"


@dataclass(frozen=True)
class Recording:
    """One recording and where its results go."""

    path: str
    out: str  # the folder of all results
    name: str
    options: tuple[str, ...]

    @property
    def title(self) -> str:
        return self.name

    @property
    def folder(self) -> Path:
        """Its results."""
        return Path(self.out) / self.name


def run_many(
    *recordings: Path,
    out: Path,
    config: Path | None = None,
    camera: Path | None = None,
    frames: int | None = None,
    dense: Annotated[bool, Parameter(negative=())] = False,
    jobs: int | None = None,
    scheduler: str | None = None,
    quiet: Quiet = False,
) -> int:
    """Run over many recordings: FOLDER/NAME is what `prism-vo run` makes of each, to the same bytes.

    Called again it goes on: finished recordings are left alone, interrupted ones resumed.

    Parameters
    ----------
    recordings
        Recordings, or folders that hold some.
    out
        Folder of the results folders; what every run printed lies in its folder logs.
    config
        YAML file with settings (see `prism-vo config`), for all.
    camera
        Camera file, for all of them (default: each one's own).
    frames
        Stop each after so many frames.
    dense
        Make dense maps and meshes, too.
    jobs
        Runs at the same time on this machine; default: half as many as it has cores, each uses two.
    scheduler
        Address of a Dask scheduler (tcp://host:8786): runs go to its workers instead, which see the same files.
    """
    import os

    from prism_vo.commands.call import finished_before
    from prism_vo.commands.many import carry_out
    from prism_vo.output_folder import claim_folder

    options = [*(("--dense",) if dense else ())]
    for name, value in (("--config", config), ("--camera", camera)):
        options += [] if value is None else [name, str(value.resolve())]
    options += [] if frames is None else ["--frames", str(frames)]
    found = [
        Recording(str(path), str(out.resolve()), path.name, tuple(options))
        for path in _all(recordings, camera)
    ]
    claim_folder(out, "runs", force=False)
    missing = [each for each in found if finished_before(each.folder) is None]
    if len(missing) < len(found):
        print(f"{len(found) - len(missing)} of {len(found)} recordings were finished before.")
    code = carry_out(run_recording, missing, jobs or max(1, (os.cpu_count() or 2) // 2), scheduler)
    return max(code, *(finished_before(each.folder) or 0 for each in found if each not in missing), 0)


def run_recording(task: Recording, workers: Workers | None) -> Ended:
    """As ``prism-vo run`` does it; where another worker died over it, from its last checkpoint on."""
    from prism_vo.output_folder import read_marker

    folder, log = task.folder, Path(task.out) / LOGS / f"{task.name}.txt"
    if read_marker(folder) is not None:
        ended = call_program(["run", "--resume", str(folder)], log, workers)
        if ended.code != INPUT_ERROR:
            return ended
    again = ["--force"] if read_marker(folder) is not None else []  # it ended before its first checkpoint
    arguments = ["run", task.path, "--out", str(folder), *task.options, *again]
    return call_program(arguments, log, workers)


def _left_out(why: InputError) -> None:
    print(f"left out: {why}", file=sys.stderr)


def _all(paths: tuple[Path, ...], camera: Path | None) -> list[Path]:
    """Recordings as they are named, and those in folders of some; every name once."""
    from prism_vo.bench.plan import recordings_in
    from prism_vo.datasets import open_sequence
    from prism_vo.errors import ConfigError, InputError

    if not paths:
        raise InputError("No recordings given: name some, or a folder that holds some.")
    found: list[Path] = []
    for path in paths:
        try:
            open_sequence(path, camera=camera)
            found.append(path.resolve())
        except InputError:
            if not path.is_dir() or (path / "camera.yaml").exists() or (path / "sequence.yaml").exists():
                raise
            found += [each.path.resolve() for each in recordings_in(path, "runs", camera, _left_out)]
    names = [path.name for path in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(f"Two recordings are called '{twice}'; their results would share a folder.")
    return found
