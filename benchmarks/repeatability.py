# SPDX-License-Identifier: Apache-2.0
"""How far depth measured twice differs, in units of its stated σ: no ground truth is needed.

Points of one frame are found in another by optical flow of the focused images, not through their own depth: a depth
that is uncertain by a tenth would miss the point by pixels. What the second frame should measure there follows from the
depth in the first one and the estimated motion. A wrong camera (nominal optics) leaves a smooth difference, which is a
matter of calibration, not of σ: it is stated once with and once without a quadratic function of image position and
mean inverse virtual depth around (10 numbers for some 100,000 points).
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Mask
from prism_vo.optics.camera import FocusedView
from prism_vo.types import DecodedFrame

CONSISTENT_PX = 1.0  # flow there and back must end where it began
STEP = 1e-4  # of ρ_v, for the derivative of the prediction
PASSES, SOFT = 6, 1.5  # of the robust fit of the smooth part; residuals beyond SOFT σ count less
SURROUNDINGS = (41, 41)  # px: much wider than what a measurement looks at
FIFTHS = 5
FEWEST_POINTS = 1000  # of a pair


@dataclass(frozen=True)
class Differences:
    """Measured minus predicted ρ_v of points seen in two frames, and the σ of that."""

    difference: Array  # (N,)
    sigma: Array  # (N,): of both measurements together
    smooth: Array  # (N,): the part of the difference that is smooth over the image and over depth


@dataclass(frozen=True)
class Spread:
    """Robust scatter of difference/σ: 1 where σ holds, more where it is too sure."""

    overall: float
    by_fifths: tuple[float, ...]  # most certain points first


def compare(
    first: DecodedFrame, second: DecodedFrame, T_second_first: Array, view: FocusedView
) -> Differences | None:
    """Compare the depth of two frames with dense maps; poses of the camera. None where too little is seen twice."""
    assert first.valid is not None and first.inv_virtual_depth is not None and first.variance is not None
    assert second.valid is not None and second.inv_virtual_depth is not None and second.variance is not None
    y, x = np.nonzero(first.valid)
    rho = first.inv_virtual_depth[y, x].astype(np.float64)
    pixels = np.stack([x, y], -1)
    expected = _expected(pixels, rho, T_second_first, view)
    slope = (_expected(pixels, rho + STEP, T_second_first, view) - expected) / STEP
    column, row, seen = _found_again(first, second, x, y)
    seen &= second.valid[row, column] & np.isfinite(expected) & np.isfinite(slope)
    if seen.sum() < FEWEST_POINTS:
        return None
    variance = slope**2 * first.variance[y, x] + second.variance[row, column]
    difference = (second.inv_virtual_depth[row, column] - expected)[seen]
    sigma = np.sqrt(variance[seen])
    place = np.stack([x, y, _depth_around(first)[y, x]], -1)[seen]
    return Differences(difference, sigma, _smooth_part(difference, sigma, place))


def spread(ratio: Array, sigma: Array) -> Spread:
    """Scatter (1.4826 times the median absolute deviation) of ratios (N,), overall and by fifths of σ."""
    fifths = np.array_split(np.argsort(sigma), FIFTHS)
    return Spread(_scatter(ratio), tuple(_scatter(ratio[part]) for part in fifths))


def _scatter(values: Array) -> float:
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


def _expected(pixels: Array, rho: Array, T_second_first: Array, view: FocusedView) -> Array:
    """ρ_v (N,) that the second frame should measure of points with ρ_v ``rho`` at pixels (N, 2) of the first."""
    inv_depth = view.inv_depth_from_virtual(rho)
    with np.errstate(divide="ignore", invalid="ignore"):
        points = view.unproject(pixels, view.depth_of(np.where(inv_depth > 0, inv_depth, np.nan)))
        depth = se3.transform(T_second_first, points)[..., 2]
        expected = view.inv_virtual_depth(view.inv_depth_of(depth))
    return np.asarray(np.where(depth > view.z0, expected, np.nan))


def _found_again(first: DecodedFrame, second: DecodedFrame, x: Array, y: Array) -> tuple[Array, Array, Mask]:
    """Nearest pixels (column, row) of the second frame, and where the flow back agrees."""
    images = [np.clip(np.rint(f.image), 0, 255).astype(np.uint8) for f in (first, second)]
    flow = cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    there, back = flow.calc(images[0], images[1], None), flow.calc(images[1], images[0], None)
    height, width = images[0].shape
    column, row = np.rint(x + there[y, x, 0]).astype(int), np.rint(y + there[y, x, 1]).astype(int)
    inside = (column >= 0) & (row >= 0) & (column < width) & (row < height)
    column, row = np.where(inside, column, 0), np.where(inside, row, 0)
    missed = there[y, x] + back[row, column]
    return column, row, inside & (np.hypot(missed[:, 0], missed[:, 1]) < CONSISTENT_PX)


def _depth_around(frame: DecodedFrame) -> Array:
    """Mean ρ_v (h, w) of the surroundings: of a pixel itself it would carry the noise that is to be judged."""
    valid = np.asarray(frame.valid, np.float64)
    total = cv2.blur(np.where(frame.valid, frame.inv_virtual_depth, 0.0).astype(np.float64), SURROUNDINGS)
    return np.asarray(total / np.maximum(cv2.blur(valid, SURROUNDINGS), 1e-6))


def _smooth_part(difference: Array, sigma: Array, place: Array) -> Array:
    """Robust quadratic function of ``place`` (N, 3) through the differences."""
    scaled = (place - place.mean(0)) / np.maximum(place.std(0), 1e-9)
    u, v, w = scaled.T
    terms = np.stack([np.ones_like(u), u, v, w, u * u, u * v, v * v, u * w, v * w, w * w], -1)
    weight = 1.0 / sigma
    for _ in range(PASSES):
        answer = np.linalg.lstsq(terms * weight[:, None], difference * weight, rcond=None)[0]
        residual = (difference - terms @ answer) / sigma
        weight = 1.0 / (sigma * np.sqrt(1.0 + (residual / SOFT) ** 2))
    return np.asarray(terms @ answer)
