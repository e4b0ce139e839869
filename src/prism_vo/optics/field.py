# SPDX-License-Identifier: Apache-2.0
"""The surface that a real lens focuses on is bent and tilted: virtual depth depends on where in the image a point is.

``1/h = w_∞ + κ/z + t·x + c |x|²`` with x in mm from the principal point (docs/camera-model.md, eq. 11a). Stereo slopes
as they are measured are called bent here, those of a lens with a plane field flat.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from prism_vo.arrays import Array
from prism_vo.optics.camera import PlenopticCamera


def is_bent(camera: PlenopticCamera) -> bool:
    """Whether any coefficient is non-zero."""
    field = camera.calibration.main_lens.field
    return field.curvature != 0.0 or any(field.tilt)


def virtual_depth_shift(camera: PlenopticCamera, pixels: ArrayLike) -> Array:
    """By how much 1/h is larger at pixels (…, 2) of the focused image than with a plane field (…)."""
    field = camera.calibration.main_lens.field
    raw = camera.tf_scale * (np.asarray(pixels, np.float64) + 0.5) - 0.5
    x = (raw - camera.principal_point) * camera.pixel_mm
    return np.asarray(x @ np.array(field.tilt) + field.curvature * (x * x).sum(-1))


def shift_range(camera: PlenopticCamera) -> tuple[float, float]:
    """The least and the largest of these shifts over the image."""
    width, height = camera.tf_size
    x, y = np.meshgrid(np.linspace(0, width - 1, 9), np.linspace(0, height - 1, 9))
    shift = virtual_depth_shift(camera, np.stack([x, y], -1))
    return min(float(shift.min()), 0.0), max(float(shift.max()), 0.0)


def bent(slope: Array, shift: Array) -> Array:
    """Flat slopes as they are measured."""
    return np.asarray(slope / (1.0 + slope * shift))


def flattened(
    camera: PlenopticCamera, pixels: ArrayLike, inv_virtual_depth: Array, variance: Array
) -> tuple[Array, Array]:
    """Measured ρ_v and its variance at pixels of the focused image, as a plane field would have shown them."""
    slope = (1.0 - camera.lam) + camera.lam * inv_virtual_depth
    left = 1.0 - slope * virtual_depth_shift(camera, pixels)
    with np.errstate(divide="ignore", invalid="ignore"):
        flat = np.where(left > 0.0, slope / left, np.nan)
        return (flat - (1.0 - camera.lam)) / camera.lam, variance / left**4
