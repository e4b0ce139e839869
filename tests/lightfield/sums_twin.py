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


def half_steps(line: Array) -> Array:
    """A line of pixels → twice as many values, at each pixel and half-way to the next; NaN: must not be used."""
    values = np.full(2 * len(line), np.nan)
    padded = np.concatenate([[np.nan] * 2, line, [np.nan] * 2])
    for x, (b, a, here, c, d) in enumerate(zip(padded, padded[1:], padded[2:], padded[3:], padded[4:])):
        values[2 * x + 1] = (here + c) / 2
        values[2 * x] = (a + 6 * here + c) / 8
        if np.isnan(values[2 * x]):  # at the rim, if two pixels are known behind the last one
            rim = (39 * here + 2 * a - b) / 40 if np.isfinite(a) else (39 * here + 2 * c - d) / 40
            values[2 * x] = rim if np.isfinite(rim) else here
    return values


def half_step_image(image: Array) -> Array:
    """The matching image: along columns, then along rows."""
    down = np.stack([half_steps(column) for column in image.T], -1)
    return np.stack([half_steps(row) for row in down])


def interpolated_image(image: Array) -> Array:
    """The same without any blur: samples between the values are bilinear samples of the pixels."""
    for _ in range(2):
        following = np.concatenate([image[1:], np.full_like(image[:1], np.nan)])
        image = np.stack([image, (image + following) / 2], 1).reshape(-1, image.shape[1]).T
    return image
