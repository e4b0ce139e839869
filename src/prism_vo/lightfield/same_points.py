# SPDX-License-Identifier: Apache-2.0
"""Points of the scene as all micro-images show them: what differs between these is the camera's light, not the scene.

``I_pl = s_p e^(x · φ_pl)`` for point p in lens l, with what is asked for in x: uneven rows, light that falls off.
The brightness s_p of every point is eliminated, so x is known up to a constant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
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

POINTS = 1200  # of the scene that are looked at
ABOUT = ((0, 0), (2, 0), (-2, 0), (0, 2), (0, -2))  # TF px about each, at the same depth
LEAST_LEVEL = 3.0  # grey levels: what is darker is noise
LEAST_SAMPLES = 1000  # to say anything
ROUNDS = 5  # of reweighting
ROBUST = 2.0  # robust σ beyond which a sample counts less
ROBUST_SIGMA = 1.4826
LEAST_SIGMA = 1e-3  # grey levels: divides where images are exact


class SamePoints(NamedTuple):
    """Points of the scene as single micro-images show them, in the order of the points; all (N,) but the last."""

    point: Integers
    lens: Integers
    x: Array  # raw px
    y: Array
    from_rim: Array  # raw px that the micro-image goes on for
    level: Array  # grey, without vignetting
    shape: tuple[int, int]  # of the raw image

    def where(self, which: Mask) -> SamePoints:
        """Some of them."""
        point, lens, x, y, rim, level, shape = self
        return SamePoints(point[which], lens[which], x[which], y[which], rim[which], level[which], shape)

    def turned(self) -> SamePoints:
        """Rows and columns exchanged."""
        return self._replace(x=self.y, y=self.x, shape=self.shape[::-1])

    @property
    def are_enough(self) -> bool:
        """To say anything."""
        return len(self.point) >= LEAST_SAMPLES


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
    lens = np.array([n for found in seen_by for n in found], np.intp)
    near = lenses[lens]
    parts = []
    for n, beside in enumerate(ABOUT):
        target = at[point] + scale * np.asarray(beside)
        raw, from_rim, level = _look_up(near, target, slopes[point], geometry.radius, pixels, border)
        number = point * len(ABOUT) + n
        parts.append([each[level > LEAST_LEVEL] for each in (number, lens, *raw.T, from_rim, level)])
    number, lens, x, y, rim, levels = (np.concatenate(column) for column in zip(*parts))
    order = np.argsort(number, kind="stable")
    which, by, shape = (
        number[order].astype(np.int32),
        lens[order].astype(np.int32),
        (sensor.height, sensor.width),
    )
    return SamePoints(which, by, x[order], y[order], rim[order], levels[order], shape)


def _look_up(
    lenses: Array, target: Array, slope: Array, radius: float, pixels: Floats, border: int
) -> tuple[Array, Array, Array]:
    """Raw px (N, 2), px to the rim and grey level (N,) of a place of the TF image in one lens each; level −1: the lens
    does not show it."""
    stereo = lenses[:, [STEREO_X, STEREO_Y]]
    from_centre = stereo + (target - stereo) * slope[:, None] - lenses[:, [IMAGE_X, IMAGE_Y]]
    jacobian = lenses[:, JACOBIAN_XX : JACOBIAN_YY + 1].reshape(-1, 2, 2)
    raw = lenses[:, [MEASURED_X, MEASURED_Y]] + np.einsum("nij,nj->ni", jacobian, from_centre)
    column, row = np.rint(STEPS_A_PIXEL * (raw + border)).astype(np.intp).T
    height, width = pixels.shape
    from_rim = radius - np.hypot(*from_centre.T)
    inside = from_rim > 0
    inside &= (column >= 0) & (row >= 0) & (column < width) & (row < height)
    level = np.full(len(raw), -1.0)
    level[inside] = pixels[row[inside], column[inside]]
    return raw, from_rim, level


def fit_levels(seen: SamePoints, basis: Array, little: Array) -> tuple[Array, Array]:
    """x (K,) and its covariance for φ = ``basis`` (N, K), every point with its own level s.

    Robust least squares of I − s e^(x·φ) in grey levels, in which noise is alike: logarithms of noisy levels are too
    small, those of dark ones more than others. ``little`` (K, K): information beside that of the images, in shares of
    their mean one.
    """
    new = np.diff(seen.point, prepend=-1) > 0
    first, number, count = np.flatnonzero(new), np.cumsum(new) - 1, basis.shape[1]
    x, covariance, weight = np.zeros(count), np.zeros((count, count)), np.ones(len(seen.level))
    for _ in range(ROUNDS):
        shown = np.exp(basis @ x)
        counted = weight * shown**2
        total = np.add.reduceat(counted, first)
        level = (np.add.reduceat(weight * shown * seen.level, first) / total)[number]
        apart = basis - (np.add.reduceat(basis * counted[:, None], first) / total[:, None])[number]
        residual = seen.level - level * shown
        weighted = (apart * (weight * level * shown)[:, None]).T
        h = (weighted * (level * shown)) @ apart
        beside = np.trace(h) / count * little
        x = x + np.linalg.solve(h + beside, weighted @ residual - beside @ x)
        sigma = ROBUST_SIGMA * float(np.median(np.abs(residual))) + LEAST_SIGMA
        covariance = sigma**2 * np.linalg.inv(h + beside)
        weight = 1.0 / (1.0 + (residual / (ROBUST * sigma)) ** 2) ** 2
    return x, covariance


def levels_of(seen: SamePoints, shown: Array) -> Array:
    """Brightness of every point, of which a sample shows the share ``shown`` (N,)."""
    first = np.flatnonzero(np.diff(seen.point, prepend=-1) > 0)
    return np.asarray(np.add.reduceat(shown * seen.level, first) / np.add.reduceat(shown**2, first))
