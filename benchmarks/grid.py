# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.grid``: how far found micro-image centres lie from the true ones, rendered.

Rows are cameras and scenes; columns what the grid is found in: a white image, five ordinary images, five from which the
vignetting was removed; without a start, and from one whose pitch is 0.07 % and whose origin 0.4 px wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.calibrate import Grid, GridUncertainError, find_grid, fit_grid
from prism_vo.calibrate.grid import centre_distance, nearest_equal_grid
from prism_vo.simulate import CATALOGUE, Renderer, SensorModel, build_scene, plan, preset_camera

PITCH_ERROR, ORIGIN_ERROR = 7e-4, 0.4
FRAMES, SEED = 5, 7
BARS = {"white": 0.03, "ordinary": 0.1, "no vignetting": 0.2}
Images = list[NDArray[Any]]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cameras", nargs="+", default=["mini", "small"])
    parser.add_argument("--scenes", nargs="+", default=["table", "06_kitchen"])
    parser.add_argument("--white-only", action="store_true", help="quick, for large cameras")
    args = parser.parse_args()
    names = ("camera, scene", "images", "centres, no start", "centres, wrong start", "bar", "processor time")
    print("| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|")
    for camera, scene in product(args.cameras, args.scenes):
        truth, kinds = rendered(camera, scene, args.white_only)
        for name, images in kinds.items():
            report(f"{camera}, {scene}", name, truth, images)
    return 0


def rendered(camera: str, scene: str, white_only: bool) -> tuple[Grid, dict[str, Images]]:
    """The true grid, and images of the three kinds."""
    calibration = preset_camera(camera)
    renderer = Renderer(
        calibration, build_scene(scene, seed=SEED), aperture=0.75, sensor=SensorModel(), seed=SEED
    )
    poses = plan(CATALOGUE[scene].path, 40, SEED).poses[np.linspace(0, 39, FRAMES).astype(int)]
    kinds: dict[str, Images] = {"white": [renderer.white()]}
    if white_only:
        return Grid.of(calibration.mla), kinds
    kinds["ordinary"] = [renderer.raw(pose, frame=k) for k, pose in enumerate(poses)]
    rays = renderer._rays
    lit = rays.tables._replace(weight=np.ones_like(rays.tables.weight))
    renderer._rays = replace(rays, tables=lit)
    kinds["no vignetting"] = [renderer.raw(pose, frame=k) for k, pose in enumerate(poses)]
    return Grid.of(calibration.mla), kinds


def report(name: str, kind: str, truth: Grid, images: Images) -> None:
    """One row."""
    shape = images[0].shape
    start = truth.moved(
        ORIGIN_ERROR * np.array([0.8, -0.6]), np.eye(2) * -PITCH_ERROR, np.array(shape[1::-1]) / 2
    )
    before = time.process_time()
    found = []
    for begin in (None, start):
        try:
            grid = (find_grid(images) if begin is None else fit_grid(images, begin)).grid
            away = centre_distance(nearest_equal_grid(truth, grid), grid, shape)
            found.append(f"{np.sqrt((away**2).mean()):.3f} px")
        except GridUncertainError:
            found.append("refused")
    spent = (time.process_time() - before) / 2
    print(f"| {name} | {kind} | {found[0]} | {found[1]} | {BARS[kind]} px | {spent:.1f} s |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
