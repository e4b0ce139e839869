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
from prism_vo.types import RawFrame

EVERY = 8  # row and column that a mean level is taken of


class KnownLight(NamedTuple):
    """Of the grey, or of the colour images of a recording."""

    since: int  # number of the frame that it was learnt from
    level: float  # mean of that frame, as the sensor writes it
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
        # by the number of dimensions: 2 grey or mosaic, 3 RGB; the last is learnt last
        self.known: dict[int, tuple[KnownLight, ...]] = {}

    def of(self, raw: RawFrame) -> KnownLight:
        """What was known when a frame came."""
        known = self.known[raw.image.ndim]
        return next((light for light in reversed(known) if light.since <= raw.index), known[0])

    @property
    def is_measured(self) -> bool:
        """By a white image."""
        return self._white is not None

    def begin_with(self, raw: RawFrame) -> KnownLight:
        """From a frame on, the light is that of the white image, or what its micro-images show in the mean."""
        before = self.known.get(raw.image.ndim, ())
        if before and self.is_measured:
            begun = before[-1]._replace(since=raw.index)
        else:
            begun = self._learn(raw)
        self.known[raw.image.ndim] = (*before, begun)
        return begun

    def correct(self, raw: RawFrame, found: FallOff) -> None:
        """Frames of this kind have less light than was learnt last."""
        *before, known = self.known[raw.image.ndim]
        vignetting, brighter = fainter(known.vignetting, self._array, found.radii, found.inside, found.lenses)
        corrected = known._replace(vignetting=vignetting, gain=known.gain * brighter)
        self.known[raw.image.ndim] = (*before, corrected)

    def prepare(self, raw: RawFrame, border: int, bands: Bands) -> PreparedRaw:
        """The image without vignetting, ready to be focused and matched."""
        known, image = self.of(raw), raw.image
        values = linear(self._camera, image, known.pattern, keep_bytes=image.ndim == 2)
        if known.pattern is not None:
            largest = _without_edge(values) if image.ndim == 3 else None
            return PreparedMosaic(values, known.gain, border, bands, largest)
        if values.ndim == 2:
            return PreparedRaw(values, known.gain, border, bands)
        red, green, blue = cv2.split(values)
        largest = np.asarray(cv2.max(cv2.max(red, green), blue), np.float32)
        return PreparedRaw(luminance(values), known.gain, border, bands, largest)

    def channels(self, raw: RawFrame, border: int, bands: Bands) -> list[PreparedRaw]:
        """Red, green and blue of an RGB image, each ready to be focused; the white image is grey in them."""
        known = self.of(raw)
        values = linear(self._camera, raw.image)
        return [
            PreparedRaw(np.ascontiguousarray(values[..., n]) * np.float32(balance), known.gain, border, bands)
            for n, balance in enumerate(known.vignetting.white_balance)
        ]

    def _learn(self, raw: RawFrame) -> KnownLight:
        image, of_frame = raw.image, (raw.index, float(raw.image[::EVERY, ::EVERY].mean()))
        pattern = self._declared or (find_pattern(image) if image.ndim == 3 else None)
        vignetting = self._vignetting(image, pattern)
        if pattern is None:
            return KnownLight(*of_frame, None, vignetting, np.ones((2, 2)), vignetting.gain)
        values = linear(self._camera, image, pattern)
        light = values * vignetting.gain
        gains = even_gains(site_means(light, (light > 0) & (values < SATURATION)))
        gain = vignetting.gain * over_sensor(gains, light.shape)
        return KnownLight(*of_frame, pattern, vignetting, gains, gain)

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
