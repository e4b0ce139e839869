# SPDX-License-Identifier: Apache-2.0
"""Frames of the smallest simulated cameras, with and without vignetting; rendered once per test run."""

from __future__ import annotations

import dataclasses
import os
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_vo.calibrate import Grid
from prism_vo.calibrate.grid import centre_distance, nearest_equal_grid
from prism_vo.optics.calibration import Calibration
from prism_vo.simulate import CATALOGUE, Renderer, SensorModel, build_scene, plan, preset_camera

DATA = Path(os.environ.get("PRISM_VO_DATA", Path(__file__).parents[3] / "shared" / "data"))


class Recording(NamedTuple):
    grid: Grid  # the truth
    frames: list[NDArray[Any]]
    white: NDArray[Any]


@lru_cache(maxsize=8)
def recording(
    scene: str, vignetting: bool = True, camera: str = "mini", frames: int = 5, one_kind: bool = False
) -> Recording:
    """Frames spread over a path through a scene; without vignetting every pixel gets the light of its lens in full."""
    calibration = preset_camera(camera)
    if one_kind:
        data = calibration.model_dump()
        data["mla"]["lens_types"] = [{"focus_virtual_depth": 3.0}]
        calibration = Calibration.model_validate(data)
    world = build_scene(scene, seed=1)
    renderer = Renderer(calibration, world, samples=4, aperture=0.75, sensor=SensorModel(), seed=1)
    white = renderer.white()
    if not vignetting:
        rays = renderer._rays
        lit = rays.tables._replace(weight=np.ones_like(rays.tables.weight))
        renderer._rays = dataclasses.replace(rays, tables=lit)
    poses = plan(CATALOGUE[scene].path, frames=40, seed=1).poses
    picked = np.linspace(0, 39, frames).astype(int)
    return Recording(Grid.of(calibration.mla), [renderer.raw(poses[k], frame=int(k)) for k in picked], white)


def wrong_start(
    truth: Grid, shape: tuple[int, ...], offset: float, stretch: float, turn: float = 0.0
) -> Grid:
    """The truth moved by ``offset`` px along a slanted direction, stretched and turned about the middle."""
    change = np.array([[stretch, -turn], [turn, stretch]])
    direction = np.array([0.8, -0.6])
    return truth.moved(offset * direction, change, np.array([shape[1], shape[0]]) / 2)


def centre_rms(found: Grid, truth: Grid, shape: tuple[int, ...]) -> float:
    """Root mean square distance of the centres over the whole sensor, whatever the lenses are called."""
    distance = centre_distance(nearest_equal_grid(truth, found), found, shape)
    return float(np.sqrt((distance**2).mean()))
