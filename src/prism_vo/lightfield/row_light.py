# SPDX-License-Identifier: Apache-2.0
"""Bands of a lamp, seen in a single raw image.

A rolling shutter sees the flicker of a lamp as rows that are brighter and darker by a smooth factor g(y). Neighbouring
micro-images show the same point of the scene in different rows, so the ratio of its brightness in them is the ratio of
g there, whatever the scene looks like: ``log I_pl = log s_p + G(y_pl)`` for point p in lens l (docs/decoding.md).
G is a smooth curve, known up to a constant.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.lightfield.same_points import SamePoints, fit_levels
from prism_vo.linear.spline import bending, spline_basis
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.photometric import SATURATION, linear

RIM = 1.0  # px of a micro-image that are left out: interpolation mixes what lies beyond
PIECES = 12  # of the curve over the height: several periods of a lamp
STIFFNESS = 1e-4  # of the information of one piece: rows that show nothing follow their neighbours
FIXED = 1e-6, 1e-9  # of the same: a constant, which nothing asks for, and what is not seen at all
# RMS over the rows without its straight part: micro-images that are brighter above than below look like a ramp.
# Simulated frames without bands show 0.2 to 1.5 %, one of 130 shows 2.5 %
LEAST_SPREAD = 0.02
# A lamp lights whole rows and no columns: what the same curve over the columns shows, and what the left and the right
# half of the image do not agree on, is something else. Bands of ± 15 % have at least 7 and 4.3 times as much, frames
# without bands above the least spread at most 2.3 times one of them
OVER_COLUMNS = 3.5
OVER_HALVES = 3.5


def row_curve(seen: SamePoints) -> Array | None:
    """G (rows,) about its mean; None: too little is seen."""
    seen = seen.where(seen.from_rim > RIM)
    if not seen.are_enough:
        return None
    rows = seen.shape[0]
    basis = spline_basis((seen.y + 0.5) / rows, PIECES)
    constant, unseen = FIXED
    count = basis.shape[1]
    little = STIFFNESS * bending(count) + constant * np.ones((count, count)) + unseen * np.eye(count)
    coefficients, _ = fit_levels(seen, basis, little)
    curve = spline_basis((np.arange(rows) + 0.5) / rows, PIECES) @ coefficients
    return np.asarray(curve - curve.mean())


def is_uneven(curve: Array) -> bool:
    """Whether rows differ by more than what depths and vignetting feign."""
    return bent(curve) > LEAST_SPREAD


def is_lamp(curve: Array, seen: SamePoints) -> bool:
    """Whether a curve of uneven rows is that of a lamp: columns are even, and both halves of the image say the same."""
    columns = row_curve(seen.turned())
    left = seen.x < seen.shape[1] / 2
    halves = [row_curve(seen.where(half)) for half in (left, ~left)]
    if columns is None or halves[0] is None or halves[1] is None:
        return False
    apart = bent(halves[0] - halves[1]) / 2
    return bent(curve) > max(OVER_COLUMNS * bent(columns), OVER_HALVES * apart)


def bent(curve: Array) -> float:
    """RMS of a curve without its straight part."""
    ramp = np.linspace(-1.0, 1.0, len(curve))
    middle = curve - curve.mean()
    return float((middle - ramp * float(middle @ ramp) / float(ramp @ ramp)).std())


def even_rows(camera: PlenopticCamera, image: NDArray[Any], curve: Array) -> Floats:
    """A raw image as if all rows had the same light, 0–255; what is saturated stays so."""
    shape = (-1,) + (1,) * (image.ndim - 1)
    values = image.astype(np.float32) / np.float32(257.0 if image.dtype == np.uint16 else 1.0)
    gamma = camera.calibration.response.gamma  # light is what the file has, to this power
    evened = values * np.exp(-curve / gamma).astype(np.float32).reshape(shape)
    return np.where(linear(camera, image) >= SATURATION, values, evened).astype(np.float32)
