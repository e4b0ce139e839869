# SPDX-License-Identifier: Apache-2.0
"""A volume that holds signed distances to the surface where there is one: blocks of 8³ voxels found by their key.

Voxels have sizes of 2^level mm, a level for every resolution that depths come in: what is near is kept finer than what
is far or uncertain. A key holds level and place of a block; blocks lie in the order of their keys, so the result does
not depend on the order in which they were asked for. When there would be too many, the finest level is merged into the
next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats

Keys = NDArray[np.int64]

SIDE = 8  # voxels along a block
VOXELS = SIDE**3
FINEST = 1e-3  # m: voxel of level 0
TRUNCATION = 4  # voxels: distances beyond it are not told apart
MOST_BLOCKS = 30_000  # 14 kB each
OFFSET, BITS = 1 << 17, 18  # places −2^17 … 2^17 of blocks along each axis
LOWEST_LEVEL, HIGHEST_LEVEL = -6, 24
# sums over the samples of a voxel: those that saw the surface near it, and, in the first two, those that saw through it
DISTANCE, WEIGHT, COUNT, INFORMATION, RED = 0, 1, 2, 3, 4
CHANNELS = 7


def pack(level: NDArray[np.int64], place: NDArray[np.int64]) -> Keys:
    """Keys of blocks at places (…, 3)."""
    p = place + OFFSET
    key = (level.astype(np.int64) - LOWEST_LEVEL) << 3 * BITS
    return np.asarray(key | p[..., 0] << 2 * BITS | p[..., 1] << BITS | p[..., 2])


def unpack(keys: Keys) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Levels (…) and places (…, 3)."""
    mask = (1 << BITS) - 1
    place = np.stack([keys >> 2 * BITS & mask, keys >> BITS & mask, keys & mask], -1) - OFFSET
    return (keys >> 3 * BITS) + LOWEST_LEVEL, place


def voxel_size(level: NDArray[np.int64] | int) -> Array:
    """Metres."""
    return np.asarray(FINEST * 2.0 ** np.asarray(level, np.float64))


@dataclass
class Volume:
    """Sorted keys (B,) and sums (B, 512, 7) over the samples of each voxel."""

    keys: Keys
    sums: Floats
    finest: int = LOWEST_LEVEL  # level that is not gone below any more

    @classmethod
    def empty(cls) -> Volume:
        """Nothing was seen yet."""
        return cls(np.zeros(0, np.int64), np.zeros((0, VOXELS, CHANNELS), np.float32))

    def allocate(self, wanted: Keys) -> None:
        """Blocks for these keys, beside those there are."""
        new = np.setdiff1d(wanted, self.keys)
        if not len(new):
            return
        keys = np.concatenate([self.keys, new])
        order = np.argsort(keys, kind="stable")
        fresh = np.zeros((len(new), VOXELS, CHANNELS), np.float32)
        self.keys, self.sums = keys[order], np.concatenate([self.sums, fresh])[order]
        while len(self.keys) > MOST_BLOCKS and self.coarsen():
            pass

    def find(self, keys: Keys) -> NDArray[np.int64]:
        """Where blocks are, −1 for those there are not."""
        if not len(self.keys):
            return np.full(keys.shape, -1, np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, at, -1)

    def coarsen(self) -> bool:
        """Merge the finest level there is into the next; False: there is nothing left to merge."""
        levels, places = unpack(self.keys)
        finest = int(levels.min(initial=HIGHEST_LEVEL))
        if finest >= HIGHEST_LEVEL:
            return False
        fine = levels == finest
        parents = pack(levels[fine] + 1, places[fine] >> 1)
        keys = np.union1d(self.keys[~fine], parents)
        sums = np.zeros((len(keys), VOXELS, CHANNELS), np.float32)
        sums[np.searchsorted(keys, self.keys[~fine])] = self.sums[~fine]
        cubes = sums.reshape(-1, SIDE, SIDE, SIDE, CHANNELS)
        half, h = self.sums[fine].reshape(-1, SIDE // 2, 2, SIDE // 2, 2, SIDE // 2, 2, CHANNELS), SIDE // 2
        merged = half.sum((2, 4, 6)) / np.float32(8.0)  # a sample counted in eight voxels is one
        for block, corner, part in zip(np.searchsorted(keys, parents), (places[fine] & 1) * h, merged):
            x, y, z = corner
            cubes[block, x : x + h, y : y + h, z : z + h] += part
        self.keys, self.sums, self.finest = keys, sums, finest + 1
        return True
