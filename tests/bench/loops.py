# SPDX-License-Identifier: Apache-2.0
"""A recording without pictures worth looking at, for methods that only read its ground truth."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import yaml
from trajectories import loop_poses

from prism_vo.trajectory import Trajectory, write_trajectory

CAMERA = {
    "format": "prism-vo/camera/1",
    "sensor": {"width": 64, "height": 64, "pixel_size_um": 60.0},
    "main_lens": {"focal_length_mm": 16.0, "mla_distance_mm": 15.3, "principal_point_px": [31.5, 31.5]},
    "mla": {
        "sensor_distance_mm": 0.35,
        "layout": "hexagonal",
        "pitch_px": 12.0,
        "rotation_rad": 0.0,
        "origin_px": [31.5, 31.5],
        "lens_types": [{"focus_virtual_depth": 3.0}],
    },
}


def write_loop(folder: Path, count: int = 140) -> Path:
    """A native sequence folder with a loop as ground truth."""
    (folder / "raw").mkdir(parents=True)
    (folder / "camera.yaml").write_text(yaml.safe_dump(CAMERA))
    truth = loop_poses(count)
    for index in range(count):
        cv2.imwrite(str(folder / f"raw/{index:06d}.png"), np.full((64, 64), 100, np.uint8))
    write_trajectory(Trajectory(truth.times, truth.poses), folder / "groundtruth.txt")
    return folder
