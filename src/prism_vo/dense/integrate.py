# SPDX-License-Identifier: Apache-2.0
"""Depth maps into the volume: each voxel learns its distance to the surface element at the pixel it is seen at."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.arrays import Floats
from prism_vo.compiled import njit
from prism_vo.dense.records import DepthMap
from prism_vo.dense.volume import (
    CHANNELS,
    COUNT,
    DISTANCE,
    FINEST,
    HIGHEST_LEVEL,
    INFORMATION,
    RED,
    SIDE,
    TRUNCATION,
    WEIGHT,
    Keys,
    Volume,
    pack,
    unpack,
    voxel_size,
)

OVERLAP = (
    0.15  # of a level: depths so near to the next one are kept in both, so that no gap opens between them
)
SIGMAS_A_VOXEL = 0.7  # voxels are no finer than so many σ
FLOOR = 1e-3  # of the distance: no depth is better than that, whatever its σ says
EMPTY = 0.1  # weight of seeing through a voxel beside that of seeing the surface near it


def usual_sigma(maps: Sequence[DepthMap]) -> float:
    """Median σ of the inverse depths."""
    known = [depth.sigma[depth.valid] for depth in maps]
    together = np.concatenate(known) if known else np.zeros(0)
    return float(np.median(together)) if len(together) else 0.0


def voxel_at(z: NDArray[np.floating], depth: DepthMap, sigma: float) -> NDArray[np.floating]:
    """Size of voxel (m) that depths around ``z`` are worth: a smooth function, or surfaces would be torn to levels."""
    return np.maximum(z * depth.grid.step / depth.grid.view.focal_px, SIGMAS_A_VOXEL * sigma * z * z)


def integrate(
    volume: Volume, maps: Sequence[DepthMap], usual_sigma: float, say: Callable[[int], None] | None
) -> None:
    """Add depth maps; ``usual_sigma``: of inverse depths, which voxels are no finer than."""
    maps = [depth for depth in maps if depth.valid.any()]
    wanted = [_blocks(depth, _levels(depth, usual_sigma, volume.finest)) for depth in maps]
    if wanted:  # all at once: new blocks move those there are
        volume.allocate(np.unique(np.concatenate(wanted)))
    for n, depth in enumerate(maps):
        _integrate(volume, depth, _levels(depth, usual_sigma, volume.finest))
        if say is not None:
            say(n + 1)


def _levels(depth: DepthMap, usual_sigma: float, finest: int) -> Floats:
    """Level that each depth is worth, in fractions; NaN without a depth."""
    z = 1.0 / np.where(depth.valid, depth.planes.inv_depth, np.float32(1.0))
    level = np.clip(np.log2(voxel_at(z, depth, usual_sigma) / FINEST), finest, HIGHEST_LEVEL)
    return np.where(depth.valid, level, np.nan).astype(np.float32)


def _blocks(depth: DepthMap, level: Floats) -> Keys:
    """Keys of all blocks that a depth map says something about."""
    z = 1.0 / np.where(depth.valid, depth.planes.inv_depth, np.float32(1.0))
    points, T_world_view = depth.grid.rays * z[..., None], se3.inverse(depth.frame.T_view_world)
    found = [np.zeros(0, np.int64)]
    first, last = (int(np.floor(end + 0.5)) for end in (np.nanmin(level), np.nanmax(level)))
    for whole in range(first, last + 1):
        here = np.abs(level - whole) <= 0.5 + OVERLAP
        if here.any():
            found.append(_blocks_about(points[here], T_world_view, whole))
    return np.concatenate(found)


def _integrate(volume: Volume, depth: DepthMap, level: Floats) -> None:
    z = 1.0 / np.where(depth.valid, depth.planes.inv_depth, np.float32(1.0))
    sigma = np.hypot(np.where(depth.valid, depth.sigma, 0.0) * z * z, FLOOR * z)
    levels, _ = unpack(volume.keys)
    _add(
        volume.sums, _corners(volume.keys), voxel_size(levels).astype(np.float32), levels.astype(np.float32),
        depth.frame.T_view_world.astype(np.float32), _camera(depth), _elements(depth), level,
        (1.0 / sigma**2).astype(np.float32), depth.frame.colors,
    )  # fmt: skip


def _elements(depth: DepthMap) -> Floats:
    """(rows, columns, 5): (n, 1)/|n| of each surface element nᵀX = 1 of the view, and its q (docs/dense.md, eq. 3)."""
    grid, (q, dx, dy) = depth.grid, depth.planes
    rays, focal = grid.rays, grid.view.focal_px
    n = np.stack([dx * focal, dy * focal, q - focal * (dx * rays[..., 0] + dy * rays[..., 1])], -1)
    length = np.linalg.norm(n, axis=-1, keepdims=True)
    return np.concatenate([n / length, 1.0 / length, q[..., None]], -1).astype(np.float32)


def _blocks_about(points: NDArray[np.floating], T_world_view: NDArray[np.float64], level: int) -> Keys:
    """Keys of all blocks within the truncation of points of the view, along and beside the line of sight."""
    size = float(voxel_size(level))
    direction = points / np.linalg.norm(points, axis=-1, keepdims=True)
    steps = np.linspace(-TRUNCATION, TRUNCATION, 3) * size
    spread = [se3.transform(T_world_view, points + s * direction) for s in steps]
    places = np.floor(np.concatenate(spread) / (SIDE * size)).astype(np.int64)
    return np.unique(pack(np.full(len(places), level), places))


def _corners(keys: Keys) -> Floats:
    """Centre of the first voxel of each block, world (B, 3)."""
    levels, places = unpack(keys)
    size = voxel_size(levels)[:, None]
    return np.asarray((places * SIDE + 0.5) * size, np.float32)


def _camera(depth: DepthMap) -> Floats:
    view, grid = depth.grid.view, depth.grid
    return np.array([view.focal_px, view.cx, view.cy, grid.step], np.float32)


@njit(nogil=True, cache=True, fastmath={"reassoc", "nsz", "arcp", "contract", "afn"}, error_model="numpy")
def _add(sums, corners, sizes, levels, T, camera, elements, level, information, colors):  # type: ignore[no-untyped-def]
    focal, cx, cy, step = camera[0], camera[1], camera[2], camera[3]
    rows, columns = level.shape
    per_step = np.float32(1.0) / step
    for block in range(len(sums)):
        size = sizes[block]
        truncation = np.float32(TRUNCATION) * size
        # the whole block first: most are out of sight
        half = np.float32(0.5 * (SIDE - 1)) * size
        radius = np.float32(0.87 * SIDE) * size
        bx, by, bz = corners[block, 0] + half, corners[block, 1] + half, corners[block, 2] + half
        pz = T[2, 0] * bx + T[2, 1] * by + T[2, 2] * bz + T[2, 3]
        if pz <= radius:
            continue
        px = T[0, 0] * bx + T[0, 1] * by + T[0, 2] * bz + T[0, 3]
        py = T[1, 0] * bx + T[1, 1] * by + T[1, 2] * bz + T[1, 3]
        reach = focal * radius / (pz - radius)
        u, v = focal * px / pz + cx, focal * py / pz + cy
        if u < -reach or v < -reach or u > columns * step + reach or v > rows * step + reach:
            continue
        for n in range(SIDE * SIDE * SIDE):
            i, j, k = n // (SIDE * SIDE), n // SIDE % SIDE, n % SIDE
            x, y, z = corners[block, 0] + i * size, corners[block, 1] + j * size, corners[block, 2] + k * size
            pz = T[2, 0] * x + T[2, 1] * y + T[2, 2] * z + T[2, 3]
            if pz <= size:
                continue
            px = T[0, 0] * x + T[0, 1] * y + T[0, 2] * z + T[0, 3]
            py = T[1, 0] * x + T[1, 1] * y + T[1, 2] * z + T[1, 3]
            scale = focal / pz
            across = (px * scale + cx) * per_step + np.float32(0.5)
            down = (py * scale + cy) * per_step + np.float32(0.5)
            if across < 0 or down < 0 or across >= columns or down >= rows:
                continue
            column, row = int(across), int(down)
            of_sample = level[row, column]
            if not np.isfinite(of_sample):
                continue
            nx, ny, nz = elements[row, column, 0], elements[row, column, 1], elements[row, column, 2]
            distance = elements[row, column, 3] - (nx * px + ny * py + nz * pz)
            q = elements[row, column, 4]
            if distance < -truncation or pz * q > np.float32(1.0) + np.float32(2.0) * truncation * q:
                continue
            weight = information[row, column]
            if distance > truncation:
                distance, weight = truncation, weight * np.float32(EMPTY)
            elif abs(of_sample - levels[block]) > np.float32(0.5 + OVERLAP):
                continue
            else:
                sums[block, n, COUNT] += np.float32(1.0)
                sums[block, n, INFORMATION] += weight
                for c in range(CHANNELS - RED):
                    sums[block, n, RED + c] += weight * np.float32(colors[row, column, c])
            sums[block, n, DISTANCE] += weight * distance
            sums[block, n, WEIGHT] += weight
