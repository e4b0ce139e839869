# SPDX-License-Identifier: Apache-2.0
"""Resample a ready-made focused frame that still carries main-lens distortion.

LiFCal defines the distortion of focused images in the plane of the micro-lens array: a virtual point is
projected there through the main-lens centre, ``x_V · b_L0/b_L``. A ray of the central view meets that plane
at ``λ`` times its sensor-plane position, whatever the depth.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.distortion import shift_mm
from prism_vo.types import DecodedFrame


def undistorted_frame(camera: PlenopticCamera, frame: DecodedFrame) -> DecodedFrame:
    """The same frame on the distortion-free grid; maps by nearest neighbour, so that edges stay edges."""
    source = distorted_positions(camera, frame)
    x, y = (np.ascontiguousarray(source[..., i], dtype=np.float32) for i in (0, 1))

    def resample(values: Floats | None, method: int, outside: float) -> Floats | None:
        if values is None:
            return None
        return cv2.remap(values, x, y, method, borderMode=cv2.BORDER_CONSTANT, borderValue=outside)  # type: ignore

    image: Floats = _bilinear(frame.image, x, y)
    color = None if frame.color is None else _bilinear(frame.color, x, y)
    inv_depth = resample(frame.inv_virtual_depth, cv2.INTER_NEAREST, np.nan)
    variance = resample(frame.variance, cv2.INTER_NEAREST, np.inf)
    valid = None if inv_depth is None else np.isfinite(inv_depth)
    if valid is not None and variance is not None:
        valid = valid & np.isfinite(variance)
    return replace(
        frame, image=image, picture=color, inv_virtual_depth=inv_depth, variance=variance, valid=valid
    )


def _bilinear(values: NDArray[Any], x: Floats, y: Floats) -> NDArray[Any]:
    return cv2.remap(values, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)


def distorted_positions(camera: PlenopticCamera, frame: DecodedFrame) -> Array:
    """For each pixel (h, w) of the distortion-free grid, the pixel (…, 2) of the distorted one."""
    view = frame.view
    grid = np.stack(np.meshgrid(np.arange(view.width), np.arange(view.height)), -1).astype(np.float64)
    centre = np.array([view.cx, view.cy])
    pixel = camera.tf_scale * camera.pixel_mm
    on_array = _scale_to_array(camera, frame)  # of view coordinates, about the principal point
    shift = shift_mm(camera.calibration, (grid - centre) * pixel * on_array)
    return grid + shift / on_array / pixel


def _scale_to_array(camera: PlenopticCamera, frame: DecodedFrame) -> Array:
    if frame.view.name == "central":
        return np.full((1, 1, 1), camera.lam)
    if frame.inv_virtual_depth is None or not np.isfinite(frame.inv_virtual_depth).any():
        virtual_depth: Array = np.full((1, 1), 3.0)  # mid-range: the shift hardly depends on it
    else:
        rho = frame.inv_virtual_depth.astype(np.float64)
        virtual_depth = 1.0 / np.where(np.isfinite(rho), rho, np.nanmedian(rho))
    return (camera.b_L0 / (camera.b_L0 + virtual_depth * camera.B))[..., None]
