# SPDX-License-Identifier: Apache-2.0
"""Bayer mosaics: which pixel sees which colour, and the mosaic behind an image that was demosaiced elsewhere.

A mosaic has four sites: the pixels at (row & 1, column & 1). Tables of sites are (2, 2) arrays.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Integers, Mask

DEMOSAIC = {
    "RGGB": cv2.COLOR_BayerRGGB2RGB,
    "BGGR": cv2.COLOR_BayerBGGR2RGB,
    "GRBG": cv2.COLOR_BayerGRBG2RGB,
    "GBRG": cv2.COLOR_BayerGBRG2RGB,
}
LARGEST_CROP = 1024  # px a side that are looked at to find a pattern
# Squared error of an image demosaiced again, over that with the second best pattern. Bilinear and edge-aware
# demosaicing lie below 0.45; images of three full channels, and those compressed afterwards, above 0.64.
CLEAR_PATTERN = 0.55
LARGEST_GAIN = 4.0  # that evens the sites of a scene: beyond, the scene has one colour only


def channels_of(pattern: str) -> Integers:
    """Channel (0 R, 1 G, 2 B) of each site."""
    return np.array(["RGB".index(letter) for letter in pattern], np.int32).reshape(2, 2)


def over_sensor(sites: Array, shape: tuple[int, ...]) -> Floats:
    """A table of sites repeated over an image (H, W)."""
    height, width = shape[:2]
    tiles = np.tile(np.asarray(sites, np.float32), ((height + 1) // 2, (width + 1) // 2))
    return np.ascontiguousarray(tiles[:height, :width])


def mosaic_of(image: NDArray[Any], pattern: str) -> NDArray[Any]:
    """What a sensor with this mosaic sees of an RGB image (H, W, 3); demosaicing keeps these values."""
    out = np.empty(image.shape[:2], image.dtype)
    for (row, column), channel in np.ndenumerate(channels_of(pattern)):
        out[row::2, column::2] = image[row::2, column::2, channel]
    return out


def site_means(values: Floats, usable: Mask) -> Array:
    """Mean of the usable pixels of each site, NaN without any."""
    means = np.full((2, 2), np.nan)
    for row, column in np.ndindex(2, 2):
        mine = usable[row::2, column::2]
        if mine.any():
            means[row, column] = values[row::2, column::2][mine].mean(dtype=np.float64)
    return means


def even_gains(means: Array) -> Array:
    """Gains of the sites that make their means equal and keep the mean of all."""
    if not (means > 0).all():
        return np.ones((2, 2))
    return np.clip(means.mean() / means, 1.0 / LARGEST_GAIN, LARGEST_GAIN)


def find_pattern(image: NDArray[Any]) -> str | None:
    """The mosaic an RGB image (H, W, 3) was demosaiced from: with it, demosaicing once more changes least.

    None if no pattern stands out: the image has three full channels, or was compressed or filtered since.
    """
    crop = _even_crop(image)
    errors = {}
    for pattern, code in DEMOSAIC.items():
        again = cv2.cvtColor(mosaic_of(crop, pattern), code)
        errors[pattern] = float(np.mean((again.astype(np.float32) - crop.astype(np.float32)) ** 2))
    best, second = sorted(errors, key=errors.__getitem__)[:2]
    return best if errors[best] < CLEAR_PATTERN * errors[second] else None


def _even_crop(image: NDArray[Any]) -> NDArray[Any]:
    """The middle of an image in 8 or 16 bits, cut at even pixels so that the sites stay what they are."""
    top, left = (max(size - LARGEST_CROP, 0) // 4 * 2 for size in image.shape[:2])
    crop = image[top : top + LARGEST_CROP, left : left + LARGEST_CROP]
    if crop.dtype == np.float32:
        crop = np.clip(crop * 257.0, 0, 65535).astype(np.uint16)
    return np.ascontiguousarray(crop)
