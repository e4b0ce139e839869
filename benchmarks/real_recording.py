# SPDX-License-Identifier: Apache-2.0
"""Recordings without ground truth: their images, and a camera whose grid is corrected by what the images show."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.calibrate import Grid, GridFit, fit_grid
from prism_vo.calibrate.reading import likeliest_start
from prism_vo.datasets.images import list_images, read_image
from prism_vo.errors import InputError
from prism_vo.optics.calibration import Calibration, load_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.nominal import METRIC_KEYS
from prism_vo.optics.vendor import RaytrixGrid, grid_readings, read_raytrix_grid
from prism_vo.types import RawFrame

MOST_FIT_FRAMES = 30
NOMINAL_FOCUS = 3.0  # virtual depth, where a file has no lens types
NO_BORDER_KNOWN = 1.0  # px


@dataclass(frozen=True)
class NominalOptics:
    """Data-sheet numbers for recordings that have a grid but no optics; mm, pixel in µm."""

    lens: float
    array: float
    sensor: float
    pixel: float


@dataclass(frozen=True)
class Recording:
    """Images with the camera as its files have it, and with the grid corrected."""

    name: str
    paths: list[Path]
    numbers: list[int]  # of the frames in the video they were taken from
    fit: GridFit
    camera: PlenopticCamera
    white: NDArray[Any] | None
    optics: str  # where they come from

    def frame(self, index: int) -> RawFrame:
        """Read one image."""
        rate = self.camera.calibration.frame_rate
        return RawFrame(
            index, self.numbers[index] / rate, read_image(self.paths[index]), path=self.paths[index]
        )


def recordings(folder: Path) -> list[Path]:
    """The folder itself, or those of its folders that are recordings."""
    found = [p for p in (folder, *sorted(folder.glob("*/"))) if _is_recording(p)]
    if not found:
        raise InputError(f"{folder}: neither it nor a folder in it has raw/ with camera.yaml or mla.xml.")
    return found


def _is_recording(folder: Path) -> bool:
    return (folder / "raw").is_dir() and any((folder / n).is_file() for n in ("camera.yaml", "mla.xml"))


def open_recording(folder: Path, nominal: NominalOptics) -> Recording:
    """Read the camera's files and correct their grid by up to MOST_FIT_FRAMES images."""
    paths = list_images(folder / "raw")
    if not paths:
        raise InputError(f"{folder / 'raw'}: holds no images.")
    picked = np.linspace(0, len(paths) - 1, min(len(paths), MOST_FIT_FRAMES)).astype(int)
    images = [read_image(paths[k]) for k in picked]
    white = folder / "white.png"
    if (folder / "camera.yaml").is_file():
        calibration = load_calibration(folder / "camera.yaml")
        fit = fit_grid(images, Grid.of(calibration.mla))
        optics = "camera.yaml"
    else:
        vendor = read_raytrix_grid(folder / "mla.xml")
        fit = fit_grid(images, likeliest_start(images, grid_readings(vendor, images[0].shape[1::-1])))
        calibration = nominal_calibration(vendor, fit, nominal)
        optics = f"nominal, f_L {nominal.lens:g}, b_L0 {nominal.array:g}, B {nominal.sensor:g} mm"
    return Recording(
        folder.resolve().name,
        paths,
        frame_numbers(paths),
        fit,
        PlenopticCamera.from_calibration(with_grid(calibration, fit.grid)),
        read_image(white) if white.is_file() else None,
        optics,
    )


def frame_numbers(paths: list[Path]) -> list[int]:
    """The last number in each file name; 0, 1, 2, … where those do not increase."""
    found = [re.findall(r"\d+", path.stem) for path in paths]
    numbers = [int(digits[-1]) if digits else -1 for digits in found]
    increasing = min(numbers) >= 0 and all(a < b for a, b in pairwise(numbers))
    return numbers if increasing else list(range(len(paths)))


def with_grid(calibration: Calibration, grid: Grid) -> Calibration:
    """The camera with another grid."""
    x, y = (float(c) for c in grid.origin)
    changes = {"pitch_px": grid.pitch, "rotation_rad": grid.rotation, "origin_px": (x, y)}
    return calibration.model_copy(update={"mla": calibration.mla.model_copy(update=changes)})


def nominal_calibration(vendor: RaytrixGrid, fit: GridFit, optics: NominalOptics) -> Calibration:
    """A camera of data-sheet numbers about a vendor's grid."""
    height, width = fit.image_shape
    data = {
        "nominal": METRIC_KEYS,
        "sensor": {"width": width, "height": height, "pixel_size_um": optics.pixel},
        "main_lens": {
            "focal_length_mm": optics.lens,
            "mla_distance_mm": optics.array,
            "principal_point_px": (width / 2 - 0.5, height / 2 - 0.5),
        },
        "mla": {
            "sensor_distance_mm": optics.sensor,
            "layout": fit.grid.layout,
            "pitch_px": fit.grid.pitch,
            "origin_px": tuple(fit.grid.origin),
            "border_px": max(vendor.lens_border, NO_BORDER_KNOWN),
            "lens_types": [{"focus_virtual_depth": focus} for focus in focus_by_class(vendor, fit.grid)],
        },
    }
    return Calibration.model_validate(data)


def focus_by_class(vendor: RaytrixGrid, grid: Grid) -> list[float]:
    """Virtual depth in focus (harmonic mean of the sharp range) of each lens class (i − j) mod n.

    Offsets of lens types are in pitches along image axes, y down.
    """
    count = len(vendor.lens_types)
    focus = [NOMINAL_FOCUS] * max(count, 1)
    for kind in vendor.lens_types:
        cell = np.rint(grid.pitch * np.array(kind.offset) @ np.linalg.inv(grid.axes))
        near, far = kind.depth_range
        focus[int(cell[0] - cell[1]) % count] = 2.0 / (1.0 / near + 1.0 / far)
    return focus
