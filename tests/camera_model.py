# SPDX-License-Identifier: Apache-2.0
"""Equations of ``docs/camera-model.md`` written out once more: what tests hold the program against."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from prism_vo.arrays import Array
from prism_vo.optics.camera import PlenopticCamera


def raw_from_tf(camera: PlenopticCamera, pixels: ArrayLike) -> Array:
    """TF pixel coordinates → raw pixel coordinates of the same point of the sensor plane."""
    return camera.tf_scale * (np.asarray(pixels, np.float64) + 0.5) - 0.5


def raw_from_virtual(x_virtual: ArrayLike, inv_virtual_depth: ArrayLike, lens_centre: ArrayLike) -> Array:
    """Where a micro-lens at c_ML images the virtual point: undistorted raw pixels (…, 2) (eq. 8)."""
    x, c = np.asarray(x_virtual, np.float64), np.asarray(lens_centre, np.float64)
    return c + (x - c) * np.asarray(inv_virtual_depth, np.float64)[..., None]


def naive_from_true(camera: PlenopticCamera, inv_virtual_depth: ArrayLike) -> Array:
    """ρ_v → 1/v_n (eq. 6), measured when micro-image centres stand in for micro-lens centres."""
    return (1.0 - camera.lam) + camera.lam * np.asarray(inv_virtual_depth, np.float64)
