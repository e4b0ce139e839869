# SPDX-License-Identifier: Apache-2.0
"""Corners of a board in micro-images, computed by a camera with known optics, lens by lens with eqs. 1, 7 and 8."""

from __future__ import annotations

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.board_fit.records import Board, MicroCorners
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.mla import MicroLensArray
from prism_vo.simulate import preset_camera

BOARD = Board(7, 5, 0.03)


def camera() -> PlenopticCamera:
    """A small camera without distortion."""
    return PlenopticCamera(preset_camera("small"))


def poses(count: int = 8) -> Array:
    """T_cam_board: near and far, tilted."""
    rng = np.random.default_rng(5)
    middle = np.append(-BOARD.places.mean(0), 0.0)
    out = []
    for k in range(count):
        pose = se3.exp(np.concatenate([np.zeros(3), rng.uniform(-0.6, 0.6, 3)]))
        pose[:3, 3] = pose[:3, :3] @ middle + [*rng.uniform(-0.04, 0.04, 2), 0.5 + 0.09 * k]
        out.append(pose)
    return np.array(out)


def seen(noise: float = 0.0, count: int = 8) -> MicroCorners:
    """Every corner in every lens that sees it."""
    cam = camera()
    array, calibration = MicroLensArray.of(cam), cam.calibration
    lens, pixel = calibration.main_lens, calibration.sensor.pixel_size_um * 1e-3
    principal = np.array(lens.principal_point_px)
    rng = np.random.default_rng(1)
    parts = []
    for frame, pose in enumerate(poses(count)):
        places = np.concatenate([BOARD.places, np.zeros((BOARD.count, 1))], 1)
        points = 1e3 * (places @ pose[:3, :3].T + pose[:3, 3])  # mm
        b_L = lens.focal_length_mm * points[:, 2] / (points[:, 2] - lens.focal_length_mm)
        virtual = b_L[:, None] * points[:, :2] / points[:, 2:] / pixel + principal
        rho = calibration.mla.sensor_distance_mm / (b_L - lens.mla_distance_mm)
        for corner in range(BOARD.count):
            raw = array.lens_centres + (virtual[corner] - array.lens_centres) * rho[corner]
            sees = np.linalg.norm(raw - array.image_centres, axis=1) < array.usable_radius
            xy = raw[sees] + noise * rng.standard_normal((int(sees.sum()), 2))
            number = np.full(len(xy), frame, np.intp), np.full(len(xy), corner, np.intp)
            parts.append(MicroCorners(*number, array.image_centres[sees], xy))
    columns = ("frame", "corner", "centre", "xy")
    return MicroCorners(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))
