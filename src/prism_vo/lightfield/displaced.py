# SPDX-License-Identifier: Apache-2.0
"""Do the images of single micro-lenses lie beside where all others have them? Measured in one frame, without truth.

The variance of a match (:mod:`~prism_vo.lightfield.variance`) takes the residuals of one lens to repeat over a few
nodes. What moves a whole micro-image (a video codec that predicts blocks from other frames, aliasing, a lens out of
place) repeats over all nodes of the window whatever the texture, and more contrast does not help against it. The
score is a sum over lenses, whose errors are independent of each other: the squares of the shares s_j of the lenses
show the variance as it is, however residuals are correlated within a lens::

    b = Σ_j s_j = 0            σ²(h) = Σ_j s_j²/(1 − l_j) / b'²            l_j: share of lens j in b'

One point with eight lenses knows its own variance to a half only. Over many points the excess over the variance that
is stated says how far micro-images are displaced, a standard deviation in raw pixels (less than it is: residuals that
look alike from node to node account for a part). Like the noise it is taken from what is typical, not from the mean: at
depth edges, where lenses see different things, it means nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from prism_vo.arrays import Array, Mask
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
    raw_border,
)
from prism_vo.lightfield.nearby import lens_grid
from prism_vo.lightfield.records import MatchingImage
from prism_vo.lightfield.sample_steps import RIM, STEPS_A_PIXEL
from prism_vo.lightfield.score import GRADIENT_SHARE

AT_ONCE = 128  # points with the usual window, which bounds memory: nodes and lenses both grow with its area
USUAL_SIDE = 7  # nodes of it along one axis, with one to each side for gradients
LEAST_FREEDOM = 1.0  # below, the spread of two lenses would be all there is
LEAST_POINTS = 100  # to say anything from them
FIT_ROUNDS = 40  # halvings: to 1e-12 of the first interval
WIDEST = 1.0  # px: what is displaced by more is no match
LEAST_FREE = 0.2  # share of its own residual that a sample keeps beside the mean of few lenses
TINY = 1e-12


class PlacedMatches(NamedTuple):
    """N matches as the kernels found them."""

    at: Array  # (N, 2): raw px
    slope: Array  # (N,)
    curvature: Array  # (N,)
    stride: NDArray[np.int64]  # (N,): every n-th lens was used


class Clustered(NamedTuple):
    """Variances (N,) from the shares of single lenses."""

    variance: Array  # σ²(h); NaN: too few lenses
    freedom: Array  # degrees of freedom each of them has, about: lenses less one


class Patches(NamedTuple):
    """Samples of P pairs of a point and a lens on n × n nodes; pairs of one point follow each other."""

    first: NDArray[np.int_]  # (N,): first pair of each point
    point: NDArray[np.int_]  # (P,)
    value: Array  # (P, n, n): grey
    weight: Array  # (P, n, n): 0 where there is no sample
    baseline: Array  # (2, P, n, n): d = t − c, raw px


def clustered_variance(
    image: MatchingImage, geometry: StereoGeometry, matches: PlacedMatches, pitch: float, window: int
) -> Clustered:
    """Of matches, a few at a time: near scenes are seen by many lenses."""
    parts, at_once = [], max(1, AT_ONCE * USUAL_SIDE**4 // (2 * window + 3) ** 4)
    for k in range(0, len(matches.slope), at_once):
        few = slice(k, k + at_once)
        some = PlacedMatches(matches.at[few], matches.slope[few], matches.curvature[few], matches.stride[few])
        parts.append(_clustered(image, geometry, some, pitch, window))
    return Clustered(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _clustered(
    image: MatchingImage, geometry: StereoGeometry, matches: PlacedMatches, pitch: float, window: int
) -> Clustered:
    slope, curvature = matches.slope, matches.curvature
    patches = _patches(image, geometry, matches, pitch, window)
    weight, first, point = patches.weight, patches.first, patches.point
    total = np.maximum(np.add.reduceat(weight, first), TINY)
    mean = np.add.reduceat(weight * patches.value, first) / total
    gradient, known = _gradients(patches, pitch)
    middle = np.add.reduceat(weight * patches.baseline, first, axis=1) / total
    gradient *= 1.0 / slope[:, None, None]
    along = (gradient[:, point] * (patches.baseline - middle[:, point])).sum(
        0
    )  # dI/dh as the lens would see it
    counted = np.where(known[point], weight, 0.0)
    free = np.maximum(1.0 - weight / total[point], LEAST_FREE)
    residual = np.where(weight > 0, patches.value - mean[point], 0.0) / np.sqrt(free)
    score = (counted * along * residual).sum((1, 2))
    rise = (counted * along**2).sum((1, 2))
    share = rise / np.maximum(np.add.reduceat(rise, first), TINY)[point]
    score -= (
        share * np.add.reduceat(score, first)[point]
    )  # the root found with other sums lies a little beside
    squares = np.where(share < 1.0, score**2 / np.maximum(1.0 - share, TINY), np.nan)
    variance = np.add.reduceat(squares, first) / curvature**2
    return Clustered(variance, 1.0 / np.maximum(np.add.reduceat(share**2, first), TINY) - 1.0)


def fit_displacement(seen: Clustered, stated: Array, by_one_px: Array) -> float:
    """Variance τ² (px²) with which ``stated + τ² · by_one_px`` is what lenses typically show; 0: no more than stated.

    A variance with ν degrees of freedom lies below its mean times (1 − 2/9ν)³ as often as above (Wilson and Hilferty).
    """
    good = np.isfinite(seen.variance) & (seen.freedom >= LEAST_FREEDOM) & (stated > 0) & (by_one_px > 0)
    if good.sum() < LEAST_POINTS:
        return 0.0
    variance = seen.variance[good] / (1.0 - 2.0 / (9.0 * seen.freedom[good])) ** 3
    stated, by_one_px = stated[good], by_one_px[good]
    low, high = 0.0, WIDEST**2
    for _ in range(FIT_ROUNDS):
        middle = 0.5 * (low + high)
        expected = stated + middle * by_one_px
        weight = by_one_px / expected  # those that tell most about it
        more = float(weight @ (variance > expected)) > 0.5 * float(weight.sum())
        low, high = (middle, high) if more else (low, middle)
    return low


def _patches(
    image: MatchingImage, geometry: StereoGeometry, matches: PlacedMatches, pitch: float, window: int
) -> Patches:
    """What every lens shows of the window about each point, and one node more for gradients."""
    at, slope = matches.at, matches.slope
    point, lens = _lenses_of(geometry, matches, pitch * (window + 1))
    lenses, h = geometry.lenses[lens], slope[point][:, None, None]
    steps = pitch * np.arange(-window - 1.0, window + 2.0)
    baseline = np.stack(
        np.broadcast_arrays(
            (at[point, 0] - lenses[:, STEREO_X])[:, None, None] + steps[None, None, :],
            (at[point, 1] - lenses[:, STEREO_Y])[:, None, None] + steps[None, :, None],
        )
    )
    away = (lenses[:, [STEREO_X, STEREO_Y]] - lenses[:, [IMAGE_X, IMAGE_Y]]).T[:, :, None, None]
    inside = baseline * h + away
    area = (inside**2).sum(0) / geometry.radius**2
    jacobian = lenses[:, JACOBIAN_XX : JACOBIAN_YY + 1].reshape(-1, 2, 2)
    place = np.einsum("pab,bpij->apij", jacobian, inside)
    place += lenses[:, [MEASURED_X, MEASURED_Y]].T[:, :, None, None] + raw_border(geometry)
    value, usable = _bilinear(image.pixels, place, area < 1.0)
    weight = np.where(usable, np.minimum(1.0, (1.0 - area) / RIM) * (1.0 - image.fall * area), 0.0)
    first = np.searchsorted(point, np.arange(len(at)))
    return Patches(first, point, value, weight, baseline)


def _lenses_of(
    geometry: StereoGeometry, matches: PlacedMatches, margin: float
) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """(point, lens) of the lenses that may see something within ``margin`` of each point; at least one a point."""
    at, slope = matches.at, matches.slope
    grid = lens_grid(geometry)
    # where the micro-image lies that shows the point at its centre, as :func:`prism_vo.lightfield.nearby.gather_lenses`
    home = slope / (1.0 - grid.lens_pull * (1.0 - slope))
    centre = np.array([grid.centre_x, grid.centre_y])
    reach = (geometry.radius / slope + np.sqrt(2.0) * margin) * home + grid.margin
    tree = cKDTree(geometry.lenses[:, [IMAGE_X, IMAGE_Y]])
    aim = (at - centre) * home[:, None] + centre
    found = []
    for near, stride in zip(tree.query_ball_point(aim, reach), matches.stride, strict=True):
        lenses = np.sort(np.asarray(near, np.int_))
        lenses = lenses[(geometry.array.grid[lenses] % stride == 0).all(1)]
        found.append(lenses if len(lenses) else np.zeros(1, np.int_))
    counts = [len(lenses) for lenses in found]
    return np.repeat(np.arange(len(at)), counts), np.concatenate(found)


def _bilinear(pixels: NDArray[np.float32], place: Array, wanted: Mask) -> tuple[Array, Mask]:
    """Samples of the image at half-pixel steps; ones that touch what must not be used are not usable."""
    height, width = pixels.shape
    x, y = STEPS_A_PIXEL * place[0], STEPS_A_PIXEL * place[1]
    wanted = wanted & (x >= 0) & (y >= 0) & (x < width - 1) & (y < height - 1)
    column, row = (np.where(wanted, np.floor(a), 0).astype(np.int64) for a in (x, y))
    u, v = np.where(wanted, x - column, 0.0), np.where(wanted, y - row, 0.0)
    above = pixels[row, column] * (1.0 - u) + pixels[row, column + 1] * u
    below = pixels[row + 1, column] * (1.0 - u) + pixels[row + 1, column + 1] * u
    value = above * (1.0 - v) + below * v
    usable = wanted & (value > 0)
    return np.where(usable, value, 0.0), usable


def _gradients(patches: Patches, pitch: float) -> tuple[Array, Mask]:
    """Mean over lenses of differences inside each micro-image (2, N, n, n), per raw px of the TF grid; where known."""
    value, usable = patches.value, patches.weight > 0
    inner, rows, columns = slice(1, -1), (slice(2, None), slice(None, -2)), (slice(2, None), slice(None, -2))
    whole = np.zeros_like(usable)
    whole[:, inner, inner] = usable[:, inner, inner]
    differences = np.zeros((2, *value.shape))
    for sign, row in zip((1.0, -1.0), rows, strict=True):
        whole[:, inner, inner] &= usable[:, row, inner]
        differences[1, :, inner, inner] += sign * value[:, row, inner]
    for sign, column in zip((1.0, -1.0), columns, strict=True):
        whole[:, inner, inner] &= usable[:, inner, column]
        differences[0, :, inner, inner] += sign * value[:, inner, column]
    weight = np.where(whole, patches.weight, 0.0)
    total = np.add.reduceat(weight, patches.first)
    known = total > GRADIENT_SHARE * np.add.reduceat(patches.weight, patches.first)
    known &= total > 0
    mean = np.add.reduceat(weight * differences, patches.first, axis=1) / np.maximum(total, TINY)
    return mean * (0.5 / pitch), known
