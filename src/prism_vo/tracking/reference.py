# SPDX-License-Identifier: Apache-2.0
"""What frames are tracked against: pixels of one keyframe with their inverse depth, on every level of its pyramid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.compiled import njit
from prism_vo.optics.pinhole import Pinhole
from prism_vo.photometry import affine_of_target
from prism_vo.tracking.align import ReferencePixels
from prism_vo.tracking.brightness import Brightness, BrightnessReference, blurred, middle_level
from prism_vo.tracking.pyramid import depth_pyramid
from prism_vo.types import Frame, PosedFrame

BRIGHTNESS_LEVEL = 1  # pyramid level on which brightness is measured
BRIGHTNESS_PIXELS = 1500  # as many are enough
BORDER = 2  # px that interpolation and gradients want
_STEP_Y, _STEP_X = (1, -1, 0, 0), (0, 0, 1, -1)  # to the four neighbours of a pixel
DILATED_VARIANCE = 1.5  # of a neighbour's pixel, times that of the pixel whose depth it borrows


@dataclass(frozen=True)
class KeyframeDepth:
    """A keyframe of the map and what is known of the depth of its pixels."""

    id: int
    T_view_world: Array
    affine: Array  # (a, b)
    exposure: float
    plane: Pinhole
    image: Floats  # (h, w)
    inv_depth: Floats  # (h, w), NaN where unknown
    variance: Floats  # (h, w), inf where unknown


@dataclass(frozen=True)
class Reference:
    """A keyframe, ready to be aligned with."""

    keyframe: int  # id
    T_view_world: Array
    affine: Array
    exposure: float
    planes: list[Pinhole]  # one a level
    levels: list[ReferencePixels]
    light: BrightnessReference
    grey: float  # mean level of the image
    coarsest: Floats  # (h, w) of its pyramid

    @classmethod
    def of(cls, keyframe: KeyframeDepth, pyramid: list[Floats]) -> Reference:
        """The known pixels of the keyframe and of their neighbours, on every level."""
        dense, spread = dilate(keyframe.inv_depth, keyframe.variance)
        maps = depth_pyramid(dense, spread, len(pyramid))
        planes = [keyframe.plane.halved(level) for level in range(len(pyramid))]
        pixels = [reference_pixels(*each) for each in zip(planes, pyramid, maps)]
        light = _brightness_reference(
            planes[BRIGHTNESS_LEVEL], pyramid[BRIGHTNESS_LEVEL], maps[BRIGHTNESS_LEVEL]
        )
        return cls(
            keyframe.id,
            keyframe.T_view_world,
            keyframe.affine,
            keyframe.exposure,
            planes,
            pixels,
            light,
            middle_level(pyramid[-1]),
            pyramid[-1],
        )

    def place(self, frame: Frame, T_frame_ref: Array, brightness: Brightness) -> PosedFrame:
        """A frame that was aligned with this reference."""
        affine = affine_of_target(
            self.affine, self.exposure, brightness.gain, brightness.offset, frame.exposure
        )
        return PosedFrame(frame, se3.renormalised(T_frame_ref @ self.T_view_world), affine)


def reference_pixels(level: Pinhole, image: Floats, depth_map: tuple[Floats, Floats]) -> ReferencePixels:
    """The known pixels of a sparse depth map, with their intensity."""
    depth, variance = depth_map
    y, x = _known(variance)
    inside = (x >= BORDER) & (x < level.width - BORDER) & (y >= BORDER) & (y < level.height - BORDER)
    y, x = y[inside], x[inside]
    rays = level.rays(x, y)
    return ReferencePixels(
        rays[:, 0].astype(np.float32),
        rays[:, 1].astype(np.float32),
        depth[y, x],
        variance[y, x],
        image[y, x],
    )


def _known(variance: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of the pixels whose depth is known."""
    y, x = np.divmod(np.flatnonzero(variance < np.inf), variance.shape[1])
    return y, x


def _brightness_reference(
    level: Pinhole, image: Floats, depth_map: tuple[Floats, Floats]
) -> BrightnessReference:
    depth, variance = depth_map
    y, x = _known(variance)
    step = max(len(x) // BRIGHTNESS_PIXELS, 1)
    y, x = y[::step], x[::step]
    sigma = np.sqrt(variance[y, x].astype(np.float64))
    return BrightnessReference(level.rays(x, y), depth[y, x].astype(np.float64), blurred(image)[y, x], sigma)


@njit(nogil=True, cache=True)
def _dilate(inv_depth, variance, out, out_variance):  # type: ignore[no-untyped-def]
    """From the known pixels, which are few; a neighbour of two of them is computed twice, the same."""
    h, w = inv_depth.shape
    for y in range(h):
        for x in range(w):
            if not variance[y, x] < np.inf:
                continue
            for k in range(4):
                yy, xx = y + _STEP_Y[k], x + _STEP_X[k]
                if 0 < yy < h - 1 and 0 < xx < w - 1 and not variance[yy, xx] < np.inf:
                    _borrow(inv_depth, variance, yy, xx, out, out_variance)


@njit(nogil=True, cache=True)
def _borrow(inv_depth, variance, y, x, out, out_variance):  # type: ignore[no-untyped-def]
    """The mean of a pixel's known neighbours."""
    weight, total, worst = 0.0, 0.0, 0.0
    for k in range(4):
        yy, xx = y + _STEP_Y[k], x + _STEP_X[k]
        var = variance[yy, xx]
        if var < np.inf:
            weight += 1.0 / var
            total += inv_depth[yy, xx] / var
            worst = max(worst, var)
    out[y, x] = total / weight
    out_variance[y, x] = worst * DILATED_VARIANCE


def dilate(inv_depth: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Give the four neighbours of a known pixel its depth (less certain): more pixels to align with."""
    out, out_variance = inv_depth.copy(), variance.copy()
    _dilate(inv_depth, variance, out, out_variance)
    return out, out_variance
