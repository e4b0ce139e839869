# SPDX-License-Identifier: Apache-2.0
"""Programs the user installed: export images in their format, start them, read their trajectory."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from prism_vo.baselines.export import Exported, Form
from prism_vo.errors import InputError, PrismError
from prism_vo.trajectory import Trajectory, read_trajectory
from prism_vo.yaml_files import StrictModel, parse_strict, read_yaml


class NotInstalledError(PrismError):
    """The program of a method is not on this machine; the benchmark says so in its table and goes on."""


class ProgramSettings(StrictModel):
    """How one program is started."""

    executable: tuple[str, ...] = ()  # command and leading arguments; empty: looked for by name
    vocabulary: str | None = None  # ORB-SLAM3
    working_directory: str | None = None  # where it finds its weights and settings
    timeout: float = 3600.0  # s
    images: Literal["focused", "mono"] = (
        "focused"  # of the plenoptic camera, or of the one recorded beside it
    )


class ProgramsFile(StrictModel):
    """``programs.yaml``: the programs ``prism-vo bench`` may start."""

    dso: ProgramSettings = ProgramSettings()
    orbslam3: ProgramSettings = ProgramSettings()
    dpvo: ProgramSettings = ProgramSettings()

    def for_method(self, method: str) -> str | None:
        """What of it a method of the benchmark depends on, as JSON; a method of the user's may read all of it."""
        if method in PROGRAMS:
            return json.dumps({method: getattr(self, method).model_dump(mode="json")}, sort_keys=True)
        return self.model_dump_json() if ":" in method and self != ProgramsFile() else None


def read_programs(path: Path | None) -> ProgramsFile:
    """The programs file, or the defaults."""
    return ProgramsFile() if path is None else parse_strict(ProgramsFile, read_yaml(path), path)


@dataclass(frozen=True)
class Program:
    """What is particular about one program."""

    form: Form
    default: str  # name of the executable when the settings name none
    arguments: Callable[[Exported, ProgramSettings], list[str]]
    result: str  # relative to the folder it runs in
    stamps_are_indices: bool = False


def _dso_arguments(exported: Exported, settings: ProgramSettings) -> list[str]:
    folder = exported.folder
    return [
        f"files={folder / 'images'}",
        f"calib={folder / 'camera.txt'}",
        "preset=0",  # no real-time enforcement
        "mode=1",  # no photometric calibration: brightness is estimated
        "nogui=1",
        "quiet=1",
    ]


def _orbslam3_arguments(exported: Exported, settings: ProgramSettings) -> list[str]:
    if settings.vocabulary is None:
        raise NotInstalledError(
            "orbslam3 needs its ORBvoc.txt: set orbslam3.vocabulary in the programs file."
        )
    return [settings.vocabulary, str(exported.folder / "orbslam3.yaml"), str(exported.folder)]


def _dpvo_arguments(exported: Exported, settings: ProgramSettings) -> list[str]:
    folder = exported.folder
    return [
        f"--imagedir={folder / 'images'}",
        f"--calib={folder / 'intrinsics.txt'}",
        "--stride=1",
        "--name=prism-vo",
        "--save_trajectory",
    ]


PROGRAMS: dict[str, Program] = {
    "dso": Program("dso", "dso_dataset", _dso_arguments, "result.txt"),
    "orbslam3": Program("orbslam3", "mono_tum", _orbslam3_arguments, "KeyFrameTrajectory.txt"),
    "dpvo": Program(
        "mono", "dpvo", _dpvo_arguments, "saved_trajectories/prism-vo.txt", stamps_are_indices=True
    ),
}


def find_executable(name: str, settings: ProgramSettings) -> list[str]:
    """The command that starts a program, or :class:`NotInstalledError`."""
    command = list(settings.executable) or [PROGRAMS[name].default]
    found = shutil.which(command[0])
    if found is None:
        raise NotInstalledError(
            f"{name}: '{command[0]}' was not found; name it as {name}.executable in the programs file."
        )
    return [found, *command[1:]]


def run_program(name: str, settings: ProgramSettings, exported: Exported, work: Path) -> Trajectory:
    """Start a program on exported images and read what it writes; ``work`` keeps its output (NAME.log)."""
    program, log_file = PROGRAMS[name], work / f"{name}.log"
    folder = Path(settings.working_directory) if settings.working_directory else work
    result = folder / program.result
    result.unlink(missing_ok=True)  # an old answer must not pass for a new one
    with _readable(exported) as named, log_file.open("wb") as log:
        command = [*find_executable(name, settings), *program.arguments(named, settings)]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                timeout=settings.timeout,
            )
        except subprocess.TimeoutExpired as error:
            raise InputError(
                f"{name} did not finish within {settings.timeout:g} s; see {log_file}."
            ) from error
    if not result.is_file():
        raise InputError(
            f"{name} ended with code {done.returncode} and wrote no {program.result}; see {log_file}."
        )
    return _read_result(program, result, exported)


@contextmanager
def _readable(exported: Exported) -> Iterator[Exported]:
    """The images under a path that every program can read: some end a path at its first space."""
    folder = exported.folder.resolve()
    if not any(c.isspace() for c in str(folder)):
        yield replace(exported, folder=folder)
        return
    with tempfile.TemporaryDirectory(prefix="prism-vo-") as place:
        link = Path(place) / "images"
        link.symlink_to(folder, target_is_directory=True)
        yield replace(exported, folder=link)


def _read_result(program: Program, path: Path, exported: Exported) -> Trajectory:
    trajectory = read_trajectory(path, "tum")
    if not program.stamps_are_indices:
        return trajectory
    index = np.rint(trajectory.times).astype(int)
    if index.min() < 0 or index.max() >= len(exported.times):
        raise InputError(f"{path}: frame {index.max()} is beyond the {len(exported.times)} exported images.")
    return Trajectory(np.array(exported.times)[index], trajectory.poses)
