# SPDX-License-Identifier: Apache-2.0
"""Methods that need no images: they answer with the ground truth, more or less spoiled."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

from prism_vo import se3
from prism_vo.baselines.external import NotInstalledError, ProgramsFile
from prism_vo.bench.methods import Method, MethodOutput
from prism_vo.datasets import Sequence
from prism_vo.errors import InputError
from prism_vo.trajectory import Trajectory


def spoiled(noise: float, scale: float, wait: float = 0.0):  # type: ignore[no-untyped-def]
    def run(sequence: Sequence, run: int, folder: Path, programs: ProgramsFile) -> MethodOutput:
        time.sleep(wait)
        truth = sequence.groundtruth
        assert truth is not None
        rng = np.random.default_rng(run)
        poses = np.array([p @ se3.exp(rng.normal(0, noise, 6)) for p in truth.poses])
        poses[:, :3, 3] *= scale
        (folder / "extra.txt").write_text("made by the method")
        return MethodOutput(Trajectory(truth.times, poses), settings={"noise": noise})

    return run


def _crash(sequence: Sequence, run: int, folder: Path, programs: ProgramsFile) -> MethodOutput:
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError


def _refuse(sequence: Sequence, run: int, folder: Path, programs: ProgramsFile) -> MethodOutput:
    raise InputError("This recording is too dark.")


def _absent(sequence: Sequence, run: int, folder: Path, programs: ProgramsFile) -> MethodOutput:
    raise NotInstalledError("absent: not on this machine.")


GOOD = Method("good", "SE(3)", spoiled(0.002, 1.0))
WORSE = Method("worse", "SE(3)", spoiled(0.02, 1.2))
SLOW = Method("slow", "SE(3)", spoiled(0.002, 1.0, wait=1.5))
CRASH = Method("crash", "SE(3)", _crash)
REFUSE = Method("refuse", "SE(3)", _refuse)
ABSENT = Method("absent", "Sim(3)", _absent)


def _few(sequence: Sequence, run: int, folder: Path, programs: ProgramsFile) -> MethodOutput:
    truth = sequence.groundtruth
    assert truth is not None
    return MethodOutput(truth.select(slice(0, 3)))


def _names_its_log(sequence: Sequence, run: int, folder: Path, programs: ProgramsFile) -> MethodOutput:
    raise InputError(f"It went wrong; see {folder / 'x.log'}.")


FEW = Method("few", "Sim(3)", _few)
LOGS = Method("logs", "Sim(3)", _names_its_log)
