# SPDX-License-Identifier: Apache-2.0
"""Runs with a camera file whose focal length and principal point are wrong: what ``--calibrate all`` makes of it.

python -m benchmarks.lens RECORDING … [--focal 0 0.5] [--centre 0 3] [--calibrate focus all]

RECORDING: folders with ground truth. ``--focal``: per cent by which the file's F is too large (w_∞ and κ are right);
``--centre``: raw px by which its c_x is; the first of one goes with the first of the other. The file states no σ.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from prism_vo import Config, Odometry, open_sequence
from prism_vo.evaluate.metrics import evaluate_trajectory
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.lens import LensModel

HEADER = (
    "| recording | F, c_x wrong by | --calibrate | path too long by, % | shape, % | rotation, ° | F found, % "
    "| c_x, c_y found, px |"
)


def wrong_camera(camera: PlenopticCamera, percent: float, pixels: float) -> PlenopticCamera:
    """The camera whose view has another focal length and centre."""
    model = LensModel.of(camera)
    view = model.moved(
        camera.view("central"), np.array([np.log1p(percent / 100), pixels / camera.tf_scale, 0.0])
    )
    file = model.refined(camera.calibration, view, model.sigma)
    return PlenopticCamera.from_calibration(file.model_copy(update={"uncertainty": None}))


def row(folder: Path, percent: float, pixels: float, calibrate: str) -> str:
    """One run as a line of the table."""
    sequence = open_sequence(folder)
    camera = wrong_camera(sequence.camera, percent, pixels)
    config = replace(Config(), calibrate=calibrate)  # type: ignore[arg-type]
    odometry = Odometry(camera, config, white=sequence.white)
    for index in range(len(sequence)):
        odometry(sequence[index])
    odometry.finish()
    found = evaluate_trajectory(odometry.trajectory(), sequence.groundtruth, max_difference=0.02)
    lens, cells = odometry.window.lens_report(), "– | –"
    if lens is not None:
        raw = np.array([100.0, camera.tf_scale, camera.tf_scale])
        words = [
            f"{n:+.2f} ± {s:.2f}" if free else "held"
            for n, s, free in zip(raw * lens.numbers, raw * lens.sigma, lens.free)
        ]
        cells = f"{words[0]} | {words[1]}, {words[2]}"
    return (
        f"| {folder.name} | {percent:+.1f} %, {pixels:+.0f} px | {calibrate} | {100 * (1 / found.scale - 1):+.2f} "
        f"| {found.sim3.rmse_t_percent:.4f} | {found.se3.rmse_r_deg:.3f} | {cells} |"
    )


def main() -> None:
    """Print the table as it is made."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recordings", nargs="+", type=Path)
    parser.add_argument("--focal", nargs="+", type=float, default=[0.0, 0.5])
    parser.add_argument("--centre", nargs="+", type=float, default=[0.0, 3.0])
    parser.add_argument("--calibrate", nargs="+", default=["focus", "all"], choices=["off", "focus", "all"])
    given = parser.parse_args()
    print(f"{HEADER}\n|{'---|' * 8}")
    for folder in given.recordings:
        for percent, pixels in zip(given.focal, given.centre):
            for calibrate in given.calibrate:
                print(row(folder, percent, pixels, calibrate), flush=True)


if __name__ == "__main__":
    main()
