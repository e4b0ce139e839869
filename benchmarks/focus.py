# SPDX-License-Identifier: Apache-2.0
"""Runs with a camera file whose focus is wrong, or with a focus that jumps: what is found, and what is left of it.

python -m benchmarks.focus RECORDING … [--wrong -20 -10 0 10 20] [--calibrate focus off] [--jump FRAME] [--seeds 0 1]

RECORDING: folders with ground truth. ``--wrong``: µm added to main_lens.mla_distance_mm. ``--jump``: the file is right,
and from this frame on depths are measured as if the lens had moved by the µm of ``--wrong``; the path before it, and
that from where the jump is said to the end, are then judged apart, too. ``--seeds``: of the choice of points; with
several of them the root mean squares of the scale error are printed last, with a wrong file and with the exact one.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from prism_vo import Config, Odometry, open_sequence
from prism_vo.arrays import Floats
from prism_vo.datasets.source import Sequence
from prism_vo.evaluate.metrics import evaluate_trajectory
from prism_vo.lightfield import Decoder
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.focus import FocusModel
from prism_vo.types import PointDepth

MICRO = 1e3  # µm per mm
Calibrate = Literal["off", "focus"]


class JumpingDecoder(Decoder):
    """Depths from a frame on are those of a lens that has moved."""

    def __init__(self, sequence: Sequence, frame: int, shift: float) -> None:
        super().__init__(sequence.camera, Config().decode, white=sequence.white)
        self.first, self.shift = frame, shift

    def measure(self, frame: Any, points: Floats) -> PointDepth:
        """As measured, or as the moved lens would show it."""
        found = super().measure(frame, points)
        if frame.index < self.first:
            return found
        view, moved = self.view, FocusModel(self.view, self.camera).at(self.shift)
        q = view.inv_depth_from_virtual(found.inv_virtual_depth)
        w = moved.w_infinity + moved.kappa * q
        return replace(found, inv_virtual_depth=((1.0 / w - view.alpha) / view.beta).astype(np.float32))


def with_focus(camera: PlenopticCamera, shift: float) -> PlenopticCamera:
    """The same file with another focus (mm)."""
    lens = camera.calibration.main_lens
    moved = lens.model_copy(update={"mla_distance_mm": lens.mla_distance_mm + shift})
    return PlenopticCamera.from_calibration(camera.calibration.model_copy(update={"main_lens": moved}))


@dataclass(frozen=True)
class Outcome:
    """One run."""

    line: str  # of the table
    folder: Path
    is_exact: bool  # the file
    scale: float  # error, %
    shape: float  # %


def judged(folder: Path, micrometres: float, calibrate: Calibrate, jump: int | None, seed: int) -> Outcome:
    """One run, with its line of the table."""
    sequence = open_sequence(folder)
    shift, config = micrometres / MICRO, replace(Config(), calibrate=calibrate, seed=seed)
    if jump is None:
        odometry = Odometry(with_focus(sequence.camera, shift), config, white=sequence.white)
    else:
        odometry = Odometry(sequence.camera, config, JumpingDecoder(sequence, jump, shift))
    said, said_at, scale_sigma = "–", 0, np.nan
    for index in range(len(sequence)):
        report = odometry(sequence[index])
        if report.mapping is None:
            continue
        scale_sigma = report.mapping.scale_sigma
        if report.mapping.focus is not None and report.mapping.focus.verdict != "as it was":
            said, said_at = f"{report.mapping.focus.verdict}, frame {index}", index
    odometry.finish()
    path = odometry.trajectory()
    found = evaluate_trajectory(path, sequence.groundtruth, max_difference=0.02)
    if jump is not None:
        parts = path[:jump], path[max(jump, said_at) :]
        scales = [evaluate_trajectory(p, sequence.groundtruth, max_difference=0.02).scale for p in parts]
        said += "; before it {:+.2f} %, the rest {:+.2f} %".format(
            *(100 * (1 / scale - 1) for scale in scales)
        )
    seen = odometry.window.focus_report()
    focus = "–" if seen is None else f"{MICRO * seen.shift:+.1f} ± {MICRO * seen.sigma:.1f}"
    scale, shape = 100 * (1 / found.scale - 1), found.sim3.rmse_t_percent
    line = (
        f"| {folder.name} | {micrometres:+.0f} | {calibrate} | {scale:+.2f} ± {100 * scale_sigma:.2f} | {shape:.4f} "
        f"| {focus} | {said} |"
    )
    return Outcome(line, folder, micrometres == 0.0, scale, shape)


def summary(outcomes: list[Outcome]) -> str:
    """Root mean squares of the scale error by recording, and mean shapes."""
    lines = ["", "| recording | wrong file, % | exact, % | shape, % |", "|---|---|---|---|"]
    for folder in dict.fromkeys(o.folder for o in outcomes):
        mine = [o for o in outcomes if o.folder == folder]
        wrong, exact = ([o.scale for o in mine if o.is_exact == kind] for kind in (False, True))
        rms = ["–" if not part else f"{np.sqrt(np.mean(np.square(part))):.2f}" for part in (wrong, exact)]
        lines.append(f"| {folder.name} | {rms[0]} | {rms[1]} | {np.mean([o.shape for o in mine]):.4f} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table as it is made."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recordings", nargs="+", type=Path)
    parser.add_argument("--wrong", nargs="+", type=float, default=[-20.0, -10.0, 0.0, 10.0, 20.0])
    parser.add_argument("--calibrate", nargs="+", default=["focus"], choices=["focus", "off"])
    parser.add_argument("--jump", type=int)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    arguments = parser.parse_args()
    print(
        "| recording | wrong by, µm | --calibrate | path too long by, % | shape, % | focus found, µm | said |"
    )
    print("|---|---|---|---|---|---|---|")
    every = product(arguments.recordings, arguments.wrong, arguments.calibrate, arguments.seeds)
    outcomes = []
    for folder, micrometres, calibrate, seed in every:
        outcomes.append(judged(folder, micrometres, calibrate, arguments.jump, seed))
        print(outcomes[-1].line, flush=True)
    if len(arguments.seeds) > 1:
        print(summary(outcomes))


if __name__ == "__main__":
    main()
