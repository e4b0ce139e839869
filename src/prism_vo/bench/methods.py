# SPDX-License-Identifier: Apache-2.0
"""The methods a benchmark can run, each a name. Ours, the baselines, and programs the user installed.

``package.module:NAME`` names a :class:`Method` defined anywhere else, so a new baseline needs no change here.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from prism_vo.arrays import Array
from prism_vo.baselines.external import PROGRAMS, ProgramsFile, find_executable, run_program
from prism_vo.datasets import Sequence
from prism_vo.errors import ConfigError
from prism_vo.evaluate.metrics import Alignment
from prism_vo.trajectory import Trajectory

PRISM_OUTPUT = "output"  # results folder of our own odometry inside a job's folder


@dataclass(frozen=True)
class MethodOutput:
    """What a method made of a sequence."""

    trajectory: Trajectory
    lost: int = 0  # frames it could not track
    detail: str = ""  # shown beside the result, e.g. which library did the work
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """A named way to get a trajectory from a sequence.

    ``run(sequence, run, folder, programs)`` may write its own files into the empty folder.
    """

    name: str
    alignment: Alignment  # SE(3): its scale is its own; Sim(3): scale is fitted before comparing
    run: Callable[[Sequence, int, Path, ProgramsFile], MethodOutput]
    repeats: str = "run r uses seed r"  # what a repeated run means


def find_method(name: str) -> Method:
    """A method by its name."""
    if name in METHODS:
        return METHODS[name]
    if ":" in name:
        module, _, attribute = name.partition(":")
        try:
            found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"The method '{name}' cannot be loaded: {error}.") from error
        if not isinstance(found, Method):
            raise ConfigError(f"'{name}' is not a Method.")
        return found
    raise ConfigError(f"There is no method '{name}'; choose from {', '.join(METHODS)}.")


def _prism(
    variant: Literal["full", "plenoptic", "pinhole"], loops: bool = False
) -> Callable[..., MethodOutput]:
    """``loops``: places may be recognised; the drift protocol asks for odometry alone."""

    def run(sequence: Sequence, run: int, folder: Path, programs: ProgramsFile) -> MethodOutput:
        from prism_vo.config import Config
        from prism_vo.config_file import config_to_dict
        from prism_vo.pipeline import run as run_pipeline

        config = dataclasses.replace(Config(), variant=variant, seed=run, loops=loops)
        result = run_pipeline(sequence, config, folder / PRISM_OUTPUT)
        detail = f"{result.segments} segments" if result.segments > 1 else ""
        return MethodOutput(result.trajectory, result.lost, detail, config_to_dict(config))

    return run


def _spo(sequence: Sequence, run: int, folder: Path, programs: ProgramsFile) -> MethodOutput:
    from prism_vo.baselines.focused import focused_frames, view_of
    from prism_vo.baselines.spo import SpoOdometry

    odometry = SpoOdometry(view_of(sequence))
    poses, lost = [], 0
    for item in focused_frames(sequence):
        pose, tracked = odometry(item.frame.image, item.measure)
        poses.append(pose)
        lost += not tracked
    detail = f"{odometry.keyframes} keyframes"
    return MethodOutput(_trajectory(sequence, poses), lost, detail, dataclasses.asdict(odometry.config))


def _rgbd(sequence: Sequence, run: int, folder: Path, programs: ProgramsFile) -> MethodOutput:
    from prism_vo.baselines.focused import focused_frames, view_of
    from prism_vo.baselines.rgbd import RgbdOdometry

    odometry = RgbdOdometry(view_of(sequence))
    poses, lost = [], 0
    for item in focused_frames(sequence):
        pose, tracked = odometry(item.measure())
        poses.append(pose)
        lost += not tracked
    return MethodOutput(
        _trajectory(sequence, poses), lost, odometry.engine_name, dataclasses.asdict(odometry.config)
    )


def _trajectory(sequence: Sequence, poses: list[Array]) -> Trajectory:
    return Trajectory(np.asarray(sequence.times[: len(poses)], np.float64), np.array(poses))


def _external(name: str) -> Callable[..., MethodOutput]:
    def run(sequence: Sequence, run: int, folder: Path, programs: ProgramsFile) -> MethodOutput:
        from prism_vo.baselines.export import export_sequence
        from prism_vo.baselines.focused import focused_frames, synchronised_frames, view_of
        from prism_vo.config import DecodeConfig

        settings = getattr(programs, name)
        find_executable(name, settings)  # before hours of decoding
        central = DecodeConfig(view="central")
        if settings.images == "mono":
            frames, view = synchronised_frames(sequence)
        else:
            frames, view = focused_frames(sequence, central), view_of(sequence, central)
        exported = export_sequence(frames, view, None, PROGRAMS[name].form, folder / "exported")
        trajectory = run_program(name, settings, exported, folder)
        return MethodOutput(trajectory, 0, f"{len(trajectory)} poses", settings.model_dump())

    return run


def _colmap(sequence: Sequence, run: int, folder: Path, programs: ProgramsFile) -> MethodOutput:
    from prism_vo.baselines.colmap import load_pycolmap, run_colmap
    from prism_vo.baselines.export import export_sequence
    from prism_vo.baselines.focused import focused_frames, view_of
    from prism_vo.config import DecodeConfig

    version = str(load_pycolmap().__version__)  # before hours of decoding
    central = DecodeConfig(view="central")
    frames, view = focused_frames(sequence, central), view_of(sequence, central)
    exported = export_sequence(frames, view, None, "mono", folder / "exported")
    trajectory = run_colmap(exported, folder, run)
    lost = len(exported.times) - len(trajectory)
    return MethodOutput(trajectory, lost, f"pycolmap {version}", {"seed": run})


REPEATED = "the same run again"
METHODS: dict[str, Method] = {
    m.name: m
    for m in (
        Method("prism", "SE(3)", _prism("full")),
        Method("prism-loops", "SE(3)", _prism("full", loops=True)),
        Method("prism-plenoptic", "SE(3)", _prism("plenoptic")),
        Method("prism-pinhole", "Sim(3)", _prism("pinhole")),
        Method("spo", "SE(3)", _spo, REPEATED),
        Method("rgbd", "SE(3)", _rgbd, REPEATED),
        Method("colmap", "Sim(3)", _colmap),
        *(Method(name, "Sim(3)", _external(name), REPEATED) for name in PROGRAMS),
    )
}
CLOSING_METHODS = ("prism", "prism-loops")  # of the suite in which loops may close
OUR_METHODS = ("prism", "prism-plenoptic", "prism-pinhole", "spo", "rgbd")


def check_methods(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, without repetition, if every one of them exists."""
    if not names:
        raise ConfigError("Name at least one method.")
    for name in names:
        find_method(name)
    return tuple(dict.fromkeys(names))
