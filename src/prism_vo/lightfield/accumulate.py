# SPDX-License-Identifier: Apache-2.0
"""Kernels that lay micro-images over a grid of samples of the TF image at one stereo slope and sum over the lenses.

Per sample p of the grid, over the lenses j that see it, with weights w_j and baseline vectors d_j = t − c_j:
``Σw, Σw², ΣwI, ΣwI²`` (enough for the matching cost) and ``Σw d, Σw dd, ΣwI d``; over the samples with four
neighbours in the same micro-image ``Σw, Σw∇I, ΣwI, ΣwI², ΣwB, ΣwIB``, B: the mean of the neighbours less the sample.
With slopes, the outermost samples are neighbours only: their own sums are not complete.
The lenses come in a fixed order whatever the samples, so a point and a whole image get the same sums.

Two kernels do the same with the steps of :mod:`~prism_vo.lightfield.sample_steps`: :func:`_sum_tile` for the few
samples about one point (TILE columns, with slopes), :func:`_sum_block` for many. The loops of a tile run over all
samples in multiples of LANES, so none is left for a slow remainder; for a block that would be mostly waste.
"""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from prism_vo.bilinear import EIGHT, between_eight
from prism_vo.compiled import njit
from prism_vo.lightfield.geometry import JACOBIAN_XX, JACOBIAN_XY, JACOBIAN_YX, JACOBIAN_YY
from prism_vo.lightfield.nearby import (
    CENTRE_X,
    CENTRE_Y,
    LENS_I,
    LENS_J,
    OFFSET_X,
    OFFSET_Y,
    PIXEL_X,
    PIXEL_Y,
    SHIFT_X,
    SHIFT_Y,
)
from prism_vo.lightfield.sample_steps import (
    GREY_OFFSET,
    OUTSIDE,
    ROUNDING_SHARE,
    STEPS_A_PIXEL,
    add_baselines,
    add_cost,
    add_neighbours,
    aim,
    in_float32,
    read_sample,
    weight_at,
)
from prism_vo.lightfield.workspace import (
    COLUMN,
    COST_SUMS,
    INSIDE,
    LANES,
    PAD,
    ROW,
    ROW_BELOW,
    STRIDE,
    SUMS,
    VALUE,
    WEIGHT,
    WEIGHTED,
    TileWorkspace,
    U,
    V,
    whole_lanes,
)


def accumulate(image, lenses, overlay, grid, workspace):  # type: ignore[no-untyped-def]
    """Sums for the samples of ``grid`` (raw px from the corner of ``lenses``) → rows of ``workspace.work``.

    ``image``: :class:`MatchingImage`; ``lenses``: :class:`NearbyLenses`; ``overlay``: :class:`Overlay`.
    """
    (_sum_tile if isinstance(workspace, TileWorkspace) else _sum_block)(
        image, lenses, overlay, grid, workspace
    )


@overload(accumulate)
def _accumulate(image, lenses, overlay, grid, workspace):  # type: ignore[no-untyped-def]
    """Inside kernels: which of the two is known when they are compiled, and the other one is not."""
    kernel = _sum_tile if workspace.instance_class is TileWorkspace else _sum_block

    def run(image, lenses, overlay, grid, workspace):  # type: ignore[no-untyped-def]
        kernel(image, lenses, overlay, grid, workspace)

    return run


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _sum_tile(image, lenses, overlay, grid, workspace):  # type: ignore[no-untyped-def]
    """Lens by lens in short passes (positions, memory reads, arithmetic and sums) over the rows the lens reaches."""
    f32, size = np.float32, np.uint64
    raw, work, pixel = image.pixels.ravel(), workspace.work, workspace.pixel
    parameters, cells, nx, ny = lenses.parameters, lenses.cells, grid.nx, grid.ny
    stride = overlay.stride
    width32, width = np.int32(image.pixels.shape[1]), size(image.pixels.shape[1])
    zero, offset, far_out, fine = f32(0.0), f32(GREY_OFFSET), f32(OUTSIDE), f32(STEPS_A_PIXEL)
    by = in_float32(image, overlay, grid)
    step, reach = by.step, by.reach
    rim = f32(overlay.radius * (1.0 - ROUNDING_SHARE))
    samples = whole_lanes(nx * ny)
    for s in range(SUMS):
        work[s * STRIDE + PAD : s * STRIDE + PAD + samples] = zero
    for n in range(lenses.in_use):
        shift_x, shift_y = parameters[n, SHIFT_X] * by.inv_slope, parameters[n, SHIFT_Y] * by.inv_slope
        home_x = parameters[n, CENTRE_X] + shift_x - by.left
        home_y = parameters[n, CENTRE_Y] + shift_y - by.top
        # the outer samples are there for gradients alone
        beside_x = max(abs(home_x - by.half_x) - by.half_x + step, zero)
        beside_y = max(abs(home_y - by.half_y) - by.half_y + step, zero)
        if beside_x * beside_x + beside_y * beside_y >= reach * reach:
            continue
        if stride > 1 and (cells[n, LENS_I] % stride != 0 or cells[n, LENS_J] % stride != 0):
            continue
        row0 = int(np.ceil((home_y - reach) * by.inv_step))
        row1 = int(np.floor((home_y + reach) * by.inv_step))
        # a row more to each side: neighbours for gradients
        first = max(0, (row0 - 1) * nx) // LANES * LANES + PAD
        last = min(samples, whole_lanes((row1 + 2) * nx)) + PAD
        row0, row1 = max(row0, 0), min(row1, ny - 1)
        base = size(STEPS_A_PIXEL) * (size(cells[n, PIXEL_Y]) * width + size(cells[n, PIXEL_X]))
        fx, fy = fine * parameters[n, OFFSET_X], fine * parameters[n, OFFSET_Y]
        home = np.int32(fy) * width32 + np.int32(fx)
        xx, xy = fine * parameters[n, JACOBIAN_XX], fine * parameters[n, JACOBIAN_XY]
        yx, yy = fine * parameters[n, JACOBIAN_YX], fine * parameters[n, JACOBIAN_YY]
        for t in range(first, last):
            k = size(t)
            rx, ry = (step * work[k + COLUMN] - home_x) * by.slope, (step * work[k + ROW] - home_y) * by.slope
            work[k + WEIGHT] = weight_at((rx * rx + ry * ry) * by.inv_radius2, by.fall)
            work[k + INSIDE] = rim - max(abs(rx), abs(ry))
            aim(work, pixel, k, fx + xx * rx + xy * ry, fy + yx * rx + yy * ry, width32)
            # all are read, also those beside the lens
            pixel[k] = pixel[k] if work[k + INSIDE] > zero else home
        for t in range(row0 * nx + PAD, (row1 + 1) * nx + PAD, EIGHT):
            between_eight(raw, base, width, pixel, work, size(t), U, V, VALUE)
        for t in range(first, last):
            k = size(t)
            value = work[k + VALUE]
            usable = min(value, work[k + INSIDE]) > zero
            weight = work[k + WEIGHT] if usable else zero
            value = value - offset if usable else far_out
            add_cost(work, k, weight, weight * value, value)
            work[k + WEIGHT] = weight
            work[k + VALUE] = value
        from_x, from_y = shift_x - home_x, shift_y - home_y
        for t in range(first, last):
            k = size(t)
            weight = work[k + WEIGHT]
            dx, dy = step * work[k + COLUMN] + from_x, step * work[k + ROW] + from_y
            add_baselines(work, k, weight, weight * work[k + VALUE], dx, dy)
        for t in range(first, last):
            k = size(t)
            add_neighbours(work, k, k, k + ROW_BELOW, k - ROW_BELOW)


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _sum_block(image, lenses, overlay, grid, workspace):  # type: ignore[no-untyped-def]
    """What :func:`_sum_tile` does, lens by lens on the rectangle the lens reaches."""
    f32, size = np.float32, np.uint64
    raw, work, pixel = image.pixels.ravel(), workspace.work, workspace.pixel
    parameters, cells, nx, ny = lenses.parameters, lenses.cells, grid.nx, grid.ny
    stride, with_slope = overlay.stride, overlay.with_slope
    width32, width = np.int32(image.pixels.shape[1]), size(image.pixels.shape[1])
    zero, offset, fine = f32(0.0), f32(GREY_OFFSET), f32(STEPS_A_PIXEL)
    by = in_float32(image, overlay, grid)
    step, reach, pace = by.step, by.reach, f32(grid.step * overlay.slope)
    for s in range(SUMS if with_slope else COST_SUMS):
        work[s * STRIDE + PAD : s * STRIDE + PAD + nx * ny] = zero
    rind = step if with_slope else zero  # the outer samples are there for gradients alone
    for n in range(lenses.in_use):
        shift_x, shift_y = parameters[n, SHIFT_X] * by.inv_slope, parameters[n, SHIFT_Y] * by.inv_slope
        centre_x, centre_y = parameters[n, CENTRE_X], parameters[n, CENTRE_Y]
        home_x, home_y = centre_x + shift_x - by.left, centre_y + shift_y - by.top
        if max(abs(home_x - by.half_x) - by.half_x, abs(home_y - by.half_y) - by.half_y) > reach - rind:
            continue
        row0 = max(0, int(np.ceil((home_y - reach) * by.inv_step)))
        row1 = min(ny - 1, int(np.floor((home_y + reach) * by.inv_step)))
        col0 = max(0, int(np.ceil((home_x - reach) * by.inv_step)))
        col1 = min(nx - 1, int(np.floor((home_x + reach) * by.inv_step)))
        rows, columns = row1 - row0 + 1, col1 - col0 + 1
        left_out = stride > 1 and (cells[n, LENS_I] % stride != 0 or cells[n, LENS_J] % stride != 0)
        if rows <= 0 or columns <= 0 or left_out:
            continue
        base = size(STEPS_A_PIXEL) * (size(cells[n, PIXEL_Y]) * width + size(cells[n, PIXEL_X]))
        fx, fy = fine * parameters[n, OFFSET_X], fine * parameters[n, OFFSET_Y]
        xx, xy = fine * parameters[n, JACOBIAN_XX], fine * parameters[n, JACOBIAN_XY]
        yx, yy = fine * parameters[n, JACOBIAN_YX], fine * parameters[n, JACOBIAN_YY]
        rx0 = (step * f32(col0) - home_x) * by.slope
        for row in range(rows):
            ry = (step * f32(row0 + row) - home_y) * by.slope
            row_x, row_y, row_r2, start = fx + xy * ry, fy + yy * ry, ry * ry, row * columns
            for t in range(columns):
                k, rx = size(start + t), rx0 + pace * f32(t)
                aim(work, pixel, k, row_x + xx * rx, row_y + yx * rx, width32)
                work[k + WEIGHT] = weight_at((rx * rx + row_r2) * by.inv_radius2, by.fall)
        for t in range(rows * columns):
            k = size(t)
            read_sample(work, k, raw, base + size(np.uint32(pixel[k])), width)
        for t in range(whole_lanes(rows * columns)):
            k = size(t)
            value = work[k + VALUE]
            weight = work[k + WEIGHT] if value > zero else zero
            work[k + WEIGHT] = weight
            work[k + VALUE] = value - offset
            work[k + WEIGHTED] = weight * (value - offset)
        for row in range(rows):
            first, start = (row0 + row) * nx + col0 + PAD, row * columns
            for t in range(columns):
                k, p = size(start + t), size(first + t)
                add_cost(work, p, work[k + WEIGHT], work[k + WEIGHTED], work[k + VALUE])
            if not with_slope:
                continue
            dy, dx0 = (step * f32(row0 + row) - home_y) + shift_y, rx0 * by.inv_slope + shift_x
            for t in range(columns):
                k, p = size(start + t), size(first + t)
                add_baselines(work, p, work[k + WEIGHT], work[k + WEIGHTED], dx0 + step * f32(t), dy)
            if row == 0 or row == rows - 1:
                continue
            for t in range(1, columns - 1):
                k, p = size(start + t), size(first + t)
                add_neighbours(work, p, k, size(start + t + columns), size(start + t - columns))
