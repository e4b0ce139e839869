# SPDX-License-Identifier: Apache-2.0
"""Main-lens distortion in the sensor plane (radial A0, A1 and tangential B0, B1; mm units): eq. 11."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from prism_vo.arrays import Array
from prism_vo.optics.calibration import Calibration

MAX_ITERATIONS = 10


def is_distorted(calibration: Calibration) -> bool:
    """Whether any coefficient is non-zero."""
    d = calibration.main_lens.distortion
    return any(value != 0.0 for value in (*d.radial, *d.tangential))


def centre_mm(calibration: Calibration) -> Array:
    """Centre of the distortion (2,) from the principal point, mm."""
    lens = calibration.main_lens
    away = np.subtract(lens.distortion_centre_px, lens.principal_point_px)
    return np.asarray(away * calibration.sensor.pixel_size_um * 1e-3)


def shift_mm(calibration: Calibration, xy_mm: Array) -> Array:
    """Δ at undistorted, principal-point-centred coordinates (…, 2) in mm."""
    (a0, a1), (b0, b1) = calibration.main_lens.distortion.radial, calibration.main_lens.distortion.tangential
    centre = centre_mm(calibration)
    x, y = xy_mm[..., 0] - centre[0], xy_mm[..., 1] - centre[1]
    r2 = x * x + y * y
    radial = a0 * r2 + a1 * r2 * r2
    return np.stack(
        [
            x * radial + b0 * (r2 + 2.0 * x * x) + 2.0 * b1 * x * y,
            y * radial + b1 * (r2 + 2.0 * y * y) + 2.0 * b0 * x * y,
        ],
        -1,
    )


def distort(calibration: Calibration, pixels: ArrayLike) -> Array:
    """Undistorted raw pixels (…, 2) → where the lens really images them."""
    px = np.asarray(pixels, dtype=np.float64)
    if not is_distorted(calibration):
        return px.copy()
    centre, size = np.array(calibration.main_lens.principal_point_px), calibration.sensor.pixel_size_um * 1e-3
    return px + shift_mm(calibration, (px - centre) * size) / size


def undistort(calibration: Calibration, pixels: ArrayLike) -> Array:
    """Inverse of :func:`distort` by fixed-point iteration."""
    px = np.asarray(pixels, dtype=np.float64)
    if not is_distorted(calibration):
        return px.copy()
    centre, size = np.array(calibration.main_lens.principal_point_px), calibration.sensor.pixel_size_um * 1e-3
    target = (px - centre) * size
    x = target.copy()
    for _ in range(MAX_ITERATIONS):
        x = target - shift_mm(calibration, x)
    return x / size + centre
