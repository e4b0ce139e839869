# SPDX-License-Identifier: Apache-2.0
"""Kernels that lay micro-images over a box of samples of the TF grid at one stereo slope and sum over the lenses.

Per sample p of the box, over the lenses j that see it, with weights w_j and baseline vectors d_j = t − c_j:
``Σw, Σw², ΣwI, ΣwI²`` (enough for the matching cost) and ``Σw d, ΣwI d``; over the samples with four neighbours in
the same micro-image ``Σw, Σw∇I, ΣwI, ΣwI², ΣwB, ΣwIB``, B: the mean of the neighbours less the sample. With slopes, the
outermost samples are neighbours only: their own sums are not complete.
The lenses come in a fixed order whatever the samples, so a point and a whole image get the same sums.

All values lie in the rows of one working array, at distances known when the kernels are compiled: only then does the
compiler see that no loop overwrites what it reads, and vectorises them. Two kernels do the same: :func:`_sum_tile`
for the few samples about one point (TILE columns), :func:`_sum_block` for many. The loops of a tile run over all
samples in multiples of LANES, so none is left for a slow remainder; for a block that would be mostly waste.
"""

from __future__ import annotations

import numpy as np
from numba import njit

W, W2, WI, WII, WX, WY, WIX, WIY, G, GX, GY, GI, GII, GB, GIB = range(15)
SUMS = 15
COST_SUMS = 4
COLUMN, ROW, TAP, U, V, WEIGHT, INSIDE, VALUE = 15, 16, 17, 21, 22, 23, 24, 25
LANES = 32  # samples the compiled loops advance by: 8 floats a register, four at a time
TILE = 8  # columns of a tile with slopes: the neighbours above and below, too, are at a fixed distance
WIDEST = 54  # samples a side of the largest box
PAD = 32  # samples before and after: neighbours of the first and the last row
STRIDE = WIDEST * WIDEST + 2 * PAD  # between rows of the working array
WORK = 26 * STRIDE
GREY_OFFSET = 128.0  # subtracted from intensities: keeps float32 sums of squares accurate
RIM = 0.4  # outer share of a micro-image's area over which weights ramp down to zero
OUTSIDE = np.float32(
    -1e9
)  # marks raw pixels that must not be used: a sample that touches one is strongly negative


@njit(nogil=True, cache=True)
def new_work(columns):  # type: ignore[no-untyped-def]
    """Working array; sum s of sample p lies at s·STRIDE + PAD + p. ``columns``: of boxes that are tiles, or 0."""
    work = np.zeros(WORK, np.float32)
    if 0 < columns <= TILE:
        for k in range(TILE * TILE):
            work[COLUMN * STRIDE + PAD + k], work[ROW * STRIDE + PAD + k] = k % columns, k // columns
    return work


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _sum_tile(  # type: ignore[no-untyped-def]
    raw, near, where, count, radius, slope, stride, fall, x0, y0, step, nx, ny, with_slope, at, z
):
    """Lens by lens in short passes (positions, memory reads, arithmetic and sums) over the rows the lens reaches."""
    f32, size = np.float32, np.uint64
    width32, width, one_on = np.int32(raw.shape[1]), size(raw.shape[1]), size(1)
    flat = raw.ravel()
    zero, one, offset, ramp, far_out = f32(0.0), f32(1.0), f32(GREY_OFFSET), f32(1.0 / RIM), f32(OUTSIDE)
    quarter = f32(0.25)
    h, inv_h, inv_step = f32(slope), f32(1.0 / slope), f32(1.0 / step)
    reach, inv_r2, drop = f32(radius / slope), f32(1.0 / (radius * radius)), f32(fall)
    rim = f32(radius * (1.0 - 1e-4))  # no rounding lets a sample in that was not read
    left, top, dt = f32(x0), f32(y0), f32(step)
    half_x, half_y = f32(0.5 * step * (nx - 1)), f32(0.5 * step * (ny - 1))
    samples = (nx * ny + LANES - 1) // LANES * LANES
    for s in range(SUMS if with_slope else COST_SUMS):
        z[s * STRIDE + PAD : s * STRIDE + PAD + samples] = zero
    stop, rind = -offset, dt if with_slope else zero  # the outer samples are there for gradients alone
    for n in range(count):
        shift_x, shift_y = near[n, 2] * inv_h, near[n, 3] * inv_h
        home_x, home_y = near[n, 0] + shift_x - left, near[n, 1] + shift_y - top
        beside_x = max(abs(home_x - half_x) - half_x + rind, zero)
        beside_y = max(abs(home_y - half_y) - half_y + rind, zero)
        if beside_x * beside_x + beside_y * beside_y >= reach * reach:
            continue
        if stride > 1 and (where[n, 2] % stride != 0 or where[n, 3] % stride != 0):
            continue
        row0, row1 = int(np.ceil((home_y - reach) * inv_step)), int(np.floor((home_y + reach) * inv_step))
        col0, col1 = int(np.ceil((home_x - reach) * inv_step)), int(np.floor((home_x + reach) * inv_step))
        # a row more to each side: neighbours for gradients
        first = max(0, (row0 - 1) * nx) // LANES * LANES + PAD
        last = min(samples, ((row1 + 2) * nx + LANES - 1) // LANES * LANES) + PAD
        row0, row1, col0, col1 = max(row0, 0), min(row1, ny - 1), max(col0, 0), min(col1, nx - 1)
        base = size(where[n, 1]) * width + size(where[n, 0])
        fx, fy, a, b, c, d = near[n, 4], near[n, 5], near[n, 6], near[n, 7], near[n, 8], near[n, 9]
        for t in range(first, last):
            k = size(t)
            rx, ry = (
                (dt * z[k + size(COLUMN * STRIDE)] - home_x) * h,
                (dt * z[k + size(ROW * STRIDE)] - home_y) * h,
            )
            q = (rx * rx + ry * ry) * inv_r2
            z[k + size(WEIGHT * STRIDE)] = max(min(one, (one - q) * ramp), zero) * (one - drop * q)
            z[k + size(INSIDE * STRIDE)] = rim - max(abs(rx), abs(ry))
            px, py = fx + a * rx + b * ry, fy + c * rx + d * ry
            x, y = np.int32(px), np.int32(py)
            z[k + size(U * STRIDE)], z[k + size(V * STRIDE)] = px - f32(x), py - f32(y)
            at[k - size(PAD)] = y * width32 + x
        for row in range(row0, row1 + 1):  # memory is read only where the lens is
            for t in range(row * nx + col0, row * nx + col1 + 1):
                k = size(t + PAD)
                p = base + size(np.uint32(at[size(t)]))
                z[k + size(TAP * STRIDE)], z[k + size((TAP + 1) * STRIDE)] = flat[p], flat[p + one_on]
                z[k + size((TAP + 2) * STRIDE)] = flat[p + width]
                z[k + size((TAP + 3) * STRIDE)] = flat[p + width + one_on]
        for t in range(first, last):
            k = size(t)
            u, i00, i10 = z[k + size(U * STRIDE)], z[k + size(TAP * STRIDE)], z[k + size((TAP + 2) * STRIDE)]
            upper = i00 + u * (z[k + size((TAP + 1) * STRIDE)] - i00)
            lower = i10 + u * (z[k + size((TAP + 3) * STRIDE)] - i10)
            value = upper + z[k + size(V * STRIDE)] * (lower - upper)
            usable = min(value, z[k + size(INSIDE * STRIDE)]) > zero
            weight = z[k + size(WEIGHT * STRIDE)] if usable else zero
            value = value - offset if usable else far_out
            weighted = weight * value
            z[k + size(W * STRIDE)] += weight
            z[k + size(W2 * STRIDE)] += weight * weight
            z[k + size(WI * STRIDE)] += weighted
            z[k + size(WII * STRIDE)] += weighted * value
            z[k + size(WEIGHT * STRIDE)] = weight
            z[k + size(VALUE * STRIDE)] = value
        if not with_slope:
            continue
        from_x, from_y = shift_x - home_x, shift_y - home_y
        for t in range(first, last):
            k = size(t)
            weight = z[k + size(WEIGHT * STRIDE)]
            weighted = weight * z[k + size(VALUE * STRIDE)]
            dx = dt * z[k + size(COLUMN * STRIDE)] + from_x
            dy = dt * z[k + size(ROW * STRIDE)] + from_y
            z[k + size(WX * STRIDE)] += weight * dx
            z[k + size(WY * STRIDE)] += weight * dy
            z[k + size(WIX * STRIDE)] += weighted * dx
            z[k + size(WIY * STRIDE)] += weighted * dy
        for t in range(first, last):  # differences within one micro-image: mixing lenses would bias
            k = size(t)
            right, left_ = z[k + size(VALUE * STRIDE + 1)], z[k + size(VALUE * STRIDE - 1)]
            below, above = z[k + size(VALUE * STRIDE + TILE)], z[k + size(VALUE * STRIDE - TILE)]
            weight = (
                z[k + size(WEIGHT * STRIDE)] if min(min(right, left_), min(below, above)) > stop else zero
            )
            z[k + size(G * STRIDE)] += weight
            z[k + size(GX * STRIDE)] += weight * (right - left_)
            z[k + size(GY * STRIDE)] += weight * (below - above)
            value = z[k + size(VALUE * STRIDE)]
            bend = weight * (quarter * ((right + left_) + (below + above)) - value)
            weighted = weight * value
            z[k + size(GI * STRIDE)] += weighted
            z[k + size(GII * STRIDE)] += weighted * value
            z[k + size(GB * STRIDE)] += bend
            z[k + size(GIB * STRIDE)] += bend * value


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _sum_block(  # type: ignore[no-untyped-def]
    raw, near, where, count, radius, slope, stride, fall, x0, y0, step, nx, ny, with_slope, at, z
):
    """What :func:`_sum_tile` does, lens by lens on the rectangle the lens reaches."""
    f32, size = np.float32, np.uint64
    width32, width, one_on = np.int32(raw.shape[1]), size(raw.shape[1]), size(1)
    flat = raw.ravel()
    zero, one, offset, ramp = f32(0.0), f32(1.0), f32(GREY_OFFSET), f32(1.0 / RIM)
    quarter = f32(0.25)
    h, inv_h, inv_step = f32(slope), f32(1.0 / slope), f32(1.0 / step)
    reach, pace, inv_r2, drop = (
        f32(radius / slope),
        f32(step * slope),
        f32(1.0 / (radius * radius)),
        f32(fall),
    )
    left, top, dt = f32(x0), f32(y0), f32(step)
    half_x, half_y = f32(0.5 * step * (nx - 1)), f32(0.5 * step * (ny - 1))
    for s in range(SUMS if with_slope else COST_SUMS):
        z[s * STRIDE + PAD : s * STRIDE + PAD + nx * ny] = zero
    stop, rind = -offset, dt if with_slope else zero  # the outer samples are there for gradients alone
    for n in range(count):
        shift_x, shift_y = near[n, 2] * inv_h, near[n, 3] * inv_h
        home_x, home_y = near[n, 0] + shift_x - left, near[n, 1] + shift_y - top
        if max(abs(home_x - half_x) - half_x, abs(home_y - half_y) - half_y) > reach - rind:
            continue
        row0, row1 = (
            max(0, int(np.ceil((home_y - reach) * inv_step))),
            min(ny - 1, int(np.floor((home_y + reach) * inv_step))),
        )
        col0, col1 = (
            max(0, int(np.ceil((home_x - reach) * inv_step))),
            min(nx - 1, int(np.floor((home_x + reach) * inv_step))),
        )
        rows, m = row1 - row0 + 1, col1 - col0 + 1
        if rows <= 0 or m <= 0 or (stride > 1 and (where[n, 2] % stride != 0 or where[n, 3] % stride != 0)):
            continue
        base = size(where[n, 1]) * width + size(where[n, 0])
        fx, fy, a, b, c, d = near[n, 4], near[n, 5], near[n, 6], near[n, 7], near[n, 8], near[n, 9]
        rx0 = (dt * f32(col0) - home_x) * h
        for row in range(rows):
            ry = (dt * f32(row0 + row) - home_y) * h
            ax, ay, q0, start = fx + b * ry, fy + d * ry, ry * ry, row * m
            for t in range(m):
                rx = rx0 + pace * f32(t)
                px, py = ax + a * rx, ay + c * rx
                x, y = np.int32(px), np.int32(py)
                k = size(start + t)
                z[k + size(U * STRIDE)], z[k + size(V * STRIDE)] = px - f32(x), py - f32(y)
                at[k] = y * width32 + x
                q = (rx * rx + q0) * inv_r2
                z[k + size(WEIGHT * STRIDE)] = max(min(one, (one - q) * ramp), zero) * (one - drop * q)
        total = rows * m
        for t in range(total):
            k, p = size(t), base + size(np.uint32(at[size(t)]))
            z[k + size(TAP * STRIDE)], z[k + size((TAP + 1) * STRIDE)] = flat[p], flat[p + one_on]
            z[k + size((TAP + 2) * STRIDE)] = flat[p + width]
            z[k + size((TAP + 3) * STRIDE)] = flat[p + width + one_on]
        for t in range((total + LANES - 1) // LANES * LANES):
            k = size(t)
            u, i00, i10 = z[k + size(U * STRIDE)], z[k + size(TAP * STRIDE)], z[k + size((TAP + 2) * STRIDE)]
            upper = i00 + u * (z[k + size((TAP + 1) * STRIDE)] - i00)
            lower = i10 + u * (z[k + size((TAP + 3) * STRIDE)] - i10)
            value = upper + z[k + size(V * STRIDE)] * (lower - upper)
            usable = value > zero
            weight = z[k + size(WEIGHT * STRIDE)] if usable else zero
            z[k + size(WEIGHT * STRIDE)] = weight
            z[k + size(VALUE * STRIDE)] = value - offset
            z[k + size(TAP * STRIDE)] = weight * (value - offset)
        for row in range(rows):
            first, start = (row0 + row) * nx + col0 + PAD, row * m
            for t in range(m):
                k, p = size(start + t), size(first + t)
                weight, weighted = z[k + size(WEIGHT * STRIDE)], z[k + size(TAP * STRIDE)]
                z[p + size(W * STRIDE)] += weight
                z[p + size(W2 * STRIDE)] += weight * weight
                z[p + size(WI * STRIDE)] += weighted
                z[p + size(WII * STRIDE)] += weighted * z[k + size(VALUE * STRIDE)]
            if not with_slope:
                continue
            dy, dx0 = (dt * f32(row0 + row) - home_y) + shift_y, rx0 * inv_h + shift_x
            for t in range(m):
                k, p = size(start + t), size(first + t)
                weight, weighted, dx = (
                    z[k + size(WEIGHT * STRIDE)],
                    z[k + size(TAP * STRIDE)],
                    dx0 + dt * f32(t),
                )
                z[p + size(WX * STRIDE)] += weight * dx
                z[p + size(WY * STRIDE)] += weight * dy
                z[p + size(WIX * STRIDE)] += weighted * dx
                z[p + size(WIY * STRIDE)] += weighted * dy
            if row == 0 or row == rows - 1:
                continue
            for t in range(1, m - 1):  # differences within one micro-image: mixing lenses would bias
                k, p = size(start + t), size(first + t)
                right, left_ = z[k + size(VALUE * STRIDE + 1)], z[k + size(VALUE * STRIDE - 1)]
                below = z[size(start + t + m) + size(VALUE * STRIDE)]
                above = z[size(start + t - m) + size(VALUE * STRIDE)]
                weight = (
                    z[k + size(WEIGHT * STRIDE)] if min(min(right, left_), min(below, above)) > stop else zero
                )
                z[p + size(G * STRIDE)] += weight
                z[p + size(GX * STRIDE)] += weight * (right - left_)
                z[p + size(GY * STRIDE)] += weight * (below - above)
                value = z[k + size(VALUE * STRIDE)]
                bend = weight * (quarter * ((right + left_) + (below + above)) - value)
                weighted = weight * value
                z[p + size(GI * STRIDE)] += weighted
                z[p + size(GII * STRIDE)] += weighted * value
                z[p + size(GB * STRIDE)] += bend
                z[p + size(GIB * STRIDE)] += bend * value


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def accumulate(  # type: ignore[no-untyped-def]
    raw, near, where, count, radius, slope, stride, fall, x0, y0, step, nx, ny, with_slope, at, work
):
    """Sums for the samples ``(x0 + step·col, y0 + step·row)``, col < nx, row < ny, raw px from the box of ``near``.

    ``raw``: padded image. ``fall``: transmission V = 1 − fall·q at relative area q = r²/R². ``stride``: use every n-th
    lens. ``work``: of :func:`new_work`; ``at``: scratch.
    """
    box = (raw, near, where, count, radius, slope, stride, fall, x0, y0, step, nx, ny, with_slope)
    made_for_tiles = work[COLUMN * STRIDE + PAD + 1] > 0.0
    if made_for_tiles and (nx == TILE or not with_slope):
        _sum_tile(*box, at, work)
    else:
        _sum_block(*box, at, work)
