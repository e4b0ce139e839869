# SPDX-License-Identifier: Apache-2.0
"""Variance of depth maps made elsewhere without one: what a match of that image could at best have known."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import ArrayLike

from prism_vo.arrays import Floats
from prism_vo.optics.camera import FocusedView, PlenopticCamera

TYPICAL_NOISE = 2.5  # grey levels per raw pixel, sensor and model together
WINDOW_RAW_PX = 6.0  # side of a usual matching window in raw pixels of a micro-image
SUBPIXEL_FLOOR = 0.03  # raw px: no disparity is known better
SOBEL_SCALE = 1.0 / 8.0  # a Sobel filter sums eight differences over one pixel
WINDOW_SIDES = (1, 12)  # least and largest half side of the window, TF px
HEXAGONAL_CELL = np.sqrt(0.75)  # area of a cell over its squared pitch


def model_variance(
    camera: PlenopticCamera,
    view: FocusedView,
    image: ArrayLike,
    inv_virtual_depth: ArrayLike,
    noise: float = TYPICAL_NOISE,
) -> Floats:
    """σ²(ρ_v) (h, w) from gradient and range; inf where ``inv_virtual_depth`` is invalid or nothing has texture.

    The n lenses that see a point have baselines d spread over a disc of radius R/ρ (usable radius R). With the
    mean squared gradient g² per raw pixel of a micro-image and N raw pixels in the window of each lens the normal
    equation has curvature ``n N g² ⟨d²⟩/2``, ⟨d²⟩ = (R/ρ)²/2.
    """
    grey = np.asarray(image, dtype=np.float32)
    rho = np.asarray(inv_virtual_depth, dtype=np.float64)
    mla = camera.calibration.mla
    radius = mla.pitch_px / 2 - mla.border_px
    valid = np.isfinite(rho) & (rho > 0)
    slope = view.alpha + view.beta * np.where(valid, rho, 1.0)
    spacing = camera.tf_scale * slope  # raw px of a micro-image per TF pixel
    gx, gy = (cv2.Sobel(grey, cv2.CV_32F, 1 - axis, axis, scale=SOBEL_SCALE) for axis in (0, 1))
    side = 2 * int(np.clip(round(WINDOW_RAW_PX / float(np.median(spacing)) / 2), *WINDOW_SIDES)) + 1
    energy = cv2.blur(gx * gx + gy * gy, (side, side)).astype(np.float64) / spacing**2
    cell = mla.pitch_px**2 * (HEXAGONAL_CELL if mla.layout == "hexagonal" else 1.0)
    reach2 = (radius / slope) ** 2
    lenses = np.maximum(np.pi * reach2 / cell - 1.0, 0.0)
    curvature = lenses * WINDOW_RAW_PX**2 * energy * reach2 / 4.0
    with np.errstate(divide="ignore"):
        variance = noise**2 / curvature + SUBPIXEL_FLOOR**2 / (4.0 * reach2)
    return np.where(valid, variance / view.beta**2, np.inf).astype(np.float32)
