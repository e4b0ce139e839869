# SPDX-License-Identifier: Apache-2.0
"""Ready-made focused images and virtual-depth maps → ``DecodedFrame`` in our conventions."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Floats, Mask
from prism_vo.datasets.images import Size, read_image, read_map
from prism_vo.datasets.undistort import undistorted_frame
from prism_vo.errors import InputError
from prism_vo.optics.camera import PlenopticCamera, ViewName
from prism_vo.optics.distortion import is_distorted
from prism_vo.optics.photometric import luminance
from prism_vo.types import DecodedFrame
from prism_vo.yaml_files import StrictModel, parse_strict, read_yaml

LARGEST_SIGMA = 1.0  # of ρ_v, which lies between 0 and 1: beyond it nothing was measured


class DecodedFormat(StrictModel):
    """``decoded.yaml``: what the maps of a decoded sequence mean (no defaults guess a convention)."""

    view: ViewName
    convention: Literal["true", "micro-image"]
    virtual_depth: Literal["lifcal16", "float32"] = "lifcal16"
    sigma: Literal["float32", "none"] = "none"
    distorted: bool = False


def load_decoded_format(path: Path) -> DecodedFormat:
    """Read a ``decoded.yaml``."""
    data = read_yaml(path)
    if isinstance(
        data, dict
    ):  # bare `true` and `none` are what people write; YAML reads the first as a truth value
        data = {k: "true" if k == "convention" and v is True else v for k, v in data.items()}
        data = {k: "none" if k == "sigma" and v is None else v for k, v in data.items()}
    return parse_strict(DecodedFormat, data, path)


def read_decoded_frame(
    camera: PlenopticCamera,
    form: DecodedFormat,
    index: int,
    time: float,
    exposure: float | None,
    focused: Path,
    depth: Path | None,
    sigma: Path | None,
) -> DecodedFrame:
    """Read one focused image with its maps (each optional) as a frame of true inverse virtual depths."""
    remedy = "totally_focused.scale of the camera file must give the focused images' size"
    stored = read_image(focused, Size(*camera.tf_size, remedy))
    image = luminance(_intensity(stored, camera.calibration.response.gamma))
    inv_depth = variance = valid = None
    if depth is not None:
        inv_depth, valid = _inv_virtual_depth(camera, form, depth)
        if sigma is not None:
            variance = _variance(camera, form, sigma, valid)
            valid = valid & np.isfinite(variance)
            inv_depth = np.where(valid, inv_depth, np.float32(np.nan))
        else:
            from prism_vo.lightfield.modelled import (
                model_variance,
            )  # the kernels load only where they are needed

            variance = model_variance(camera, camera.view(form.view), image, inv_depth)
            valid = valid & np.isfinite(variance)
            inv_depth = np.where(valid, inv_depth, np.float32(np.nan))
    frame = DecodedFrame(
        index, time, camera.view(form.view), image, inv_depth, variance, valid, exposure, _color(stored)
    )
    if form.distorted and is_distorted(camera.calibration):
        return undistorted_frame(camera, frame)
    return frame


def _intensity(stored: NDArray[Any], gamma: float) -> Floats:
    """Stored values → linear float32 intensity 0–255."""
    values = stored.astype(np.float32) / np.float32(257.0 if stored.dtype == np.uint16 else 1.0)
    return values if gamma == 1.0 else np.float32(255.0) * (values / np.float32(255.0)) ** np.float32(gamma)


def _color(stored: NDArray[Any]) -> NDArray[np.uint8] | None:
    if stored.ndim == 2:
        return None
    return (stored >> 8).astype(np.uint8) if stored.dtype == np.uint16 else stored


def _inv_virtual_depth(camera: PlenopticCamera, form: DecodedFormat, path: Path) -> tuple[Floats, Mask]:
    size = Size(*camera.tf_size, "the depth map must have the focused images' size")
    values = read_map(path, size)
    size.check(path, values.shape[1], values.shape[0])
    if form.virtual_depth == "lifcal16":
        if values.dtype != np.uint16:
            raise InputError(
                f"{path}: a lifcal16 depth map is a 16-bit image, this one holds {values.dtype} values."
            )
        rho = np.where(values > 0, 1.0 - values / 65535.0, np.nan)
    else:
        rho = np.where(np.isfinite(values) & (values > 0), values, np.nan).astype(np.float64)
    if form.convention == "micro-image":
        rho = camera.true_from_naive(rho)
    valid = (rho > 0) & (rho <= 1)  # nearer than the sensor (v < 1) no micro-lens forms an image
    return np.where(valid, rho, np.nan).astype(np.float32), valid


def _variance(camera: PlenopticCamera, form: DecodedFormat, path: Path, valid: Mask) -> Floats:
    size = Size(*camera.tf_size, "the sigma map must have the focused images' size")
    sigma = read_map(path, size).astype(np.float64, copy=False)
    size.check(path, sigma.shape[1], sigma.shape[0])
    if form.convention == "micro-image":
        sigma = sigma / camera.lam  # σ(1/v_n) = λ σ(ρ_v)
    usable = valid & (sigma > 0) & (sigma < LARGEST_SIGMA)
    return np.where(usable, np.where(usable, sigma, 1.0) ** 2, np.inf).astype(np.float32)
