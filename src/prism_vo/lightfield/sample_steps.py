# SPDX-License-Identifier: Apache-2.0
"""The steps from a lens and a sample to its share of the sums, common to the kernels for tiles and for blocks.

Each is compiled into the loops that call it. ``work`` is that of :class:`~prism_vo.lightfield.workspace.Workspace`, k
and p are positions in its rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_vo.bilinear import between_values
from prism_vo.compiled import njit
from prism_vo.lightfield.workspace import (
    GB,
    GI,
    GIB,
    GII,
    GX,
    GY,
    NEXT,
    VALUE,
    W2,
    WEIGHT,
    WI,
    WII,
    WIX,
    WIY,
    WX,
    WXX,
    WXY,
    WY,
    WYY,
    G,
    U,
    V,
    W,
)

GREY_OFFSET = 128.0  # subtracted from intensities: keeps float32 sums of squares accurate
RIM = 0.1  # outer share of a micro-image's area over which weights ramp down: no lens leaves a window with a jump
ROUNDING_SHARE = 1e-4  # of the radius: no rounding lets a sample in that was not read
STEPS_A_PIXEL = 2  # of the matching image: it holds values at raw pixels and half-way between them
# marks raw pixels that must not be used: a sample that touches one is strongly negative
OUTSIDE = np.float32(-1e9)


class InFloat32(NamedTuple):
    """What the loops need of an overlay and a grid of samples, in the type they calculate with."""

    slope: np.float32
    inv_slope: np.float32
    reach: np.float32  # of a micro-image on the TF grid, raw px
    inv_radius2: np.float32
    fall: np.float32
    left: np.float32
    top: np.float32
    step: np.float32
    inv_step: np.float32
    half_x: np.float32  # half the width of the grid
    half_y: np.float32


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy", inline="always")
def in_float32(image, overlay, grid):  # type: ignore[no-untyped-def]
    """→ :class:`InFloat32`."""
    f32, slope, radius = np.float32, overlay.slope, overlay.radius
    return InFloat32(
        f32(slope),
        f32(1.0 / slope),
        f32(radius / slope),
        f32(1.0 / (radius * radius)),
        f32(image.fall),
        f32(grid.x0),
        f32(grid.y0),
        f32(grid.step),
        f32(1.0 / grid.step),
        f32(0.5 * grid.step * (grid.nx - 1)),
        f32(0.5 * grid.step * (grid.ny - 1)),
    )


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy", inline="always")
def weight_at(q, fall):  # type: ignore[no-untyped-def]
    """Weight of a sample at the relative area q = r²/R² of a micro-image: the ramp at the rim times transmission."""
    zero, one = np.float32(0.0), np.float32(1.0)
    return max(min(one, (one - q) * np.float32(1.0 / RIM)), zero) * (one - fall * q)


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy", inline="always")
def aim(work, pixel, k, x, y, width):  # type: ignore[no-untyped-def]
    """Whole pixel and fractions of the position (x, y), which is positive."""
    column, row = np.int32(x), np.int32(y)
    work[k + U], work[k + V] = x - np.float32(column), y - np.float32(row)
    pixel[k] = row * width + column


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy", inline="always")
def read_sample(work, k, raw, at, width):  # type: ignore[no-untyped-def]
    """The bilinear sample, from memory."""
    work[k + VALUE] = between_values(raw, at, width, work[k + U], work[k + V])


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy", inline="always")
def add_cost(work, p, weight, weighted, value):  # type: ignore[no-untyped-def]
    """``Σw, Σw², ΣwI, ΣwI²``; ``weighted``: weight times value."""
    work[p + W] += weight
    work[p + W2] += weight * weight
    work[p + WI] += weighted
    work[p + WII] += weighted * value


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy", inline="always")
def add_baselines(work, p, weight, weighted, dx, dy):  # type: ignore[no-untyped-def]
    """``Σw d, Σw dd, ΣwI d``."""
    along_x, along_y = weight * dx, weight * dy
    work[p + WX] += along_x
    work[p + WY] += along_y
    work[p + WXX] += along_x * dx
    work[p + WXY] += along_x * dy
    work[p + WYY] += along_y * dy
    work[p + WIX] += weighted * dx
    work[p + WIY] += weighted * dy


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy", inline="always")
def add_neighbours(work, p, k, k_below, k_above):  # type: ignore[no-untyped-def]
    """``Σw, Σw∇I, ΣwI, ΣwI², ΣwB, ΣwIB``: differences within one micro-image, mixing lenses would bias."""
    right, left = work[k + (VALUE + NEXT)], work[k + (VALUE - NEXT)]
    below, above = work[k_below + VALUE], work[k_above + VALUE]
    all_known = min(min(right, left), min(below, above)) > np.float32(-GREY_OFFSET)
    weight = work[k + WEIGHT] if all_known else np.float32(0.0)
    work[p + G] += weight
    work[p + GX] += weight * (right - left)
    work[p + GY] += weight * (below - above)
    value = work[k + VALUE]
    bend = weight * (np.float32(0.25) * ((right + left) + (below + above)) - value)
    weighted = weight * value
    work[p + GI] += weighted
    work[p + GII] += weighted * value
    work[p + GB] += bend
    work[p + GIB] += bend * value
