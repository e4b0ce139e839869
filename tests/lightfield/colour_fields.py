# SPDX-License-Identifier: Apache-2.0
"""One coloured light field as different sensors record it: grey, RGB, behind each mosaic, demosaiced elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from light_fields import changed
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.mosaic import mosaic_of
from prism_vo.simulate import CATALOGUE, Renderer, SensorModel, build_scene, plan, preset_camera
from prism_vo.simulate.sensor import develop

PATTERNS = ("RGGB", "BGGR", "GRBG", "GBRG")
CELL = np.array([0.25, 0.5, 0.25], np.float32)  # R, G, B of a mosaic's luminance
SENSOR = SensorModel()


def mini_camera(bayer: str | None = None) -> PlenopticCamera:
    return PlenopticCamera.from_calibration(changed(preset_camera("mini"), sensor={"bayer": bayer}))


@dataclass(frozen=True)
class ColourField:
    light: Floats  # (H, W, 3) on the sensor
    white: NDArray[Any]
    picture: NDArray[np.uint8]  # (h, w, 3) noise-free, on the TF grid
    rho: Array  # true inverse virtual depth

    def grey(self) -> NDArray[Any]:
        """As a sensor without filters sees the mosaic's luminance."""
        return develop(self.light @ CELL, SENSOR, 1.0, 1.0, (0, 0))

    def rgb(self) -> NDArray[Any]:
        """Three full channels; their noise differs."""
        return np.stack([develop(self.light[..., n], SENSOR, 1.0, 1.0, (n, 0)) for n in range(3)], -1)

    def mosaic(self, pattern: str) -> NDArray[Any]:
        return develop(mosaic_of(self.light, pattern), SENSOR, 1.0, 1.0, (0, 0))


@lru_cache(maxsize=2)
def colour_field(scene: str) -> ColourField:
    camera = mini_camera()
    renderer = Renderer(
        camera.calibration, build_scene(scene, seed=1), samples=4, aperture=0.75, threads=2, seed=3
    )
    pose = plan(CATALOGUE[scene].path, frames=40, seed=1).poses[7]
    light = np.stack([renderer.irradiance(pose, channel=n) for n in range(3)], -1)
    rho = camera.inv_virtual_depth(1.0 / renderer.depth(pose).astype(np.float64))
    return ColourField(light, renderer.white(), renderer.color_view(pose), rho)
