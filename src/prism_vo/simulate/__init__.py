# SPDX-License-Identifier: Apache-2.0
"""The simulator: raw plenoptic sequences with exact truth."""

from prism_vo.simulate.cameras import PRESETS, preset_camera, scaled_camera
from prism_vo.simulate.catalogue import CATALOGUE, build_scene
from prism_vo.simulate.options import SimulateOptions
from prism_vo.simulate.path import plan
from prism_vo.simulate.render import Renderer, ViewTruth
from prism_vo.simulate.scene import Scene, plane_scene
from prism_vo.simulate.sensor import SensorModel
from prism_vo.simulate.write import Simulation, simulate_sequence

__all__ = [
    "CATALOGUE",
    "PRESETS",
    "Renderer",
    "Scene",
    "SensorModel",
    "SimulateOptions",
    "Simulation",
    "ViewTruth",
    "build_scene",
    "plan",
    "plane_scene",
    "preset_camera",
    "scaled_camera",
    "simulate_sequence",
]
