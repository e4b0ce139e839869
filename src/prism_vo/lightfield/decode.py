# SPDX-License-Identifier: Apache-2.0
"""The light-field decoder: three speeds over one raw image, the same numbers from each."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prism_vo.config import DecodeConfig
from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.focus import FocusTable
from prism_vo.lightfield.geometry import StereoGeometry
from prism_vo.lightfield.matcher import Matcher, raw_border, transmission_fall
from prism_vo.lightfield.raw import BILINEAR_BLUR, PreparedRaw
from prism_vo.lightfield.variance import SensorNoise
from prism_vo.optics.camera import FocusedView, PlenopticCamera
from prism_vo.optics.photometric import (
    Vignetting,
    linear,
    luminance,
    vignetting_from_scene,
    vignetting_from_white,
)
from prism_vo.types import DecodedFrame, PointDepth, RawFrame

MID_GREY = 110.0
FRAMES_KEPT = 2  # prepared raw images: the current frame and the one another thread may still be reading


class Decoder:
    """Raw plenoptic images → totally focused (TF) images and inverse virtual depth with variance.

    ``white`` is the image of an evenly lit target; without it vignetting is estimated from the first frame.
    """

    def __init__(
        self,
        camera: PlenopticCamera,
        config: DecodeConfig | None = None,
        white: NDArray[np.generic] | None = None,
    ) -> None:
        self.config = config or DecodeConfig()
        self.camera = camera
        self.geometry = StereoGeometry.of(camera, self.config)
        self._bands = Bands(self.config.threads)
        self._focus = FocusTable(self.geometry, self._bands)
        self._vignetting: Vignetting | None = None
        if white is not None:
            self._vignetting = vignetting_from_white(camera, self.geometry.array, white)
        self._prepared: list[tuple[RawFrame, PreparedRaw]] = []
        self._lock = threading.Lock()
        self._border = raw_border(self.geometry)
        self._matcher = Matcher(self.geometry, self.config, self._bands)
        self._noise: SensorNoise | None = None
        self._noise_gain: float | None = None

    @property
    def view(self) -> FocusedView:
        """The TF view everything is decoded on."""
        return self.geometry.view

    def focus(self, raw: RawFrame) -> DecodedFrame:
        """The TF image alone (h, w), in milliseconds: no depth is measured."""
        image = self._focus(self.prepare(raw).sharp)
        return DecodedFrame(
            raw.index, raw.time, self.view, image, None, None, None, raw.exposure, self._focus_color(raw)
        )

    def measure(self, raw: RawFrame, points: ArrayLike) -> PointDepth:
        """Inverse virtual depth and its variance at TF pixels (N, 2) (x, y), whole or fractional."""
        xy = np.ascontiguousarray(np.asarray(points, dtype=np.float64).reshape(-1, 2))
        even, fall = self.prepare(raw).even, self._fall(raw)
        found = self._matcher.points(even, xy, fall)
        rho, variance, valid = self._matcher.judge(found, self.sensor_noise(raw), fall)
        return PointDepth(rho.astype(np.float32), variance.astype(np.float32), valid)

    def dense(self, raw: RawFrame) -> DecodedFrame:
        """TF image and the semi-dense map of inverse virtual depth with variance."""
        frame = self.focus(raw)
        even, fall = self.prepare(raw).even, self._fall(raw)
        found = self._matcher.everywhere(even, fall)
        rho, variance, valid = self._matcher.judge(found, self.sensor_noise(raw), fall)
        return replace(
            frame,
            inv_virtual_depth=rho.astype(np.float32, copy=False),
            variance=variance.astype(np.float32, copy=False),
            valid=valid,
        )

    def sensor_noise(self, raw: RawFrame) -> SensorNoise:
        """Of one raw pixel: estimated from the first frame seen."""
        if self._noise is None:
            self._noise = self._matcher.estimate_noise(self.prepare(raw).even, self._fall(raw))
        return self._noise

    def image_noise(self, raw: RawFrame) -> float:
        """σ of the TF image in grey levels at mid brightness, from the sensor noise and the weights of ``focus``."""
        if self._noise_gain is None:
            sensor = self.camera.calibration.sensor
            rng = np.random.default_rng(0)
            unit = rng.standard_normal((sensor.height, sensor.width)).astype(np.float32) + np.float32(100.0)
            flat = PreparedRaw(unit, np.ones_like(unit), self._sharpening, self._border, self._bands).sharp
            self._noise_gain = float(np.median(np.abs(self._focus(flat) - 100.0)) / 0.6745)
        return self._noise_gain * float(np.sqrt(self.sensor_noise(raw).variance(MID_GREY)))

    def _fall(self, raw: RawFrame) -> float:
        return transmission_fall(self.vignetting(raw), self.geometry.radius)

    def vignetting(self, raw: RawFrame) -> Vignetting:
        """Of the white image, or estimated from the first frame seen."""
        if self._vignetting is None:
            self._vignetting = vignetting_from_scene(self.camera, self.geometry.array, raw.image)
        return self._vignetting

    def prepare(self, raw: RawFrame) -> PreparedRaw:
        """Luminance without vignetting, made once a frame and kept for the last frames."""
        with self._lock:
            for frame, image in self._prepared:
                if frame is raw:
                    return image
            gain = self.vignetting(raw).gain
            values = luminance(linear(self.camera, raw.image))
            image = PreparedRaw(values, gain, self._sharpening, self._border, self._bands)
            self._prepared = [*self._prepared[1 - FRAMES_KEPT :], (raw, image)]
            return image

    @property
    def _sharpening(self) -> float:
        """Blur of bilinear sampling, and of the raw pixel (variance 1/12) beyond the TF pixel's own."""
        spacing = self.camera.tf_scale * self.geometry.rest_slope  # raw px between TF pixels
        return BILINEAR_BLUR + max(0.0, 1.0 - spacing * spacing) / 24.0

    def _focus_color(self, raw: RawFrame) -> NDArray[np.uint8] | None:
        values = (
            linear(self.camera, raw.image)
            if raw.image.ndim == 3 or self.camera.calibration.sensor.bayer
            else None
        )
        if values is None or values.ndim == 2:
            return None
        gain = self.vignetting(raw).gain
        channels = [
            self._focus(
                PreparedRaw(
                    np.ascontiguousarray(values[..., i]), gain, self._sharpening, self._border, self._bands
                ).sharp
            )
            for i in range(3)
        ]
        return np.stack([np.clip(np.rint(c), 0, 255).astype(np.uint8) for c in channels], axis=-1)
