# SPDX-License-Identifier: Apache-2.0
"""Bands of a lamp, seen in a single raw image.

A rolling shutter sees the flicker of a lamp as rows that are brighter and darker by a smooth factor g(y). Neighbouring
micro-images show the same point of the scene in different rows, so the ratio of its brightness in them is the ratio of
g there, whatever the scene looks like: ``log I_pl = log s_p + G(y_pl)`` for point p in lens l (docs/decoding.md). The
brightness s_p of every point is eliminated, G is a smooth curve, known up to a constant.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from prism_vo.arrays import Array, Floats, Integers, Mask
from prism_vo.lightfield.geometry import (
    IMAGE_X,
    IMAGE_Y,
    JACOBIAN_XX,
    JACOBIAN_YY,
    MEASURED_X,
    MEASURED_Y,
    STEREO_X,
    STEREO_Y,
    StereoGeometry,
)
from prism_vo.lightfield.sample_steps import STEPS_A_PIXEL
from prism_vo.linear.spline import bending, spline_basis
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.photometric import SATURATION, linear

POINTS = 1200  # of the scene that are looked at
ABOUT = ((0, 0), (2, 0), (-2, 0), (0, 2), (0, -2))  # TF px about each, at the same depth
RIM = 1.0  # px of a micro-image that are left out: interpolation mixes what lies beyond
LEAST_LEVEL = 3.0  # grey levels: what is darker is noise
LEAST_SAMPLES = 1000  # to say anything
PIECES = 12  # of the curve over the height: several periods of a lamp
STIFFNESS = 1e-4  # of the information of one piece: rows that show nothing follow their neighbours
FIXED = 1e-6, 1e-9  # of the same: a constant, which nothing asks for, and what is not seen at all
ROUNDS = 5  # of reweighting
ROBUST = 2.0  # robust σ beyond which a sample counts less
ROBUST_SIGMA = 1.4826
# RMS over the rows without its straight part: micro-images that are brighter above than below look like a ramp.
# Simulated frames without bands show 0.2 to 1.5 %, one of 130 shows 2.5 %
LEAST_SPREAD = 0.02
# A lamp lights whole rows and no columns: what the same curve over the columns shows, and what the left and the right
# half of the image do not agree on, is something else. Bands of ± 15 % have at least 7 and 4.3 times as much, frames
# without bands above the least spread at most 2.3 times one of them
OVER_COLUMNS = 3.5
OVER_HALVES = 3.5


class SamePoints(NamedTuple):
    """Points of the scene as single micro-images show them, in the order of the points; all (N,) but the last."""

    point: Integers
    x: Array  # raw px
    y: Array
    level: Array  # grey, without vignetting
    shape: tuple[int, int]  # of the raw image

    def where(self, which: Mask) -> SamePoints:
        """Some of them."""
        return SamePoints(self.point[which], self.x[which], self.y[which], self.level[which], self.shape)

    def turned(self) -> SamePoints:
        """Rows and columns exchanged."""
        return SamePoints(self.point, self.y, self.x, self.level, self.shape[::-1])


def point_grid(width: int, height: int) -> Array:
    """About POINTS TF pixels (N, 2), spread evenly."""
    step = max(1.0, float(np.sqrt(width * height / POINTS)))
    x, y = np.meshgrid(np.arange(step / 2, width - 1, step), np.arange(step / 2, height - 1, step))
    return np.rint(np.stack([x.ravel(), y.ravel()], axis=-1))


def same_points(
    geometry: StereoGeometry, pixels: Floats, border: int, points: Array, slopes: Array
) -> SamePoints:
    """Look points (TF px, with their stereo slopes) up in every micro-image that shows them.

    ``pixels``: what the matcher reads, padded by ``border`` raw px, negative where it must not be used.
    """
    lenses, scale, sensor = geometry.lenses, geometry.camera.tf_scale, geometry.camera.calibration.sensor
    known = np.isfinite(slopes)
    slopes, at = slopes[known], scale * (points[known] + 0.5) - 0.5
    tree = cKDTree(lenses[:, [STEREO_X, STEREO_Y]])
    seen_by = tree.query_ball_point(at, geometry.radius / slopes, return_sorted=True) if len(at) else []
    point = np.repeat(np.arange(len(at)), [len(found) for found in seen_by])
    near = lenses[np.array([n for found in seen_by for n in found], np.intp)]
    parts = []
    for n, beside in enumerate(ABOUT):
        target = at[point] + scale * np.asarray(beside)
        raw, level = _look_up(near, target, slopes[point], geometry.radius - RIM, pixels, border)
        good = level > LEAST_LEVEL
        parts.append((point[good] * len(ABOUT) + n, raw[good, 0], raw[good, 1], level[good]))
    number, x, y, levels = (np.concatenate(column) for column in zip(*parts))
    order = np.argsort(number, kind="stable")
    shape = sensor.height, sensor.width
    return SamePoints(number[order].astype(np.int32), x[order], y[order], levels[order], shape)


def _look_up(
    lenses: Array, target: Array, slope: Array, radius: float, pixels: Floats, border: int
) -> tuple[Array, Array]:
    """Raw px (N, 2) and grey level (N,) of a place of the TF image in one lens each; −1: the lens does not show it."""
    stereo = lenses[:, [STEREO_X, STEREO_Y]]
    from_centre = stereo + (target - stereo) * slope[:, None] - lenses[:, [IMAGE_X, IMAGE_Y]]
    jacobian = lenses[:, JACOBIAN_XX : JACOBIAN_YY + 1].reshape(-1, 2, 2)
    raw = lenses[:, [MEASURED_X, MEASURED_Y]] + np.einsum("nij,nj->ni", jacobian, from_centre)
    column, row = np.rint(STEPS_A_PIXEL * (raw + border)).astype(np.intp).T
    height, width = pixels.shape
    inside = (from_centre**2).sum(1) < radius**2
    inside &= (column >= 0) & (row >= 0) & (column < width) & (row < height)
    level = np.full(len(raw), -1.0)
    level[inside] = pixels[row[inside], column[inside]]
    return raw, level


def row_curve(seen: SamePoints) -> Array | None:
    """G (rows,) about its mean; None: too little is seen. Robust least squares, every point with its own level."""
    if len(seen.point) < LEAST_SAMPLES:
        return None
    rows = seen.shape[0]
    basis = spline_basis((seen.y + 0.5) / rows, PIECES)
    new = np.diff(seen.point, prepend=-1) > 0
    first, number, count = np.flatnonzero(new), np.cumsum(new) - 1, basis.shape[1]
    both, full = (
        np.column_stack([basis, np.log(seen.level)]),
        seen.level**2,
    )  # noise is the same in grey levels
    constant, unseen = FIXED
    little = STIFFNESS * bending(count) + constant * np.ones((count, count)) + unseen * np.eye(count)
    coefficients, weight = np.zeros(count), full
    for _ in range(ROUNDS):
        total = np.add.reduceat(weight, first)[:, None]
        apart = both - (np.add.reduceat(both * weight[:, None], first) / total)[number]
        weighted = (apart[:, :count] * weight[:, None]).T
        h = weighted @ apart[:, :count]
        coefficients = np.linalg.solve(h + np.trace(h) / count * little, weighted @ apart[:, count])
        residual = (apart[:, count] - apart[:, :count] @ coefficients) * seen.level
        scale = ROBUST * ROBUST_SIGMA * float(np.median(np.abs(residual))) + 1e-3
        weight = full / (1.0 + (residual / scale) ** 2) ** 2
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
