# SPDX-License-Identifier: Apache-2.0
"""Workloads of the camera model, the files and the command line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.workload import Workload
from prism_vo.optics.calibration import Calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.mla import MicroLensArray
from prism_vo.optics.visibility import owner_maps

SIDE = 2048
CALIBRATION = Calibration.model_validate(
    {
        "sensor": {"width": SIDE, "height": SIDE, "pixel_size_um": 5.5},
        "main_lens": {
            "focal_length_mm": 16.0,
            "mla_distance_mm": 15.3,
            "principal_point_px": (1018.6, 1029.5),
        },
        "mla": {
            "sensor_distance_mm": 0.35,
            "pitch_px": 23.4,
            "rotation_rad": 0.004,
            "origin_px": (1022.4, 1020.7),
            "lens_types": [{"focus_virtual_depth": v} for v in (2.2, 3.0, 4.2)],
        },
    }
)


def workloads() -> Iterator[Workload]:
    """What the foundation is timed on."""
    camera = PlenopticCamera.from_calibration(CALIBRATION)

    def maps() -> None:
        owner_maps(MicroLensArray.of(camera), SIDE, SIDE)

    def help_page() -> None:
        subprocess.run([sys.executable, "-m", "prism_vo", "--help"], stdout=subprocess.DEVNULL, check=True)

    yield Workload("micro-lens grid and owner of every pixel, 2048² sensor", maps)
    yield Workload("prism-vo --help", help_page)
