# SPDX-License-Identifier: Apache-2.0
"""Slow NumPy twin of the kernels: every lens, every sample, straight from the camera's own projection."""

from __future__ import annotations

import numpy as np
from camera_model import raw_from_virtual

from prism_vo.arrays import Array
from prism_vo.lightfield.geometry import STEREO_X, STEREO_Y, StereoGeometry
from prism_vo.lightfield.sample_steps import RIM, STEPS_A_PIXEL
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.distortion import distort, undistort


def samples_of(
    geometry: StereoGeometry, image: Array, xy: Array, rho: float, fall: float
) -> tuple[Array, Array, Array]:
    """Weights, grey values and baseline vectors of all lenses (rows) at TF positions (N, 2) in raw pixels.

    ``image``: at half-pixel steps, as matching reads it.
    Grey values reach a bit beyond the circle (to the square about it), where weights are 0: neighbours need them.
    """
    camera: PlenopticCamera = geometry.camera
    centre = camera.principal_point
    if geometry.view.name == "focal":
        x_virtual = xy
    else:  # a ray through the main lens' centre: x_V = x (b_L0 + v B)/(b_L0 + B)
        stretch = (camera.b_L0 + camera.B / rho) / (camera.b_L0 + camera.B)
        x_virtual = centre + (xy - centre) * stretch
    c_image = undistort(camera.calibration, geometry.array.image_centres)
    c_lens = geometry.array.lens_centres
    weights, greys, baselines = [], [], []
    stereo_centres = geometry.lenses[:, [STEREO_X, STEREO_Y]]
    for image_centre, lens_centre, stereo in zip(c_image, c_lens, stereo_centres):
        at = raw_from_virtual(x_virtual, np.full(len(xy), rho), lens_centre)
        q = ((at - image_centre) ** 2).sum(-1) / geometry.radius**2
        grey = bilinear(image, STEPS_A_PIXEL * distort(camera.calibration, at))
        seen = (np.abs(at - image_centre).max(-1) < geometry.radius) & np.isfinite(grey)
        w = np.where(seen, np.clip((1 - q) / RIM, 0, 1) * (1 - fall * q), 0.0)
        weights.append(w)
        greys.append(np.where(seen, grey, 0.0))
        baselines.append(xy - stereo)
    return np.array(weights), np.array(greys), np.array(baselines)


def bilinear(image: Array, at: Array) -> Array:
    """Bilinear sample; NaN where a tap is missing (≤ 0)."""
    h, w = image.shape
    x, y = np.floor(at[:, 0]).astype(int), np.floor(at[:, 1]).astype(int)
    u, v = at[:, 0] - x, at[:, 1] - y
    inside = (x >= 0) & (y >= 0) & (x < w - 1) & (y < h - 1)
    x, y = np.where(inside, x, 0), np.where(inside, y, 0)
    taps = np.stack([image[y, x], image[y, x + 1], image[y + 1, x], image[y + 1, x + 1]])
    value = (1 - v) * ((1 - u) * taps[0] + u * taps[1]) + v * ((1 - u) * taps[2] + u * taps[3])
    return np.where(inside & (taps.min(0) > 0), value, np.nan)


def half_steps(line: Array, at_pixel: tuple[float, float, float] = (0.125, 0.75, 0.125)) -> Array:
    """A line of pixels (…, n) → (…, 2n) values at and half-way after each; NaN where a pixel with a share is NaN."""
    ring = np.pad(line, [(0, 0)] * (line.ndim - 1) + [(1, 1)], constant_values=np.nan)
    shares = zip(at_pixel, (ring[..., :-2], ring[..., 1:-1], ring[..., 2:]))
    here = sum(share * pixels for share, pixels in shares if share)
    between = 0.5 * (ring[..., 1:-1] + ring[..., 2:])
    return np.stack([here, between], -1).reshape(*line.shape[:-1], -1)


def half_step_image(image: Array, at_pixel: tuple[float, float, float] = (0.125, 0.75, 0.125)) -> Array:
    """Along both axes; (0, 1, 0) leaves the pixels as they are."""
    return half_steps(half_steps(image, at_pixel).T, at_pixel).T
