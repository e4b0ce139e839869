# SPDX-License-Identifier: Apache-2.0
"""From the numbers a sensor writes to light: bit depth, response curve, colour, vignetting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.errors import InputError
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.evenness import unevenness
from prism_vo.optics.mla import MicroLensArray
from prism_vo.optics.mosaic import even_gains, mosaic_of, over_sensor, site_means
from prism_vo.optics.visibility import owner_maps

# R, G, B: the luma of JPEG and most video (ITU-R BT.601); in it the colour planes, often of half the resolution, cancel
LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)
DARKEST_SHARE = 0.2  # of a micro-image's peak: below it a pixel of the white image counts as outside
AT_ONCE = 4e6  # pixels
PROFILE_BIN_PX = 0.5
RIM_SHARE = 0.9  # of the smooth profile: where light falls faster, a micro-image ends
SATURATION = 254.0
WHITE_PERCENTILE = 99.5  # of a white image: its full light
# of the light of neighbouring micro-images: white images of two renderers, with noise of 20 grey levels and another
# aperture, differ by less than 0.1 %, with sixty specks of dust that take half the light by 1.4 %
MOST_UNEVEN = 0.025


class WhiteImageError(InputError):
    """A white image that is none."""


@dataclass(frozen=True)
class Vignetting:
    """What one pixel of the sensor receives of the light of its micro-lens.

    ``gain`` (H, W) multiplies a linear raw image; 0 marks pixels outside every micro-image.
    On a mosaic it also evens what the colours of a white image differ by.
    ``profile`` is the mean transmission V(r), r in raw pixels from the micro-image centre, V(0) = 1.
    ``white_balance`` multiplies the channels of an RGB image: the white image becomes grey.
    """

    gain: Floats
    radii: Array
    profile: Array
    white_balance: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def transmission(self, radius: Array | float) -> Array:
        """V at a distance from the micro-image centre."""
        return np.asarray(np.interp(radius, self.radii, self.profile), dtype=np.float64)


def linear(
    camera: PlenopticCamera, image: NDArray[Any], pattern: str | None = None, keep_bytes: bool = False
) -> Floats:
    """Raw values → linear intensity 0–255: (H, W) grey or mosaic, (H, W, 3) RGB.

    ``keep_bytes``: those that are linear already may stay what they are.
    An RGB image that was demosaiced from the mosaic ``pattern`` becomes that mosaic again.
    """
    sensor = camera.calibration.sensor
    if image.shape[:2] != (sensor.height, sensor.width):
        raise InputError(
            f"raw image is {image.shape[1]}×{image.shape[0]} but camera.yaml describes a {sensor.width}×"
            f"{sensor.height} sensor; use the calibration of this camera."
        )
    if image.dtype not in (np.uint8, np.uint16, np.float32):
        raise InputError(f"raw image has pixels of type {image.dtype}; 8- or 16-bit images are needed.")
    if image.ndim == 3 and pattern is not None:
        image = mosaic_of(image, pattern)
    gamma = camera.calibration.response.gamma
    if keep_bytes and image.dtype == np.uint8 and gamma == 1.0:
        return np.ascontiguousarray(image)
    if image.dtype == np.uint16:
        values = image.astype(np.float32) / np.float32(257.0)
    else:
        values = image.astype(np.float32, copy=False)
    if gamma != 1.0:
        values = np.float32(255.0) * np.power(np.maximum(values, 0) / np.float32(255.0), np.float32(gamma))
    return np.ascontiguousarray(values)


def luminance(values: Floats) -> Floats:
    """(H, W) unchanged, (H, W, 3) RGB → (H, W)."""
    return values if values.ndim == 2 else np.asarray(cv2.transform(values, LUMINANCE[None]), np.float32)


def vignetting_from_white(
    camera: PlenopticCamera, array: MicroLensArray, white: NDArray[np.generic], pattern: str | None = None
) -> Vignetting:
    """Divide by what an evenly lit target shows; ``pattern`` of a mosaic, whose sites are evened, too."""
    values = linear(camera, white, pattern)
    light = luminance(values)
    sites = None
    if pattern is not None:
        sites = over_sensor(_site_peaks(light), light.shape)
        light = light / sites
    peak = float(np.percentile(light, WHITE_PERCENTILE))
    if peak <= 0:
        raise WhiteImageError("white image is black; take one of an evenly lit target or leave it out.")
    distance = _centre_distance(array, light.shape)
    uneven = unevenness(light, owner_maps(array, light.shape[1], light.shape[0]).owner, distance, array)
    if uneven > MOST_UNEVEN:
        raise WhiteImageError(
            f"white image is not one of an evenly lit target: micro-images differ by {100 * uneven:.0f} % (RMS) in "
            "light from those beside them, as in an image of a scene; take one of a diffuser or leave it out."
        )
    inside = (distance < array.diameter / 2) & (light > DARKEST_SHARE * peak)
    bright = np.float32(peak) / np.maximum(light, 1e-3)
    gain = np.where(inside, bright, np.float32(0.0)).astype(np.float32, copy=False)
    radii, profile = _radial_profile(light, np.ones_like(light), distance, array)
    if sites is not None:
        gain = gain / sites
    return Vignetting(gain, radii, profile, _white_balance(values, peak))


def _site_peaks(mosaic: Floats) -> Array:
    """Full light of a white mosaic at each site, over the mean of the four; 1 where a site is black."""
    peaks = np.array(
        [np.percentile(mosaic[row::2, column::2], WHITE_PERCENTILE) for row, column in np.ndindex(2, 2)]
    ).reshape(2, 2)
    return peaks / peaks.mean() if (peaks > 0).all() else np.ones((2, 2))


def _white_balance(values: Floats, peak: float) -> tuple[float, float, float]:
    if values.ndim == 2:
        return 1.0, 1.0, 1.0
    channels = np.percentile(values.reshape(-1, 3), WHITE_PERCENTILE, axis=0)
    red, green, blue = peak / np.maximum(channels, 1.0)
    return float(red), float(green), float(blue)


def vignetting_from_scene(
    camera: PlenopticCamera, array: MicroLensArray, image: NDArray[np.generic], pattern: str | None = None
) -> Vignetting:
    """Without a white image: thousands of micro-images show unrelated texture, so their mean shows V(r), to a few
    per cent (:mod:`~prism_vo.lightfield.fall_off` makes it right)."""
    light = luminance(linear(camera, image, pattern))
    distance = _centre_distance(array, light.shape)
    if (
        pattern is not None
    ):  # without the alternation of colours, which a ring of few pixels does not average out
        means = site_means(light, distance < array.diameter / 2)
        light = light * over_sensor(even_gains(means), light.shape)
    width = 2 * int(np.ceil(array.diameter)) + 1
    surround = cv2.blur(light, (width, width), borderType=cv2.BORDER_REFLECT) + np.float32(1e-3)
    radii, rings = _radial_profile(light, surround, distance, array)
    # single rings carry a percent of texture, which a smooth even curve over the usable area averages out
    usable = radii <= array.usable_radius
    design = np.stack([np.ones(usable.sum()), radii[usable] ** 2, radii[usable] ** 4], -1)
    areas = np.sqrt(np.maximum(radii[usable], PROFILE_BIN_PX / 4))
    curve = np.linalg.lstsq(design * areas[:, None], rings[usable] * areas, rcond=None)[0]
    smooth = np.maximum((curve[0] + curve[1] * radii**2 + curve[2] * radii**4) / curve[0], DARKEST_SHARE)
    profile = np.where(usable, smooth, np.minimum(smooth, rings / curve[0]))
    inside = (distance < array.diameter / 2) & (np.interp(distance, radii, profile / smooth) > RIM_SHARE)
    gain = np.where(inside, 1.0 / np.interp(distance, radii, smooth), 0.0).astype(np.float32)
    return Vignetting(gain, radii, profile)


def fainter(
    vignetting: Vignetting, array: MicroLensArray, radii: Array, inside: Array, lenses: Array
) -> tuple[Vignetting, Floats]:
    """Less light than was assumed, and the factor (H, W) on gains for it.

    Logarithms: ``inside`` micro-images of each type (types, N) at distances ``radii`` from their centres, ``lenses``
    (L,) at the centre of each.
    """
    height, width = vignetting.gain.shape
    owner = owner_maps(array, width, height).owner
    distance = _centre_distance(array, vignetting.gain.shape)
    brighter = np.empty_like(vignetting.gain)
    for rows in _bands(vignetting.gain.shape):
        lost = lenses[owner[rows]]
        kind = array.lens_type[owner[rows]]
        for number, curve in enumerate(inside):
            mine = kind == number
            lost[mine] += np.interp(distance[rows][mine], radii, curve)
        brighter[rows] = np.where(owner[rows] >= 0, np.exp(-lost), 1.0)
    profile = vignetting.profile * np.exp(np.interp(vignetting.radii, radii, inside.mean(0)))
    return replace(vignetting, gain=vignetting.gain * brighter, profile=profile), brighter


def _centre_distance(array: MicroLensArray, shape: tuple[int, ...]) -> Floats:
    """Distance of every raw pixel from the centre of its micro-image."""
    owner = owner_maps(array, shape[1], shape[0]).owner
    centres = array.image_centres.astype(np.float32)
    x, y = (np.arange(side, dtype=np.float32) for side in (shape[1], shape[0]))
    distance = np.empty(owner.shape, np.float32)
    for rows in _bands(owner.shape):
        of_pixel = centres[owner[rows]]
        dx, dy = x - of_pixel[..., 0], y[rows, None] - of_pixel[..., 1]
        distance[rows] = np.where(owner[rows] >= 0, np.sqrt(dx * dx + dy * dy), np.float32(np.inf))
    return distance


def _bands(shape: tuple[int, ...]) -> list[slice]:
    """Rows of an image, so many at once that what is made of them on the way needs little memory."""
    rows = max(1, int(AT_ONCE // shape[1]))
    return [slice(first, first + rows) for first in range(0, shape[0], rows)]


def _radial_profile(
    light: Floats, weight: Floats, distance: Floats, array: MicroLensArray
) -> tuple[Array, Array]:
    """Mean light over mean weight in rings about the micro-image centre, scaled to 1 at the centre."""
    count = max(4, int(array.diameter / 2 / PROFILE_BIN_PX))
    total, norm, radius, pixels = np.zeros((4, count))
    for rows in _bands(light.shape):
        near = distance[rows] < count * PROFILE_BIN_PX
        ring = (distance[rows][near] / PROFILE_BIN_PX).astype(np.int64)
        for sums, values in ((total, light), (norm, weight), (radius, distance)):
            sums += np.bincount(ring, values[rows][near], count)
        pixels += np.bincount(ring, minlength=count)
    radius /= np.maximum(pixels, 1)
    profile = total / np.maximum(norm, 1e-6)
    return radius, profile / max(profile[0], 1e-6)
