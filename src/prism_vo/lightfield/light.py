# SPDX-License-Identifier: Apache-2.0
"""What is known of the light on a sensor, learnt from the white image and the first frame: mosaic, gains, balance."""

from __future__ import annotations

from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.fall_off import FallOff
from prism_vo.lightfield.mosaic import PreparedMosaic
from prism_vo.lightfield.raw import PreparedRaw
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.mla import MicroLensArray
from prism_vo.optics.mosaic import even_gains, find_pattern, over_sensor, site_means
from prism_vo.optics.photometric import (
    SATURATION,
    Vignetting,
    fainter,
    linear,
    luminance,
    vignetting_from_scene,
    vignetting_from_white,
)


class KnownLight(NamedTuple):
    """Of the grey, or of the colour images of a recording."""

    pattern: str | None  # of the mosaic, also of one that was demosaiced elsewhere
    vignetting: Vignetting
    site_gains: (
        Array  # (2, 2): even the sites of the first frame; a mosaic would show in all that is grey otherwise
    )
    gain: Floats  # (H, W): vignetting and sites


class RawLight:
    """Raw images of one camera → images ready for sampling."""

    def __init__(
        self, camera: PlenopticCamera, array: MicroLensArray, white: NDArray[np.generic] | None
    ) -> None:
        self._camera, self._array, self._white = camera, array, white
        self._declared = camera.calibration.sensor.bayer
        # a white image that cannot be used is noticed at once
        self._of_white = (
            None if white is None else vignetting_from_white(camera, array, white, self._declared)
        )
        self.known: dict[int, KnownLight] = {}  # by the number of dimensions: 2 grey or mosaic, 3 RGB

    def of(self, image: NDArray[Any]) -> KnownLight:
        """What is known for an image of this kind."""
        known = self.known.get(image.ndim)
        if known is None:
            known = self.known[image.ndim] = self._learn(image)
        return known

    @property
    def is_measured(self) -> bool:
        """By a white image."""
        return self._white is not None

    def correct(self, image: NDArray[Any], found: FallOff) -> None:
        """Images of this kind have less light than was known."""
        known = self.of(image)
        vignetting, brighter = fainter(known.vignetting, self._array, found.radii, found.inside, found.lenses)
        self.known[image.ndim] = known._replace(vignetting=vignetting, gain=known.gain * brighter)

    def prepare(self, image: NDArray[Any], border: int, bands: Bands) -> PreparedRaw:
        """The image without vignetting, ready to be focused and matched."""
        known = self.of(image)
        values = linear(self._camera, image, known.pattern, keep_bytes=image.ndim == 2)
        if known.pattern is not None:
            largest = _without_edge(values) if image.ndim == 3 else None
            return PreparedMosaic(values, known.gain, border, bands, largest)
        if values.ndim == 2:
            return PreparedRaw(values, known.gain, border, bands)
        red, green, blue = cv2.split(values)
        largest = np.asarray(cv2.max(cv2.max(red, green), blue), np.float32)
        return PreparedRaw(luminance(values), known.gain, border, bands, largest)

    def channels(self, image: NDArray[Any], border: int, bands: Bands) -> list[PreparedRaw]:
        """Red, green and blue of an RGB image, each ready to be focused; the white image is grey in them."""
        known = self.of(image)
        values = linear(self._camera, image)
        return [
            PreparedRaw(np.ascontiguousarray(values[..., n]) * np.float32(balance), known.gain, border, bands)
            for n, balance in enumerate(known.vignetting.white_balance)
        ]

    def _learn(self, image: NDArray[Any]) -> KnownLight:
        pattern = self._declared or (find_pattern(image) if image.ndim == 3 else None)
        vignetting = self._vignetting(image, pattern)
        if pattern is None:
            return KnownLight(None, vignetting, np.ones((2, 2)), vignetting.gain)
        values = linear(self._camera, image, pattern)
        light = values * vignetting.gain
        gains = even_gains(site_means(light, (light > 0) & (values < SATURATION)))
        return KnownLight(pattern, vignetting, gains, vignetting.gain * over_sensor(gains, light.shape))

    def _vignetting(self, image: NDArray[Any], pattern: str | None) -> Vignetting:
        if self._white is None or self._of_white is None:
            return vignetting_from_scene(self._camera, self._array, image, pattern)
        if pattern == self._declared:
            return self._of_white
        return vignetting_from_white(self._camera, self._array, self._white, pattern)


def _without_edge(values: Floats) -> Floats:
    """Saturated along the edge: demosaicing replaced the outermost pixels, which lack neighbours."""
    out = values.copy()
    out[[0, -1]] = out[:, [0, -1]] = SATURATION
    return out
