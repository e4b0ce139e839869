# SPDX-License-Identifier: Apache-2.0
"""Faults of a recording's folder, which no changed frame can show: a file that is not there, and nobody wrote times."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import cv2
from numpy.typing import NDArray

from benchmarks.fault_injectors import Image
from prism_vo import pipeline
from prism_vo.config import Config
from prism_vo.datasets import open_sequence
from prism_vo.datasets.source import notes_of
from prism_vo.optics.calibration import save_calibration
from prism_vo.optics.camera import PlenopticCamera

FIRST = 100  # number of the first file: they rarely begin at 0


def run_without(
    missing: set[int], images: list[Image], camera: PlenopticCamera, white: NDArray[Any] | None
) -> tuple[pipeline.RunResult, tuple[str, ...]]:
    """``prism-vo run`` over a folder of numbered files without times, some of which are missing; and its notes."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "raw").mkdir()
        save_calibration(camera.calibration, folder / "camera.yaml")
        if white is not None:
            cv2.imwrite(str(folder / "white.png"), white)
        for k, image in enumerate(images):
            if k not in missing:
                cv2.imwrite(str(folder / "raw" / f"{FIRST + k:06d}.png"), image)
        recording = open_sequence(folder)
        return pipeline.run(recording, Config(), check=True), notes_of(recording)
