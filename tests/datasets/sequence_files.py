# SPDX-License-Identifier: Apache-2.0
"""Tiny recordings on disk for the loader tests."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from prism_vo.optics.calibration import Calibration, save_calibration

WIDTH, HEIGHT = 64, 48
CALIBRATION = Calibration.model_validate(
    {
        "sensor": {"width": WIDTH, "height": HEIGHT, "pixel_size_um": 8.0},
        "main_lens": {"focal_length_mm": 16.0, "mla_distance_mm": 15.3, "principal_point_px": (31.0, 24.0)},
        "mla": {
            "sensor_distance_mm": 0.35,
            "pitch_px": 9.0,
            "origin_px": (30.0, 25.0),
            "lens_types": [{"focus_virtual_depth": 3.0}],
        },
        "frame_rate": 20.0,
    }
)


def images(count: int, dtype=np.uint8, channels: int = 0, size=(WIDTH, HEIGHT)) -> list[np.ndarray]:
    """Random images, each unlike the others."""
    rng = np.random.default_rng(7)
    shape = (size[1], size[0], channels) if channels else (size[1], size[0])
    return [rng.integers(0, np.iinfo(dtype).max, shape).astype(dtype) for _ in range(count)]


def write_image(path: Path, image: np.ndarray) -> None:
    """Write an image given as RGB or grey."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stored = image[..., ::-1] if image.ndim == 3 else image
    assert cv2.imwrite(str(path), stored)


def write_raw_sequence(folder: Path, frames: list[np.ndarray], suffix: str = ".png") -> Path:
    """A native folder with raw images."""
    folder.mkdir(parents=True, exist_ok=True)
    save_calibration(CALIBRATION, folder / "camera.yaml")
    for number, image in enumerate(frames):
        write_image(folder / "raw" / f"{number:06d}{suffix}", image)
    return folder


def write_decoded_sequence(
    folder: Path, focused, depth, sigma=None, description="{view: central, convention: true}"
):
    """A native folder with focused images and maps (lists of arrays)."""
    folder.mkdir(parents=True, exist_ok=True)
    save_calibration(CALIBRATION, folder / "camera.yaml")
    for number, image in enumerate(focused):
        write_image(folder / "focused" / f"{number}.png", image)
    for number, values in enumerate(depth):
        if values.dtype == np.uint16:
            write_image(folder / "virtual_depth" / f"{number}.png", values)
        else:
            (folder / "virtual_depth").mkdir(exist_ok=True)
            np.save(folder / "virtual_depth" / f"{number}.npy", values)
    for number, values in enumerate(sigma or []):
        (folder / "virtual_depth_sigma").mkdir(exist_ok=True)
        assert cv2.imwrite(str(folder / "virtual_depth_sigma" / f"{number}.tiff"), values)
    (folder / "decoded.yaml").write_text(description)
    return folder
