# SPDX-License-Identifier: Apache-2.0
"""The surface in a volume as triangles: one vertex in every cell that it passes through (surface nets).

A cell has eight voxels as corners. Its vertex is the mean of the points where the distance along its twelve edges is
zero; where an edge between two voxels is crossed, the four cells around it are joined by two triangles.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Floats, Integers, Mask
from prism_vo.compiled import njit
from prism_vo.dense.records import Mesh
from prism_vo.dense.volume import (
    CHANNELS,
    COUNT,
    DISTANCE,
    INFORMATION,
    RED,
    SIDE,
    VOXELS,
    WEIGHT,
    Volume,
    pack,
    unpack,
    voxel_size,
)

LEAST_SAMPLES = 2.0  # mean over the corners of a cell that a vertex is made of
COVERING = 3  # finer levels that may show the same surface
INNER = 2  # voxels to all sides that a finer level must have seen, too, to be taken


def surface(volume: Volume) -> Mesh:
    """All levels together; of two that show the same surface, the finer one."""
    levels, places = unpack(volume.keys)
    around = _neighbours(volume, levels, places)
    corners = ((places * SIDE + 0.5) * voxel_size(levels)[:, None]).astype(np.float64)
    cells = np.full((len(volume.keys), VOXELS), -1, np.int32)
    vertices, features, at = _vertices(volume.sums, around, corners, voxel_size(levels), cells)
    triangles = _triangles(volume.sums, around, cells)
    covered = _covered(volume, vertices, levels[at])
    triangles = triangles[~covered[triangles].all(1)] if len(triangles) else triangles
    return _mesh(vertices, features, triangles)


def _mesh(vertices: Floats, features: Floats, triangles: Integers) -> Mesh:
    used = np.unique(triangles)
    place = np.full(len(vertices), -1, np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    vertices, features = vertices[used], features[used]
    triangles = place[triangles].reshape(-1, 3)
    information = np.maximum(features[:, INFORMATION], np.float32(1e-12))
    colors = features[:, RED:] / information[:, None]
    return Mesh(
        vertices,
        vertex_normals(vertices, triangles),
        np.clip(np.rint(colors), 0, 255).astype(np.uint8),
        # samples of one scene point share images: they are no better together than each is by itself
        np.sqrt(features[:, COUNT] / information).astype(np.float32),
        triangles,
    )


def _neighbours(volume: Volume, levels: NDArray[np.int64], places: NDArray[np.int64]) -> Integers:
    """(B, 27): where the blocks around each are, −1 where there is none."""
    found = np.empty((len(levels), 27), np.int32)
    for n in range(27):
        offset = np.array([n // 9 - 1, n // 3 % 3 - 1, n % 3 - 1])
        found[:, n] = volume.find(pack(levels, places + offset))
    return found


def _covered(volume: Volume, vertices: Floats, level: NDArray[np.int64]) -> Mask:
    """Vertices at places where a finer level has seen the surface as well, and around them too: not at its end."""
    covered = np.zeros(len(vertices), np.bool_)
    for finer in range(1, COVERING + 1):
        size = voxel_size(level - finer)[:, None]
        voxel = np.floor(vertices / size).astype(np.int64)
        seen = np.ones(len(vertices), np.bool_)
        for axis in range(3):
            for side in (-INNER, INNER):
                seen &= _is_seen(volume, level - finer, voxel + side * np.eye(3, dtype=np.int64)[axis])
        covered |= seen
    return covered


def _is_seen(volume: Volume, level: NDArray[np.int64], voxel: NDArray[np.int64]) -> Mask:
    block, inside = volume.find(pack(level, voxel // SIDE)), voxel % SIDE
    n = (inside[:, 0] * SIDE + inside[:, 1]) * SIDE + inside[:, 2]
    return (block >= 0) & (volume.sums[np.maximum(block, 0), n, COUNT] >= LEAST_SAMPLES)


@njit(nogil=True, cache=True, inline="always")
def _find(around, block, i, j, k):  # type: ignore[no-untyped-def]
    """Block and voxel at a place that may lie in a neighbouring block; block −1: nowhere."""
    di, dj, dk = i // SIDE, j // SIDE, k // SIDE
    there = around[block, (di + 1) * 9 + (dj + 1) * 3 + dk + 1]
    return there, ((i - di * SIDE) * SIDE + (j - dj * SIDE)) * SIDE + k - dk * SIDE


@njit(nogil=True, cache=True, error_model="numpy")
def _vertices(sums, around, corners, sizes, cells):  # type: ignore[no-untyped-def]
    blocks = len(sums)
    count = 0
    room = 1 << 16
    vertices = np.empty((room, 3), np.float32)
    features = np.empty((room, CHANNELS), np.float32)
    at = np.empty(room, np.int64)
    value = np.empty(8, np.float64)
    total = np.empty(CHANNELS, np.float64)
    for block in range(blocks):
        for n in range(VOXELS):
            if sums[block, n, WEIGHT] <= 0:
                continue
            i, j, k = n // (SIDE * SIDE), n // SIDE % SIDE, n % SIDE
            total[:] = 0.0
            below = 0
            whole = True
            for corner in range(8):
                b, m = _find(around, block, i + (corner >> 2), j + (corner >> 1 & 1), k + (corner & 1))
                if b < 0 or sums[b, m, WEIGHT] <= 0:
                    whole = False
                    break
                value[corner] = sums[b, m, DISTANCE] / sums[b, m, WEIGHT]
                below += value[corner] < 0
                for c in range(CHANNELS):
                    total[c] += sums[b, m, c]
            if not whole or below == 0 or below == 8 or total[COUNT] < 8 * LEAST_SAMPLES:
                continue
            x, y, z, crossed = _crossing(value)
            if count == room:
                room *= 2
                vertices = np.concatenate((vertices, np.empty_like(vertices)))
                features = np.concatenate((features, np.empty_like(features)))
                at = np.concatenate((at, np.empty_like(at)))
            size = sizes[block]
            vertices[count, 0] = corners[block, 0] + (i + x / crossed) * size
            vertices[count, 1] = corners[block, 1] + (j + y / crossed) * size
            vertices[count, 2] = corners[block, 2] + (k + z / crossed) * size
            for c in range(CHANNELS):
                features[count, c] = total[c]
            at[count] = block
            cells[block, n] = count
            count += 1
    return vertices[:count], features[:count], at[:count]


@njit(nogil=True, cache=True, error_model="numpy")
def _crossing(value):  # type: ignore[no-untyped-def]
    """Sum of the crossings of a cell's edges, in voxels from its first corner, and their number."""
    x = y = z = 0.0
    crossed = 0
    for a in range(8):
        for axis in range(3):
            bit = 4 >> axis
            if a & bit:
                continue
            b = a | bit
            if (value[a] < 0) == (value[b] < 0):
                continue
            share = value[a] / (value[a] - value[b])
            x += (a >> 2) + (share if axis == 0 else 0.0)
            y += (a >> 1 & 1) + (share if axis == 1 else 0.0)
            z += (a & 1) + (share if axis == 2 else 0.0)
            crossed += 1
    return x, y, z, crossed


@njit(nogil=True, cache=True, error_model="numpy")
def _triangles(sums, around, cells):  # type: ignore[no-untyped-def]
    count = 0
    room = 1 << 17
    out = np.empty((room, 3), np.int32)
    quad = np.empty(4, np.int32)
    for block in range(len(sums)):
        for n in range(VOXELS):
            if cells[block, n] < 0:
                continue
            i, j, k = n // (SIDE * SIDE), n // SIDE % SIDE, n % SIDE
            here = sums[block, n, DISTANCE] < 0
            for axis in range(3):
                b, m = _find(around, block, i + (axis == 0), j + (axis == 1), k + (axis == 2))
                if (sums[b, m, DISTANCE] < 0) == here:
                    continue
                whole = True
                for c in range(4):  # around the edge, in order
                    p, r = -(c == 1 or c == 2), -(c == 2 or c == 3)
                    di = 0 if axis == 0 else (p if axis == 2 else r)
                    dj = 0 if axis == 1 else (p if axis == 0 else r)
                    dk = 0 if axis == 2 else (p if axis == 1 else r)
                    cb, cm = _find(around, block, i + di, j + dj, k + dk)
                    quad[c] = -1 if cb < 0 else cells[cb, cm]
                    whole = whole and quad[c] >= 0
                if not whole:
                    continue
                if count + 2 > room:
                    room *= 2
                    out = np.concatenate((out, np.empty_like(out)))
                first, third = (1, 3) if here else (3, 1)  # the front is where the distance is positive
                out[count, 0], out[count, 1], out[count, 2] = quad[0], quad[first], quad[2]
                out[count + 1, 0], out[count + 1, 1], out[count + 1, 2] = quad[0], quad[2], quad[third]
                count += 2
    return out[:count]


@njit(nogil=True, cache=True, error_model="numpy")
def vertex_normals(vertices, triangles):  # type: ignore[no-untyped-def]
    """Unit normals (N, 3): means over the triangles at each vertex, weighted by their area."""
    normals = np.zeros_like(vertices)
    for n in range(len(triangles)):
        a, b, c = triangles[n, 0], triangles[n, 1], triangles[n, 2]
        ux, uy, uz = (
            vertices[b, 0] - vertices[a, 0],
            vertices[b, 1] - vertices[a, 1],
            vertices[b, 2] - vertices[a, 2],
        )
        vx, vy, vz = (
            vertices[c, 0] - vertices[a, 0],
            vertices[c, 1] - vertices[a, 1],
            vertices[c, 2] - vertices[a, 2],
        )
        x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        for corner in (a, b, c):
            normals[corner, 0] += x
            normals[corner, 1] += y
            normals[corner, 2] += z
    for n in range(len(normals)):
        length = np.sqrt(normals[n, 0] ** 2 + normals[n, 1] ** 2 + normals[n, 2] ** 2)
        if length > 0:
            normals[n] /= length
        else:
            normals[n, 2] = -1.0
    return normals
