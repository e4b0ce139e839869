# SPDX-License-Identifier: Apache-2.0
"""Which micro-lenses see a virtual point, which owns a raw pixel.

A lens at c sees the point when ``|x_raw − c_I| < r`` with ``x_raw = c + (x_V − c) ρ_v`` and ``c_I = c/λ``
about the principal point. That is ``|c − x_V b_L0/b_L| (ρ_v + 1/λ − 1) < r``: a disc about the central
projection of the point onto the array, so only the lenses of a small window around it are tried.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prism_vo.arrays import Array, Integers, Mask
from prism_vo.compiled import njit
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.distortion import distort
from prism_vo.optics.mla import MicroLensArray

WINDOW_MARGIN = 1.5  # grid steps: rounding, and the change of distortion across the window


class SeenBy(NamedTuple):
    """Lenses per point, ascending: those of point n are ``rows[starts[n] : starts[n + 1]]``."""

    starts: NDArray[np.int64]  # (N + 1,)
    rows: Integers  # (M,)


class OwnerMaps(NamedTuple):
    """For every raw pixel: the lens whose micro-image it lies in, and whether inside the usable radius."""

    owner: Integers  # (H, W), −1: none
    usable: Mask  # (H, W)


def owner_maps(array: MicroLensArray, width: int, height: int) -> OwnerMaps:
    """Which lens owns each pixel of a width × height sensor (kernel)."""
    owner = np.empty((height, width), np.int32)
    usable = np.empty((height, width), np.bool_)
    inverse: Array = np.linalg.inv(array.axes).astype(np.float64)
    _owner_kernel(
        array.origin,
        array.axes,
        inverse,
        array.index,
        array.i_min,
        array.j_min,
        array.usable_radius,
        owner,
        usable,
    )
    return OwnerMaps(owner, usable)


def lenses_seeing(
    camera: PlenopticCamera, array: MicroLensArray, x_virtual: ArrayLike, virtual_depth: ArrayLike
) -> SeenBy:
    """Lenses that see the virtual points x_V (N, 2) (raw px) at virtual depths v (N,).

    Vectorised over all points, with one window large enough for each.
    """
    search = _search(camera, array, x_virtual, virtual_depth)
    n = int(search.half_width.max(initial=0))
    dj, di = (d.ravel() for d in np.mgrid[-n : n + 1, -n : n + 1])
    rows = array.rows(search.base[:, None, 0] + di, search.base[:, None, 1] + dj)  # (N, window)
    c = array.lens_centres[rows] - camera.principal_point
    x = (search.x - camera.principal_point)[:, None]
    offset = c + (x - c) / search.v[:, None, None] - c / camera.lam
    seen = (rows >= 0) & ((offset**2).sum(-1) < array.usable_radius**2)
    seen &= np.maximum(np.abs(di), np.abs(dj)) <= search.half_width[:, None]
    point, window = np.nonzero(seen)
    found = rows[point, window]
    order = np.lexsort((found, point))
    starts = np.concatenate([[0], np.cumsum(seen.sum(1))]).astype(np.int64)
    return SeenBy(starts, found[order])


class _Search(NamedTuple):
    x: Array  # (N, 2)
    v: Array  # (N,)
    base: NDArray[np.int64]  # (N, 2): grid position (i, j) nearest to the chief ray
    half_width: NDArray[np.int64]  # (N,): of the window to try, in grid steps


def _search(
    camera: PlenopticCamera, array: MicroLensArray, x_virtual: ArrayLike, virtual_depth: ArrayLike
) -> _Search:
    """Where to look for the lenses of each point; points without a positive virtual depth get no window."""
    x = np.ascontiguousarray(np.asarray(x_virtual, dtype=np.float64).reshape(-1, 2))
    v = np.ascontiguousarray(np.broadcast_to(np.asarray(virtual_depth, dtype=np.float64), len(x)))
    possible = np.isfinite(x).all(1) & np.isfinite(v) & (v > 0)
    v_safe, x_safe = np.where(possible, v, 1.0), np.where(possible[:, None], x, 0.0)
    pp = camera.principal_point
    image_point = pp + (camera.array_point(x_safe, v_safe) - pp) / camera.lam  # chief ray on the sensor plane
    measured = distort(camera.calibration, image_point)
    g = (measured - array.origin) @ np.linalg.inv(array.axes)
    reach = (
        array.usable_radius / (1.0 / v_safe + 1.0 / camera.lam - 1.0) / camera.lam
    )  # px between image centres
    row_distance = float(np.linalg.det(array.axes)) / array.diameter  # the narrow direction of a grid cell
    half_width = np.where(possible, np.ceil(reach / row_distance + WINDOW_MARGIN), -1).astype(np.int64)
    # far off the sensor no lens exists: keep the integers small
    g = np.clip(np.round(g), -(2**20), 2**20)
    return _Search(x_safe, v_safe, g.astype(np.int64), np.minimum(half_width, max(array.index.shape)))


@njit(nogil=True, cache=True)
def _owner_kernel(
    origin: Array,
    axes: Array,
    inverse: Array,
    index: Integers,
    i_min: int,
    j_min: int,
    radius: float,
    owner: Integers,
    usable: Mask,
) -> None:
    rows, columns = index.shape
    for y in range(owner.shape[0]):
        for x in range(owner.shape[1]):
            px, py = x - origin[0], y - origin[1]
            base_i = int(np.floor(px * inverse[0, 0] + py * inverse[1, 0]))
            base_j = int(np.floor(px * inverse[0, 1] + py * inverse[1, 1]))
            best, best_row = np.inf, -1
            for dj in range(2):
                for di in range(2):
                    i, j = base_i + di, base_j + dj
                    dx = x - (origin[0] + i * axes[0, 0] + j * axes[1, 0])
                    dy = y - (origin[1] + i * axes[0, 1] + j * axes[1, 1])
                    d2 = dx * dx + dy * dy
                    if d2 < best:
                        best, best_row = d2, -1
                        ii, jj = i - i_min, j - j_min
                        if 0 <= ii < columns and 0 <= jj < rows:
                            best_row = index[jj, ii]
            owner[y, x] = best_row
            usable[y, x] = best_row >= 0 and best < radius * radius
