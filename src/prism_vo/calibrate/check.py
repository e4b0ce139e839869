# SPDX-License-Identifier: Apache-2.0
"""Does this camera fit these images? In numbers, from any raw images, without truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.calibrate.fit import GridFit, fit_grid
from prism_vo.calibrate.grid import CLASS_COUNT, Grid, GridUncertainError
from prism_vo.calibrate.lens_classes import LensClassSharpness, lens_type_sharpness
from prism_vo.calibrate.lens_order import see_lens_order
from prism_vo.calibrate.micro_image import MicroImageProfile, micro_image_profile, rim_beyond_lens
from prism_vo.calibrate.slopes import SlopeCheck, check_slopes
from prism_vo.errors import PrismError
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.mla import MicroLensArray
from prism_vo.optics.photometric import vignetting_from_white

MOST_IMAGES = 5
LARGE_IMAGE = 10_000_000  # px: beyond it two images are enough to look at
TOLERATED_PX = 0.15  # RMS over zones of an offset: stereo slopes are pitches over disparities of a few pixels
SURE = 3.0  # standard deviations
MOST_BEYOND = 0.05  # share of slopes that no depth explains
# share of the points looked at that can be matched: right recordings have 0.15 (a street beneath a bare sky) to 1, a
# grid of another camera 0.02 and 0.03
LEAST_MATCHED = 0.06
RIM_MISFIT = 0.08  # of the pitch, by which the usable circle may reach beyond the rim of a micro-image


@dataclass(frozen=True)
class CameraCheck:
    """What raw images say about the camera file they are decoded with."""

    grid: GridFit | None
    refusal: str | None  # why there is no grid
    kinds: LensClassSharpness | None
    types_seen: tuple[float, ...] | None  # focuses by class, if they stand in another order than in the file
    types_agree: bool  # whether the images show the order of the file
    profile: MicroImageProfile | None
    slopes: SlopeCheck | None
    usable_radius: float  # px, of the camera file
    white_fault: str | None = None  # why the white image cannot be used
    one_kind: bool = False  # the camera file has one kind of lenses

    @property
    def offsets(self) -> Array:
        """Fitted minus predicted centre (Z, 2) by zone, raw px; NaN where no grid was found."""
        if self.grid is None:
            return np.full((1, 2), np.nan)
        centre = self.grid.zones.centre
        return self.grid.grid.points(self.grid.start.cells(centre)) - centre

    @property
    def offset_rms(self) -> float:
        """Root mean square over zones of the distance between fitted and predicted centres, raw px."""
        return float(np.sqrt(self._squared_offsets().mean()))

    @property
    def largest_offset(self) -> float:
        """The largest of them, raw px."""
        return float(np.sqrt(self._squared_offsets().max()))

    def _squared_offsets(self) -> Array:
        squared = (self.offsets**2).sum(-1)
        known = squared[np.isfinite(squared)]
        return known if len(known) else np.full(1, np.nan)

    def problems(self) -> list[str]:
        """One sentence each; none: the file fits as far as images can tell."""
        return [
            sentence
            for sentence in (
                self._grid_problem(),
                self._rim_problem(),
                self._type_problem(),
                self._slope_problem(),
                self.white_fault,
            )
            if sentence is not None
        ]

    def measured(self) -> tuple[list[str], list[str]]:
        """What the images told, and what they did not tell."""
        same = self.kinds is None or (self.one_kind and self.kinds.kinds == 1)
        looked_at = {
            "grid": self.grid is not None,
            "rim": self.profile is not None and self.profile.radius is not None,
            "lens types": same or self.types_agree or self.types_seen is not None,
            "slopes": self.slopes is not None,
        }
        return [k for k, on in looked_at.items() if on], [k for k, on in looked_at.items() if not on]

    def _grid_problem(self) -> str | None:
        if self.grid is None:
            return f"The micro-lens grid of the camera file was not found in these images: {self.refusal}"
        if self.offset_rms < max(TOLERATED_PX, SURE * self.grid.centre_sigma):
            return None
        return (
            f"The micro-lens grid lies {self.offset_rms:.2f} px (RMS, at the most {self.largest_offset:.2f} px) beside "
            f"the micro-images, pitch {100 * self.grid.pitch_error:+.3f} %, so depth is biased: correct it with "
            "`prism-vo calibrate grid`."
        )

    def _rim_problem(self) -> str | None:
        if self.grid is None or self.profile is None or self.profile.radius is None:
            return None
        beyond = rim_beyond_lens(self.profile, self.grid.grid)
        if beyond is not None:
            return beyond
        if self.usable_radius < self.profile.radius + RIM_MISFIT * self.grid.grid.pitch:
            return None
        return (
            f"Micro-images end {self.profile.radius:.1f} px from their centres, but the camera file uses "
            f"{self.usable_radius:.1f} px of them: raise mla.border_px."
        )

    def _type_problem(self) -> str | None:
        if self.types_seen is None:
            return None
        focus = ", ".join(f"{v:.3g}" for v in self.types_seen)
        return (
            "The lens types stand in another order than the camera file says: "
            f"focus_virtual_depth of mla.lens_types should read {focus}."
        )

    def _slope_problem(self) -> str | None:
        if self.slopes is None:
            return None
        if self.slopes.matched < LEAST_MATCHED:
            return (
                f"Only {100 * self.slopes.matched:.0f} % of the points looked at can be matched: the grid is not that "
                "of these images, or they show hardly any texture."
            )
        if self.slopes.beyond < MOST_BEYOND:
            return None
        return (
            f"{100 * self.slopes.beyond:.0f} % of the measured slopes lie beyond infinity: focal length, array "
            "distance or focus of the camera file are not those of these images."
        )


def check_camera(
    camera: PlenopticCamera, images: Sequence[NDArray[Any]], white: NDArray[Any] | None = None
) -> CameraCheck:
    """Look at a few raw images (H, W) or (H, W, 3); more and more different ones show more."""
    most = MOST_IMAGES if images[0].shape[0] * images[0].shape[1] < LARGE_IMAGE else 2
    images = [
        images[k] for k in np.unique(np.linspace(0, len(images) - 1, min(most, len(images))).astype(int))
    ]
    start = Grid.of(camera.calibration.mla)
    array = MicroLensArray.of(camera)
    fault = None if white is None else white_fault(camera, array, white)
    white = white if fault is None else None
    try:
        grid = fit_grid(images, start)
    except GridUncertainError as error:
        return CameraCheck(None, str(error), None, None, False, None, None, array.usable_radius, fault)
    slopes = check_slopes(camera, images[len(images) // 2], white)
    kinds = lens_type_sharpness(images, grid.grid)
    focus = tuple(t.focus_virtual_depth for t in camera.calibration.mla.lens_types)
    seen = _types_seen(camera, focus, [images[0], images[-1]])
    other, profile = None if seen == focus else seen, micro_image_profile(images, grid.grid)
    return CameraCheck(
        grid,
        None,
        kinds,
        other,
        seen == focus,
        profile,
        slopes,
        array.usable_radius,
        fault,
        len(focus) == 1,
    )


def white_fault(camera: PlenopticCamera, array: MicroLensArray, white: NDArray[Any]) -> str | None:
    """Why a run would refuse this white image."""
    try:
        vignetting_from_white(camera, array, white, camera.calibration.sensor.bayer)
    except PrismError as error:
        return str(error)
    return None


def _types_seen(
    camera: PlenopticCamera, focus: tuple[float, ...], images: Sequence[NDArray[Any]]
) -> tuple[float, ...] | None:
    """Focuses (virtual depths) by lens class as the images show them; None where they do not show an order."""
    if len(focus) != CLASS_COUNT:
        return None
    order = see_lens_order(images, camera.calibration)
    return None if order is None or not order.clear else order.focus_by_class(focus)
