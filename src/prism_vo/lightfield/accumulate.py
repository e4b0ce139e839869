# SPDX-License-Identifier: Apache-2.0
"""Kernels that lay micro-images over samples of the TF grid at one stereo slope and sum over the lenses.

Per sample p of the tile, over the lenses j that see it, with weights w_j and baseline vectors d_j = t − c_j:
``Σw, Σw², ΣwI, ΣwI²`` (enough for the matching cost) and ``Σw d, ΣwI d``, and the gradient ``Σw, Σw∇I`` over the
samples with four neighbours in the same micro-image (its derivative by the slope).
The lenses come in a fixed order whatever the samples, so a point and a whole image get the same sums.

Two kernels do the same: :func:`accumulate_tile` for the few samples about one point, :func:`accumulate_block` for
thousands; :func:`accumulate` takes the first when it is given a tile. A tile's working values lie in one array, row
after row at distances known when the kernel is compiled: only then does the compiler see that no loop overwrites what
it reads, and vectorises them. Its loops run over all samples in multiples of LANES, so none is left for a slow
remainder; for a block that would be mostly waste.
"""

from __future__ import annotations

import numpy as np
from numba import njit

W, W2, WI, WII, WX, WY, WIX, WIY, G, GX, GY = range(11)
SUMS = 11
COST_SUMS = 4
COLUMN, ROW, TAP, U, V, WEIGHT, INSIDE, VALUE, WEIGHTED = 11, 12, 13, 17, 18, 19, 20, 21, 22
LANES = 32  # samples the compiled loops advance by: 8 floats a register, four at a time
MOST_SAMPLES = 128  # of a tile
PAD = 32  # samples before and after: neighbours of the first and the last row
STRIDE = MOST_SAMPLES + 2 * PAD  # between rows of the working array
WORK = 23 * STRIDE
GREY_OFFSET = 128.0  # subtracted from intensities: keeps float32 sums of squares accurate
RIM = 0.4  # outer share of a micro-image's area over which weights ramp down to zero
OUTSIDE = np.float32(
    -1e9
)  # marks raw pixels that must not be used: a sample that touches one is strongly negative


@njit(nogil=True, cache=True)
def new_tile(nx):  # type: ignore[no-untyped-def]
    """A working array for square tiles ``nx`` samples wide; empty where that is no tile (0, or too large)."""
    if nx == 0 or nx * nx > MOST_SAMPLES:
        return np.zeros(0, np.float32)
    work = np.zeros(WORK, np.float32)
    for k in range(MOST_SAMPLES):
        work[COLUMN * STRIDE + PAD + k], work[ROW * STRIDE + PAD + k] = k % nx, k // nx
    return work


@njit(nogil=True, cache=True, fastmath=True)
def _lens_range(grid, slope, x0, y0, x1, y1):  # type: ignore[no-untyped-def]
    """Rows and columns of the lens index that may see the box; ``grid`` is built by ``matcher.lens_grid``."""
    lam, cx, cy, margin, radius = grid[0], grid[1], grid[2], grid[3], grid[4]
    home = slope / (1.0 - lam * (1.0 - slope))  # TF position → micro-image that shows it at its centre
    reach = radius / slope * home + margin
    i_lo, i_hi, j_lo, j_hi = 1e9, -1e9, 1e9, -1e9
    for corner in range(4):
        x = (x1 - cx) * home + cx + reach if corner & 1 else (x0 - cx) * home + cx - reach
        y = (y1 - cy) * home + cy + reach if corner & 2 else (y0 - cy) * home + cy - reach
        i = grid[7] * (x - grid[5]) + grid[9] * (y - grid[6])
        j = grid[8] * (x - grid[5]) + grid[10] * (y - grid[6])
        i_lo, i_hi, j_lo, j_hi = min(i_lo, i), max(i_hi, i), min(j_lo, j), max(j_hi, j)
    return int(np.floor(i_lo)), int(np.ceil(i_hi)), int(np.floor(j_lo)), int(np.ceil(j_hi))


@njit(nogil=True, cache=True, fastmath=True)
def gather_lenses(lenses, index, grid, slope, pad, x0, y0, x1, y1, near, where):  # type: ignore[no-untyped-def]
    """Copy the lenses that may see the box at ``slope`` or more, relative to (x0, y0); returns how many.

    ``near`` (M, 10): columns of ``lenses`` with the stereo and image centres relative to the box, the measured
    centre as offset from the raw pixel ``where[:, :2]``; ``where[:, 2:]``: i, j. ``pad``: border of the raw image.
    """
    i_min, j_min = int(grid[11]), int(grid[12])
    i_lo, i_hi, j_lo, j_hi = _lens_range(grid, slope, x0, y0, x1, y1)
    i_lo, i_hi = max(i_lo, i_min), min(i_hi, i_min + index.shape[1] - 1)
    j_lo, j_hi = max(j_lo, j_min), min(j_hi, j_min + index.shape[0] - 1)
    reach = grid[4] / slope
    count = 0
    for j in range(j_lo, j_hi + 1):
        for i in range(i_lo, i_hi + 1):
            n = index[j - j_min, i - i_min]
            if n < 0 or count == near.shape[0]:
                continue
            cx, cy = lenses[n, 0], lenses[n, 1]
            home_x, home_y = cx + (lenses[n, 2] - cx) / slope, cy + (lenses[n, 3] - cy) / slope
            loose = (
                reach + abs(home_x - cx) + abs(home_y - cy)
            )  # the home of a focal view moves with the slope
            if home_x + loose < x0 or home_x - loose > x1 or home_y + loose < y0 or home_y - loose > y1:
                continue
            base_x, base_y = np.floor(lenses[n, 4]), np.floor(lenses[n, 5])
            near[count, 0], near[count, 1] = cx - x0, cy - y0
            near[count, 2], near[count, 3] = lenses[n, 2] - cx, lenses[n, 3] - cy
            near[count, 4], near[count, 5] = lenses[n, 4] - base_x + pad, lenses[n, 5] - base_y + pad
            for c in range(6, 10):
                near[count, c] = lenses[n, c]
            where[count, 0], where[count, 1], where[count, 2], where[count, 3] = (
                int(base_x),
                int(base_y),
                i,
                j,
            )
            count += 1
    return count


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def accumulate_tile(  # type: ignore[no-untyped-def]
    raw, near, where, count, radius, slope, stride, fall, x0, y0, step, nx, ny, with_slope, z, at, sums
):
    """Fill ``sums[:, row * nx + col]`` for the samples ``(x0 + step·col, y0 + step·row)``, raw px from the box.

    ``raw``: padded image. ``fall``: transmission V = 1 − fall·q at relative area q = r²/R². ``stride``: use
    every n-th lens. ``z``: of :func:`new_tile`, ``at``: scratch. Works lens by lens in short passes (positions, memory
    reads, arithmetic, sums) over the rows of the tile it reaches.
    """
    f32, size = np.float32, np.uint64
    width32, width, one_on = np.int32(raw.shape[1]), size(raw.shape[1]), size(1)
    flat = raw.ravel()
    zero, one, offset, ramp, far_out = f32(0.0), f32(1.0), f32(GREY_OFFSET), f32(1.0 / RIM), f32(OUTSIDE)
    h, inv_h, inv_step = f32(slope), f32(1.0 / slope), f32(1.0 / step)
    reach, border, inv_r2, drop = f32(radius / slope), f32(radius), f32(1.0 / (radius * radius)), f32(fall)
    left, top, dt = f32(x0), f32(y0), f32(step)
    half_x, half_y = f32(0.5 * step * (nx - 1)), f32(0.5 * step * (ny - 1))
    samples = (nx * ny + LANES - 1) // LANES * LANES
    for s in range(SUMS if with_slope else COST_SUMS):
        z[s * STRIDE + PAD : s * STRIDE + PAD + samples] = zero
    stop = -offset
    for n in range(count):
        shift_x, shift_y = near[n, 2] * inv_h, near[n, 3] * inv_h
        home_x, home_y = near[n, 0] + shift_x - left, near[n, 1] + shift_y - top
        if abs(home_x - half_x) > reach + half_x or abs(home_y - half_y) > reach + half_y:
            continue
        if stride > 1 and (where[n, 2] % stride != 0 or where[n, 3] % stride != 0):
            continue
        # a row more to each side: neighbours for gradients
        row0, row1 = (
            int(np.ceil((home_y - reach) * inv_step)) - 1,
            int(np.floor((home_y + reach) * inv_step)) + 1,
        )
        first = max(0, row0 * nx) // LANES * LANES + PAD
        last = min(samples, ((row1 + 1) * nx + LANES - 1) // LANES * LANES) + PAD
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
            z[k + size(INSIDE * STRIDE)] = border - max(abs(rx), abs(ry))
            rx, ry = min(max(rx, -border), border), min(max(ry, -border), border)  # never far from the lens
            px, py = fx + a * rx + b * ry, fy + c * rx + d * ry
            x, y = np.int32(px), np.int32(py)
            z[k + size(U * STRIDE)], z[k + size(V * STRIDE)] = px - f32(x), py - f32(y)
            at[k - size(PAD)] = y * width32 + x
        for t in range(first, last):
            k = size(t)
            p = base + size(np.uint32(at[k - size(PAD)]))
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
            z[k + size(WEIGHT * STRIDE)] = weight
            z[k + size(VALUE * STRIDE)] = value
            z[k + size(WEIGHTED * STRIDE)] = weight * value
        for t in range(first, last):
            k = size(t)
            weight, weighted = z[k + size(WEIGHT * STRIDE)], z[k + size(WEIGHTED * STRIDE)]
            z[k + size(W * STRIDE)] += weight
            z[k + size(W2 * STRIDE)] += weight * weight
            z[k + size(WI * STRIDE)] += weighted
            z[k + size(WII * STRIDE)] += weighted * z[k + size(VALUE * STRIDE)]
        if not with_slope:
            continue
        from_x, from_y = shift_x - home_x, shift_y - home_y
        for t in range(first, last):
            k = size(t)
            weight, weighted = z[k + size(WEIGHT * STRIDE)], z[k + size(WEIGHTED * STRIDE)]
            dx = dt * z[k + size(COLUMN * STRIDE)] + from_x
            dy = dt * z[k + size(ROW * STRIDE)] + from_y
            z[k + size(WX * STRIDE)] += weight * dx
            z[k + size(WY * STRIDE)] += weight * dy
            z[k + size(WIX * STRIDE)] += weighted * dx
            z[k + size(WIY * STRIDE)] += weighted * dy
        for t in range(first, last):  # differences within one micro-image: mixing lenses would bias
            k = size(t)
            right, left_ = z[k + size(VALUE * STRIDE + 1)], z[k + size(VALUE * STRIDE - 1)]
            below, above = z[size(t + nx) + size(VALUE * STRIDE)], z[size(t - nx) + size(VALUE * STRIDE)]
            weight = (
                z[k + size(WEIGHT * STRIDE)] if min(min(right, left_), min(below, above)) > stop else zero
            )
            z[k + size(G * STRIDE)] += weight
            z[k + size(GX * STRIDE)] += weight * (right - left_)
            z[k + size(GY * STRIDE)] += weight * (below - above)
    for s in range(SUMS if with_slope else COST_SUMS):
        sums[s, : nx * ny] = z[s * STRIDE + PAD : s * STRIDE + PAD + nx * ny]


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def accumulate_block(  # type: ignore[no-untyped-def]
    raw, near, where, count, radius, slope, stride, fall, x0, y0, step, nx, ny, with_slope, taps, at, sums
):
    """What :func:`accumulate_tile` does, for a rectangle of any size; ``taps``, ``at``: scratch."""
    f32, size = np.float32, np.uint64
    width32, width, one_on = np.int32(raw.shape[1]), size(raw.shape[1]), size(1)
    flat = raw.ravel()
    zero, one, offset, ramp = f32(0.0), f32(1.0), f32(GREY_OFFSET), f32(1.0 / RIM)
    h, inv_h, inv_step = f32(slope), f32(1.0 / slope), f32(1.0 / step)
    reach, pace, inv_r2, drop = (
        f32(radius / slope),
        f32(step * slope),
        f32(1.0 / (radius * radius)),
        f32(fall),
    )
    left, top, dt = f32(x0), f32(y0), f32(step)
    half_x, half_y = f32(0.5 * step * (nx - 1)), f32(0.5 * step * (ny - 1))
    i00, i01, i10, i11, us, vs, weight = taps[0], taps[1], taps[2], taps[3], taps[4], taps[5], taps[6]
    for s in range(SUMS if with_slope else COST_SUMS):
        sums[s, : nx * ny] = zero
    s0, s1, s2, s3 = sums[W], sums[W2], sums[WI], sums[WII]
    s4, s5, s6, s7, s8, s9, s10 = sums[WX], sums[WY], sums[WIX], sums[WIY], sums[G], sums[GX], sums[GY]
    stop = -offset
    for n in range(count):
        shift_x, shift_y = near[n, 2] * inv_h, near[n, 3] * inv_h
        home_x, home_y = near[n, 0] + shift_x - left, near[n, 1] + shift_y - top
        if abs(home_x - half_x) > reach + half_x or abs(home_y - half_y) > reach + half_y:
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
                us[size(start + t)], vs[size(start + t)] = px - f32(x), py - f32(y)
                at[size(start + t)] = y * width32 + x
                q = (rx * rx + q0) * inv_r2
                weight[size(start + t)] = max(min(one, (one - q) * ramp), zero) * (one - drop * q)
        total = rows * m
        for t in range(total):
            k, p = size(t), base + size(np.uint32(at[size(t)]))
            i00[k], i01[k], i10[k], i11[k] = (
                flat[p],
                flat[p + one_on],
                flat[p + width],
                flat[p + width + one_on],
            )
        for t in range(total):
            k = size(t)
            upper = i00[k] + us[k] * (i01[k] - i00[k])
            value = upper + vs[k] * (i10[k] + us[k] * (i11[k] - i10[k]) - upper)
            usable = value > zero
            w = weight[k] if usable else zero
            weight[k] = w
            i00[k] = w * (value - offset)
            i01[k] = value - offset
        for row in range(rows):
            first, start = (row0 + row) * nx + col0, row * m
            for t in range(m):
                k, p = size(start + t), size(first + t)
                w, wi = weight[k], i00[k]
                s0[p] += w
                s1[p] += w * w
                s2[p] += wi
                s3[p] += wi * i01[k]
            if with_slope:
                dy, dx0, ddx = (dt * f32(row0 + row) - home_y) + shift_y, rx0 * inv_h + shift_x, pace * inv_h
                for t in range(m):
                    k, p = size(start + t), size(first + t)
                    w, wi, dx = weight[k], i00[k], dx0 + ddx * f32(t)
                    s4[p] += w * dx
                    s5[p] += w * dy
                    s6[p] += wi * dx
                    s7[p] += wi * dy
                if row == 0 or row == rows - 1:
                    continue
                for t in range(1, m - 1):  # differences within one micro-image: mixing lenses would bias
                    k, p = size(start + t), size(first + t)
                    right, left_, below, above = (
                        i01[k + one_on],
                        i01[k - one_on],
                        i01[k + size(m)],
                        i01[k - size(m)],
                    )
                    w = weight[k] if min(min(right, left_), min(below, above)) > stop else zero
                    s8[p] += w
                    s9[p] += w * (right - left_)
                    s10[p] += w * (below - above)


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def accumulate(  # type: ignore[no-untyped-def]
    raw,
    near,
    where,
    count,
    radius,
    slope,
    stride,
    fall,
    x0,
    y0,
    step,
    nx,
    ny,
    with_slope,
    taps,
    tile,
    at,
    sums,
):
    """Sums for nx × ny samples; ``tile``: of ``new_tile(nx)`` for a square of them about a point, else empty."""
    box = (raw, near, where, count, radius, slope, stride, fall, x0, y0, step, nx, ny, with_slope)
    if len(tile) > 0:
        accumulate_tile(*box, tile, at, sums)
    else:
        accumulate_block(*box, taps, at, sums)
