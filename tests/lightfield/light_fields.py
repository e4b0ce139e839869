# SPDX-License-Identifier: Apache-2.0
"""Small simulated light fields and their truth, shared by the decoder's tests."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.simulate import CATALOGUE, Renderer, SensorModel, build_scene, plan, plane_scene, preset_camera
from prism_vo.types import RawFrame


@dataclass(frozen=True)
class LightField:
    camera: PlenopticCamera
    raw: RawFrame
    white: NDArray[Any]
    image: Floats  # noise-free reference on the TF grid
    depth: Array
    rho: Array  # true inverse virtual depth


def changed(calibration: Calibration, **sections: dict[str, Any]) -> Calibration:
    """A calibration with some keys of some sections replaced."""
    data = calibration.model_dump()
    for section, values in sections.items():
        data[section].update(values)
    return Calibration.model_validate(data)


def render(
    calibration: Calibration,
    scene: str | float,
    noise: float = 1.0,
    exposure: float = 1.0,
    aperture: float = 0.75,
    place: int = 7,
) -> LightField:
    """One frame of a named scene, or of a fronto-parallel textured plane at a depth in metres.

    ``place``: of the forty along the scene's path.
    """
    camera = PlenopticCamera.from_calibration(calibration)
    if isinstance(scene, str):
        world, pose = build_scene(scene, seed=1), plan(CATALOGUE[scene].path, frames=40, seed=1).poses[place]
    else:
        world, pose = plane_scene(scene), np.eye(4)
    renderer = Renderer(
        calibration, world, samples=4, aperture=aperture, threads=2, sensor=SensorModel(noise=noise), seed=3
    )
    raw = RawFrame(0, 0.0, renderer.raw(pose, frame=0, exposure=exposure))
    truth = renderer.view_truth(pose, camera.view().name)
    depth = truth.depth.astype(np.float64)
    return LightField(
        camera,
        raw,
        renderer.white(),
        truth.image * np.float32(exposure),
        depth,
        camera.inv_virtual_depth(1.0 / depth),
    )


@lru_cache(maxsize=8)
def mini(
    scene: str | float = "table", noise: float = 1.0, exposure: float = 1.0, place: int = 7
) -> LightField:
    """The smallest preset camera; rendered once per test run."""
    return render(preset_camera("mini"), scene, noise, exposure, place=place)
