# SPDX-License-Identifier: Apache-2.0
"""The working array of the kernels: one flat array of rows, a row for each sum or intermediate value of a sample.

The rows lie at distances known when the kernels are compiled: only then does the compiler see that no loop overwrites
what it reads, and vectorises them. ``work[k + WEIGHT]`` is the weight of the sample at position k of the row; sample
number n has k = PAD + n. Positions are unsigned, or every access would test for a negative index.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_vo.arrays import Floats, Integers
from prism_vo.compiled import njit

LANES = 32  # samples the compiled loops advance by: 8 floats a register, four at a time
TILE = 8  # columns of a tile with slopes: the neighbours above and below, too, are at a fixed distance
WIDEST = 54  # samples a side of the largest box
PAD = 32  # samples before and after: neighbours of the first and the last row
STRIDE = WIDEST * WIDEST + 2 * PAD  # between rows of the working array
ROWS = 27
SUMS = 18  # the first rows: sums over lenses
COST_SUMS = 4  # the first of these, which the matching cost needs


def row_offset(row: int) -> np.uint64:
    """Where a row begins, as the kernels add it to the position of a sample."""
    return np.uint64(row * STRIDE)


# sums over lenses: w weight, i intensity, x and y baseline; over samples with neighbours g, their gradients and bend b
W, W2, WI, WII, WX, WY, WIX, WIY, WXX, WXY, WYY, G, GX, GY, GI, GII, GB, GIB = map(row_offset, range(SUMS))
COLUMN, ROW = row_offset(18), row_offset(19)  # of the samples of a tile
DOWN, ALONG = row_offset(20), row_offset(21)  # window sums, once the sums over lenses are complete
WEIGHTED = DOWN  # weight times value, of a block
U, V = row_offset(22), row_offset(23)  # where between four values of the image a position lies
WEIGHT, INSIDE, VALUE = map(row_offset, range(24, ROWS))
NEXT, ROW_BELOW = np.uint64(1), np.uint64(TILE)  # distances of neighbours in a row and in a tile


class TileWorkspace(NamedTuple):
    """What one thread works in, for tiles."""

    work: Floats  # (ROWS · STRIDE,)
    pixel: Integers  # (STRIDE,): where a sample reads the image, counted from one near its lens


class BlockWorkspace(NamedTuple):
    """The same for blocks: kernels go another way with it, and compile only the way they go."""

    work: Floats
    pixel: Integers


Workspace = TileWorkspace | BlockWorkspace


def block_workspace() -> BlockWorkspace:
    """For any samples that fit a box."""
    return BlockWorkspace(np.zeros(ROWS * STRIDE, np.float32), np.zeros(STRIDE, np.int32))


def workspace_for(columns: int) -> Workspace:
    """For the samples about a point, so many in a row: where they make a tile, for that."""
    work, pixel = block_workspace()
    if columns != TILE:
        return BlockWorkspace(work, pixel)
    n = np.arange(TILE * TILE)
    work[n + (PAD + int(COLUMN))], work[n + (PAD + int(ROW))] = n % TILE, n // TILE
    return TileWorkspace(work, pixel)


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def whole_lanes(samples):  # type: ignore[no-untyped-def]
    """The next multiple of LANES: loops of such lengths leave no slow remainder."""
    return (samples + LANES - 1) // LANES * LANES
