# SPDX-License-Identifier: Apache-2.0
"""The light-field decoder: three speeds over one raw image, the same numbers from each."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import NoneType
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from prism_vo.arrays import Array, Floats, Mask
from prism_vo.config import DecodeConfig
from prism_vo.config_file import check_kinds
from prism_vo.errors import expect
from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.focus import FocusTable
from prism_vo.lightfield.geometry import StereoGeometry, raw_border
from prism_vo.lightfield.grid_watch import GridMemory, GridWatch, is_shaded_otherwise
from prism_vo.lightfield.kept_images import KeptImages, is_large
from prism_vo.lightfield.learning import LightLearning, LightMemory
from prism_vo.lightfield.light import RawLight
from prism_vo.lightfield.matcher import Matcher, transmission_fall
from prism_vo.lightfield.mosaic import LOST_AT_RIM, PreparedMosaic
from prism_vo.lightfield.paint import COLOUR_STEP, painted
from prism_vo.lightfield.raw import BILINEAR_BLUR, PIXEL_BLUR, PreparedRaw
from prism_vo.lightfield.records import MatchingImage
from prism_vo.lightfield.refocus import FocusSlope, look_grid
from prism_vo.lightfield.row_light import even_rows, is_lamp, is_uneven, row_curve
from prism_vo.lightfield.same_points import SamePoints, point_grid, same_points
from prism_vo.lightfield.variance import SPREAD_POWER, SampleNoise
from prism_vo.optics.camera import LOADING, PlenopticCamera
from prism_vo.optics.field import flattened, is_bent
from prism_vo.optics.mosaic import channels_of
from prism_vo.optics.photometric import Vignetting
from prism_vo.sensor import Sensor
from prism_vo.types import DecodedFrame, PointDepth, RawFrame

TABLES_KEPT = 16  # focus tables: one a slope, and one for its colour
FRAME = "an image becomes one with RawFrame(index, time, image)"
# times that the variance of a depth counts, whose matching window saturates somewhere: which lenses can still be used
# there depends on the texture itself, and depths come out too far, by 1e-4 to 4e-4; or whose fall-off is not known
DOUBT = 16.0
LEAST_SATURATED = 1e-3  # share of a TF pixel's light


class Learned(NamedTuple):
    """What was learnt once from the first frames."""

    light: LightMemory
    noise: SampleNoise | None
    grid: GridMemory


class Decoder(Sensor):
    """Raw plenoptic images → totally focused (TF) images and inverse virtual depth with variance.

    ``white`` is the image of an evenly lit target; without it vignetting is learnt from the first frame that shows it.
    """

    def __init__(
        self,
        camera: PlenopticCamera,
        config: DecodeConfig | None = None,
        white: NDArray[np.generic] | None = None,
    ) -> None:
        expect(camera, PlenopticCamera, "camera", LOADING)
        expect(config, (DecodeConfig, NoneType), "config", "it is the part decode of a Config")
        self.config = config or DecodeConfig()
        check_kinds(self.config, prefix="decode.")
        self.camera = camera
        self.geometry = StereoGeometry.of(camera, self.config)
        self.view = self.geometry.view  # everything is decoded on it
        self._bands = Bands(self.config.threads)
        self._light = RawLight(camera, self.geometry.array, white)
        self.light_learning = LightLearning(self._light, self.same_points, self._geometry_for, self._forget)
        self._seen: tuple[RawFrame, SamePoints] | None = None
        self._border = raw_border(self.geometry)
        self._images = KeptImages(self._light, self._border, self._bands)
        self._matcher = Matcher(self.geometry, self.config, self._bands)
        smaller = replace(self.geometry, radius=self.geometry.radius - LOST_AT_RIM)
        self._mosaic_matcher = Matcher(smaller, self.config, self._bands)
        self._focus_slope = FocusSlope(self.geometry.rest_slope, self.geometry.radius)
        self._focus_tables: dict[tuple[float, int], FocusTable] = {}
        self._look_grid = look_grid(self.view.width, self.view.height)
        self._noise: SampleNoise | None = None
        self._is_bent = is_bent(camera)
        sensor = camera.calibration.sensor
        self.grid_watch = GridWatch(self.geometry.array, sensor.width, sensor.height)

    variance_power = SPREAD_POWER
    least_depth_share = 0.1  # of pure noise 0.02 to 0.04 seem to have a depth

    def memory(self) -> tuple[float, int | None, float]:
        """The slope in use, when it was looked at, and how many matches the scene has shown."""
        return self._focus_slope.state

    def rest(self) -> None:
        """Prepared images go; of an R32 they are 600 MB, just when a run's end wants room of its own."""
        self._images.rest()

    def learned(self) -> Learned:
        """The light on the sensor, its noise, and where the micro-images lie."""
        return Learned(self.light_learning.memory, self._noise, self.grid_watch.memory)

    def unlearn(self) -> None:
        """The noise of a frame without depth is not that of the recording: with it no later frame would have any."""
        self._noise = None

    def remember(self, memory: tuple[float, int | None, float], learned: Learned) -> None:
        """Go on as if those frames had been seen."""
        self._focus_slope.state = memory
        self.light_learning.memory, self._noise, self.grid_watch.memory = learned

    def remarks(self) -> list[str]:
        """On a white image that is not that of the recording."""
        if not self.light_learning.white_is_off:
            return []
        return [
            f"The white image does not fit the recording: inside the micro-images light differs by "
            f"{100 * self.light_learning.white_is_off:.0f} % (RMS) from what it shows, and was taken from the frames "
            "instead; take a white image with the lens, aperture and focus of the recording."
        ]

    def problem(self, raw: RawFrame) -> str | None:
        """Frames whose micro-images lie elsewhere would be decoded to false depths."""
        moved = self.grid_watch.shift(raw.image)
        if moved == 0.0:
            return None
        return f"micro-images lie {moved:.1f} px beside those of the first frames: the sensor or its crop has moved."

    def shading(self, raw: RawFrame) -> float:
        """How strongly light falls off inside the micro-images, compared with the first frames."""
        return self.grid_watch.shading(raw.image)

    def begins_anew(self) -> bool:
        """A few first frames whose micro-images lay elsewhere were decoded to false depths."""
        return self.grid_watch.replaced

    def __repr__(self) -> str:
        return f"Decoder({self.camera!r}, {self.view.name} view {self.view.width} × {self.view.height})"

    def focus(self, raw: RawFrame) -> DecodedFrame:
        """The TF image alone (h, w), in milliseconds: depth is looked at every few frames, at a few points."""
        expect(raw, RawFrame, "raw", FRAME)
        with self._images.room_for(raw):
            slope = self._focus_slope.of(raw.index, lambda: self._slopes(raw))
            image = self._focused(self._to_focus(raw), slope)
        return self._frame(raw, slope, image, None, None, None)

    def look(self, raw: RawFrame) -> None:
        """Only what later frames depend on, without decoding this one: its light, and at which depth to focus."""
        self.vignetting(raw)
        self._focus_slope.of(raw.index, lambda: self._slopes(raw))

    def without_bands(self, raw: RawFrame, focused: DecodedFrame) -> tuple[RawFrame, DecodedFrame] | None:
        """The frame with evenly lit rows and its TF image at the slope of ``focused``; None: it cannot tell."""
        seen = self.same_points(raw)
        curve = row_curve(seen)
        if curve is None or not is_uneven(curve):
            return None if curve is None else (raw, focused)
        if not is_lamp(curve, seen):
            return None
        evened = replace(raw, image=even_rows(self.camera, raw.image, curve))
        again = row_curve(self.same_points(evened))  # uneven rows bend the depths by which they are compared
        if again is not None:
            evened = replace(raw, image=even_rows(self.camera, raw.image, curve + again))
        slope = self.geometry.rest_slope if focused.slope is None else focused.slope
        image = self._focused(self.prepare(evened), slope)
        return evened, self._frame(evened, slope, image, None, None, None)

    def same_points(self, raw: RawFrame) -> SamePoints:
        """Points of the scene in all micro-images that show them; kept for the last frame."""
        kept = self._seen
        if kept is not None and kept[0] is raw:
            return kept[1]
        image, matcher = self.matching_image(raw), self._matcher_for(raw)
        points = point_grid(self.view.width, self.view.height)
        slopes = np.asarray(matcher.points(image, points).slope, np.float64)
        seen = same_points(matcher.geometry, image.pixels, self._border, points, slopes)
        self._seen = raw, seen
        return seen

    def focus_at(self, raw: RawFrame, slope: float) -> Floats:
        """The TF image (h, w) for things at one stereo slope: what lies elsewhere is doubled."""
        expect(raw, RawFrame, "raw", FRAME)
        return self._focused(self.prepare(raw), slope)

    def measure(self, raw: RawFrame, points: ArrayLike) -> PointDepth:
        """Inverse virtual depth and its variance at TF pixels (N, 2) (x, y), whole or fractional."""
        expect(raw, RawFrame, "raw", FRAME)
        with self._images.room_for(raw):
            return self._measured(raw, np.ascontiguousarray(np.asarray(points, np.float64).reshape(-1, 2)))

    def _measured(self, raw: RawFrame, xy: Array) -> PointDepth:
        image, matcher = self.matching_image(raw), self._matcher_for(raw)
        found = matcher.points(image, xy)
        rho, variance, valid = matcher.judge(found, self.noise(raw), image.fall)
        doubt = self._doubt(raw)
        if doubt is not None:
            x, y = np.rint(xy).T  # half a pixel beyond the last one is still in view
            row, column = np.clip(y, 0, doubt.shape[0] - 1), np.clip(x, 0, doubt.shape[1] - 1)
            variance = variance * doubt[row.astype(np.intp), column.astype(np.intp)]
        if self._is_bent:
            rho, variance = flattened(self.camera, xy, rho, variance)
        if is_large(raw):  # its image for matching has 500 MB, and hardly any frame is measured in twice
            self.prepare(raw).forget_matching()
        return PointDepth(rho.astype(np.float32), variance.astype(np.float32), valid)

    def _doubt(self, raw: RawFrame) -> Array | None:
        """Factor on variances (h, w): DOUBT where a window saturates, or all of a frame that is shaded otherwise."""
        shaded = DOUBT if is_shaded_otherwise(self.shading(raw)) else 1.0
        saturated = self.prepare(raw).saturated()
        if saturated is None:
            return None if shaded == 1.0 else np.full((self.view.height, self.view.width), shaded)
        seen = (self._focus_table(self.geometry.rest_slope)(saturated) > LEAST_SATURATED).astype(np.uint8)
        side = 2 * int(np.ceil(self._matcher.reach / self.camera.tf_scale)) + 1
        near = np.asarray(cv2.dilate(seen, np.ones((side, side), np.uint8))) > 0
        return np.where(near, DOUBT, shaded)

    def dense(self, raw: RawFrame) -> DecodedFrame:
        """TF image and the semi-dense map of inverse virtual depth with variance."""
        expect(raw, RawFrame, "raw", FRAME)
        slope = self._focus_slope.of(raw.index, lambda: self._slopes(raw))
        focused = self._focused(self.prepare(raw), slope)
        image, matcher = self.matching_image(raw), self._matcher_for(raw)
        found = matcher.everywhere(image)
        rho, variance, valid = matcher.judge(found, self.noise(raw), image.fall)
        doubt = self._doubt(raw)
        variance = variance if doubt is None else variance * doubt
        if self._is_bent:
            y, x = np.mgrid[: self.view.height, : self.view.width]
            rho, variance = flattened(self.camera, np.stack([x, y], -1), rho, variance)
        maps = rho.astype(np.float32, copy=False), variance.astype(np.float32, copy=False), valid
        return self._frame(raw, slope, focused, *maps)

    def noise(self, raw: RawFrame) -> SampleNoise:
        """Of a sample without texture: estimated from the first frame seen."""
        if self._noise is None:
            self._noise = self._matcher_for(raw).estimate_noise(self.matching_image(raw))
        return self._noise

    def matching_image(self, raw: RawFrame) -> MatchingImage:
        """What the matcher reads of a frame."""
        fall = transmission_fall(self.vignetting(raw), self._geometry_for(raw).radius)
        return MatchingImage(self._images.to_match(raw), fall)

    def vignetting(self, raw: RawFrame) -> Vignetting:
        """Of the white image, or estimated from the first frame that shows it."""
        self.light_learning.see(raw)
        return self._light.of(raw).vignetting

    def _forget(self, raw: RawFrame) -> None:
        """What was made of a frame in another light."""
        self._images.forget(raw)
        self._seen = None

    def prepare(self, raw: RawFrame) -> PreparedRaw:
        """Luminance without vignetting, made once a frame and kept for the last frames."""
        self.light_learning.see(raw)
        return self._images.prepare(raw)

    def _to_focus(self, raw: RawFrame) -> PreparedRaw:
        self.light_learning.see(raw)
        return self._images.to_focus(raw)

    def _frame(
        self,
        raw: RawFrame,
        slope: float,
        image: Floats,
        inv_virtual_depth: Floats | None,
        variance: Floats | None,
        valid: Mask | None,
    ) -> DecodedFrame:
        """Colour is made when somebody looks at it: tracking does not."""
        in_colour = raw.image.ndim == 3 or self._is_mosaic(raw)
        return DecodedFrame(
            raw.index,
            raw.time,
            self.view,
            image,
            inv_virtual_depth,
            variance,
            valid,
            raw.exposure,
            partial(self._picture, raw, slope, image) if in_colour else None,
            slope,
        )

    def _is_mosaic(self, raw: RawFrame) -> bool:
        self.light_learning.see(raw)
        return self._light.of(raw).pattern is not None

    def _matcher_for(self, raw: RawFrame) -> Matcher:
        return self._mosaic_matcher if self._is_mosaic(raw) else self._matcher

    def _geometry_for(self, raw: RawFrame) -> StereoGeometry:
        return self._matcher_for(raw).geometry

    def _slopes(self, raw: RawFrame) -> NDArray[np.floating]:
        """Stereo slopes at a few points of the image, NaN without a match."""
        return self._matcher_for(raw).points(self.matching_image(raw), self._look_grid).slope

    def _focused(self, prepared: PreparedRaw, slope: float) -> Floats:
        """TF image at one slope; sharpened for the blur of bilinear sampling and of the raw pixel beyond the TF one."""
        spacing = self.camera.tf_scale * slope  # raw px between TF pixels
        sharp = prepared.sharpened(BILINEAR_BLUR + PIXEL_BLUR * max(0.0, 1.0 - spacing * spacing))
        return self._focus_table(slope)(sharp, prepared.lit())

    def _focus_table(self, slope: float, step: int = 1) -> FocusTable:
        table = self._focus_tables.get((slope, step))
        if table is None:
            table = FocusTable(self.geometry, self._bands, slope, step)
            newest = list(self._focus_tables.items())[1 - TABLES_KEPT :]
            self._focus_tables = {**dict(newest), (slope, step): table}
        return table

    def _picture(self, raw: RawFrame, slope: float, image: Floats) -> NDArray[np.uint8]:
        """The focused image in colour (h, w, 3)."""
        prepared, known = self.prepare(raw), self._light.of(raw)
        if isinstance(prepared, PreparedMosaic) and known.pattern is not None:
            table, channels = self._focus_table(slope, COLOUR_STEP), channels_of(known.pattern)
            return painted(prepared, table, image, channels, known.site_gains, self._bands)
        parts = self._light.channels(raw, self._border, self._bands)
        focused = [self._focused(part, slope) for part in parts]
        return np.stack([np.clip(np.rint(c), 0, 255).astype(np.uint8) for c in focused], axis=-1)
