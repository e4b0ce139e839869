# SPDX-License-Identifier: Apache-2.0
"""Photometric residuals of one host in one target, a chunk at a time, in passes that vectorise.

A chunk is one flat array of rows, CHUNK numbers each: constant distances tell the compiler that no two rows overlap.
All passes are inlined: a kernel with fast arithmetic that is called, not inlined, may be compiled differently for
every caller, and the run that compiles would give other bytes than the next one.
"""

from __future__ import annotations

import numpy as np

from prism_vo.bilinear import ROWS, with_gradient
from prism_vo.compiled import njit
from prism_vo.points.pattern import IN, OUTLIER, OUTSIDE, PATTERN
from prism_vo.prefetch import prefetch
from prism_vo.window.keyframe import BLOCK, POSE

PIXELS = 8  # of the pattern
CHUNK = 32  # residuals that go through the loops together: their numbers fit the fastest cache
AHEAD = 8  # residuals whose pixels are asked for before they are read

# rows of a chunk:
INV_DEPTH, RAY_X, RAY_Y = 0 * CHUNK, 1 * CHUNK, 2 * CHUNK
COUNTS, ENERGY = 3 * CHUNK, 4 * CHUNK  # 1 in view and then IN, 0 otherwise; of the residual
COLOR, WEIGHT = 5 * CHUNK, 13 * CHUNK  # 8 rows each: in the host
X, Y = 21 * CHUNK, 29 * CHUNK  # 8 each: px in the target; then beyond the pixel to the left and above
VALUE, GRAD_X, GRAD_Y = 37 * CHUNK, 45 * CHUNK, 53 * CHUNK  # 8 each: in the target
SUMS, SUM_ROWS = (
    61 * CHUNK,
    14,
)  # weighted sums of products of gradient, derivatives by a and b, and residual:
XX, XY, YY = 61 * CHUNK, 62 * CHUNK, 63 * CHUNK
XA, YA, XB, YB, XR, YR = 64 * CHUNK, 65 * CHUNK, 66 * CHUNK, 67 * CHUNK, 68 * CHUNK, 69 * CHUNK
AA, AB, BB, AR, BR = 70 * CHUNK, 71 * CHUNK, 72 * CHUNK, 73 * CHUNK, 74 * CHUNK
POSE_X, POSE_Y = 75 * CHUNK, 81 * CHUNK  # 6 each: how x and y move with the target's pose
DEPTH_X, DEPTH_Y = 87 * CHUNK, 88 * CHUNK  # and with the inverse depth
ROW_X, ROW_Y = 89 * CHUNK, 95 * CHUNK  # 6 each: G · derivatives by pose, with G the sums of gradient products
CROSS = 101 * CHUNK  # 8: of the inverse depth with the target's pose and brightness
CROSS_HOST = 109 * CHUNK  # 6: with the host's pose
SIZE = 115 * CHUNK


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy", inline="always")
def gather(points, intrinsics, which, c):  # type: ignore[no-untyped-def]
    """Columns of the chunk's points side by side; an incomplete chunk repeats its first point."""
    inv_focal = np.float32(1.0) / intrinsics.focal
    for m in range(CHUNK):
        n = which[m] if m < len(which) else which[0]
        c[INV_DEPTH + m] = points.inv_depth[n]
        c[RAY_X + m] = (points.u[n] - intrinsics.cx) * inv_focal
        c[RAY_Y + m] = (points.v[n] - intrinsics.cy) * inv_focal
        for k in range(PIXELS):
            c[COLOR + k * CHUNK + m], c[WEIGHT + k * CHUNK + m] = points.color[n, k], points.weight[n, k]


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy", inline="always")
def project(r, t, intrinsics, width, height, at, c):  # type: ignore[no-untyped-def]
    """Where the patterns lie in the target; those that are not wholly in view are put at (1, 1) and do not count.

    ``at`` (8 · CHUNK): index in the flat image of the pixel above and to the left of those that a value lies between.
    """
    focal, cx, cy = intrinsics.focal, intrinsics.cx, intrinsics.cy
    inv_focal, one, zero, nearest = np.float32(1.0) / focal, np.float32(1), np.float32(0), np.float32(1e-3)
    right, bottom = np.float32(width - 2), np.float32(height - 2)
    (r00, r01, r02), (r10, r11, r12) = (r[0, 0], r[0, 1], r[0, 2]), (r[1, 0], r[1, 1], r[1, 2])
    (r20, r21, r22), (t0, t1, t2) = (r[2, 0], r[2, 1], r[2, 2]), (t[0], t[1], t[2])
    c[COUNTS : COUNTS + CHUNK] = one
    for k in range(PIXELS):
        dx, dy = PATTERN[k, 0] * inv_focal, PATTERN[k, 1] * inv_focal
        for m in range(CHUNK):
            px, py, q = c[RAY_X + m] + dx, c[RAY_Y + m] + dy, c[INV_DEPTH + m]
            z = r20 * px + r21 * py + r22 + t2 * q
            inv_z = focal / z
            x = (r00 * px + r01 * py + r02 + t0 * q) * inv_z + cx
            y = (r10 * px + r11 * py + r12 + t1 * q) * inv_z + cy
            inside = (x >= one) & (y >= one) & (x < right) & (y < bottom) & (z > nearest)
            c[X + k * CHUNK + m], c[Y + k * CHUNK + m] = x, y
            c[COUNTS + m] = c[COUNTS + m] if inside else zero
    for k in range(PIXELS):
        for m in range(CHUNK):
            inside = c[COUNTS + m] > zero
            x, y = c[X + k * CHUNK + m], c[Y + k * CHUNK + m]
            x, y = x if inside else one, y if inside else one
            column, row = np.int32(x), np.int32(y)
            c[X + k * CHUNK + m], c[Y + k * CHUNK + m] = x - np.float32(column), y - np.float32(row)
            at[k * CHUNK + m] = (row - np.int32(1)) * np.int32(width) + column - np.int32(1)


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy", inline="always")
def look_up(flat, width, count, at, c):  # type: ignore[no-untyped-def]
    """Intensity and gradients between four pixels each."""
    below, last = np.uint64(width), np.uint64((ROWS - 1) * width)
    for m in range(count):
        later = min(m + AHEAD, count - 1)
        for k in range(PIXELS):
            soon = np.uint64(at[k * CHUNK + later])
            prefetch(flat, soon)
            prefetch(flat, soon + last)
        for k in range(PIXELS):
            place, fx, fy = np.uint64(at[k * CHUNK + m]), c[X + k * CHUNK + m], c[Y + k * CHUNK + m]
            value, gx, gy = with_gradient(flat, place, below, fx, fy)
            c[VALUE + k * CHUNK + m], c[GRAD_X + k * CHUNK + m], c[GRAD_Y + k * CHUNK + m] = value, gx, gy


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy", inline="always")
def weigh(now, first, huber, c):  # type: ignore[no-untyped-def]
    """Residuals, their energy and their weighted products; ``now``, ``first``: e_ji, b_i, b_j of the pair."""
    e, b_i, b_j, e0, b_i0 = now[0], now[1], now[2], first[0], first[1]
    one, two = np.float32(1), np.float32(2)
    c[SUMS : SUMS + SUM_ROWS * CHUNK] = np.float32(0)
    c[ENERGY : ENERGY + CHUNK] = np.float32(0)
    for k in range(PIXELS):
        for m in range(CHUNK):
            gx, gy, color = c[GRAD_X + k * CHUNK + m], c[GRAD_Y + k * CHUNK + m], c[COLOR + k * CHUNK + m]
            res = c[VALUE + k * CHUNK + m] - b_j - e * (color - b_i)
            robust = min(one, huber / max(abs(res), huber))
            w = c[WEIGHT + k * CHUNK + m] * robust
            ja = -e0 * (color - b_i0)
            wx, wy, wa = w * gx, w * gy, w * ja
            c[ENERGY + m] += w * res * res * (two - robust)
            c[XX + m] += wx * gx
            c[XY + m] += wx * gy
            c[YY + m] += wy * gy
            c[XR + m] += wx * res
            c[YR + m] += wy * res
            c[XA + m] += wx * ja
            c[YA + m] += wy * ja
            c[XB + m] -= wx
            c[YB + m] -= wy
            c[AA + m] += wa * ja
            c[AB + m] -= wa
            c[BB + m] += w
            c[AR + m] += wa * res
            c[BR + m] -= w * res


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy", inline="always")
def judge(found, gate, which, j, c):  # type: ignore[no-untyped-def]
    """Note what became of each residual; those that count from here on are IN. Returns what they all cost."""
    total, zero = 0.0, np.float32(0)
    for m in range(len(which)):
        n = which[m]
        if c[COUNTS + m] == zero:
            found.status[n, j] = OUTSIDE
            total += found.energy[n, j]
            continue
        found.energy[n, j] = c[ENERGY + m]
        outlier = c[ENERGY + m] > gate
        found.status[n, j] = OUTLIER if outlier else IN
        total += gate if outlier else c[ENERGY + m]
        if outlier:
            c[COUNTS + m] = zero
    c[COUNTS + len(which) : COUNTS + CHUNK] = zero
    for row in range(SUM_ROWS):
        for m in range(CHUNK):
            c[SUMS + row * CHUNK + m] = c[SUMS + row * CHUNK + m] if c[COUNTS + m] > zero else zero
    return total


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy", inline="always")
def differentiate(r, t, focal, c):  # type: ignore[no-untyped-def]
    """Derivatives of the pattern's centre by the target's pose and by inverse depth, at first estimates."""
    one, zero = np.float32(1), np.float32(0)
    (r00, r01, r02), (r10, r11, r12) = (r[0, 0], r[0, 1], r[0, 2]), (r[1, 0], r[1, 1], r[1, 2])
    (r20, r21, r22), (t0, t1, t2) = (r[2, 0], r[2, 1], r[2, 2]), (t[0], t[1], t[2])
    for m in range(CHUNK):
        px, py, q, counts = c[RAY_X + m], c[RAY_Y + m], c[INV_DEPTH + m], c[COUNTS + m] > zero
        z = r20 * px + r21 * py + r22 + t2 * q
        inv_z = one / (z if counts else one)
        x = (r00 * px + r01 * py + r02 + t0 * q) * inv_z
        y = (r10 * px + r11 * py + r12 + t1 * q) * inv_z
        near = q * inv_z * focal  # focal / Z in the target
        c[POSE_X + m], c[POSE_X + CHUNK + m], c[POSE_X + 2 * CHUNK + m] = near, zero, -x * near
        c[POSE_Y + m], c[POSE_Y + CHUNK + m], c[POSE_Y + 2 * CHUNK + m] = zero, near, -y * near
        c[POSE_X + 3 * CHUNK + m], c[POSE_X + 4 * CHUNK + m] = -x * y * focal, (one + x * x) * focal
        c[POSE_Y + 3 * CHUNK + m], c[POSE_Y + 4 * CHUNK + m] = -(one + y * y) * focal, x * y * focal
        c[POSE_X + 5 * CHUNK + m], c[POSE_Y + 5 * CHUNK + m] = -y * focal, x * focal
        dx, dy = (t0 - x * t2) * inv_z * focal, (t1 - y * t2) * inv_z * focal
        c[DEPTH_X + m], c[DEPTH_Y + m] = dx, dy
        c[CROSS + 6 * CHUNK + m] = c[XA + m] * dx + c[YA + m] * dy
        c[CROSS + 7 * CHUNK + m] = c[XB + m] * dx + c[YB + m] * dy
    for d in range(POSE):
        for m in range(CHUNK):
            jx, jy = c[POSE_X + d * CHUNK + m], c[POSE_Y + d * CHUNK + m]
            row_x, row_y = c[XX + m] * jx + c[XY + m] * jy, c[XY + m] * jx + c[YY + m] * jy
            c[ROW_X + d * CHUNK + m], c[ROW_Y + d * CHUNK + m] = row_x, row_y
            c[CROSS + d * CHUNK + m] = row_x * c[DEPTH_X + m] + row_y * c[DEPTH_Y + m]


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy", inline="always")
def add_to_pair(h, b, rows):  # type: ignore[no-untyped-def]
    """Upper half of H (8, 8), and b (8,), of the relative pose and brightness; ``rows``: the chunk row by row."""
    width = rows.shape[1]  # a loop of known length would be unrolled, which is slower
    for p in range(POSE):
        jx, jy = POSE_X // CHUNK + p, POSE_Y // CHUNK + p
        for d in range(p, BLOCK + 1):
            x = ROW_X // CHUNK + d if d < POSE else XA // CHUNK + 2 * (d - POSE)  # then by a, by b, residual
            y = ROW_Y // CHUNK + d if d < POSE else x + 1
            total = np.float32(0)  # chunks are short
            for m in range(width):
                total += rows[jx, m] * rows[x, m] + rows[jy, m] * rows[y, m]
            if d < BLOCK:
                h[p, d] += total
            else:
                b[p] += total
    for n in range(5):
        total = np.float32(0)
        for m in range(width):
            total += rows[AA // CHUNK + n, m]
        if n < 3:
            h[6 + n // 2, 6 + (n + 1) // 2] += total
        else:
            b[3 + n] += total


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy", inline="always")
def add_to_points(i, j, adjoint, gain, which, sums, c):  # type: ignore[no-untyped-def]
    """Curvature and gradient of each inverse depth, and its rows with the poses and brightness of both keyframes."""
    for p in range(POSE):
        f0, f1, f2 = np.float32(adjoint[0, p]), np.float32(adjoint[1, p]), np.float32(adjoint[2, p])
        f3, f4, f5 = np.float32(adjoint[3, p]), np.float32(adjoint[4, p]), np.float32(adjoint[5, p])
        for m in range(CHUNK):
            c[CROSS_HOST + p * CHUNK + m] = (
                f0 * c[CROSS + m]
                + f1 * c[CROSS + CHUNK + m]
                + f2 * c[CROSS + 2 * CHUNK + m]
                + f3 * c[CROSS + 3 * CHUNK + m]
                + f4 * c[CROSS + 4 * CHUNK + m]
                + f5 * c[CROSS + 5 * CHUNK + m]
            )
    for m in range(len(which)):
        if c[COUNTS + m] == np.float32(0):
            continue
        n, dx, dy, xy = which[m], c[DEPTH_X + m], c[DEPTH_Y + m], c[XY + m]
        sums.h_points[n] += dx * (c[XX + m] * dx + xy * dy) + dy * (xy * dx + c[YY + m] * dy)
        sums.b_points[n] += dx * c[XR + m] + dy * c[YR + m]
        of_target, of_host = sums.h_cross[n, BLOCK * j :], sums.h_cross[n, BLOCK * i :]
        for p in range(BLOCK):
            of_target[p] += c[CROSS + p * CHUNK + m]
        for p in range(POSE):
            of_host[p] -= c[CROSS_HOST + p * CHUNK + m]
        of_host[6] -= c[CROSS + 6 * CHUNK + m]
        of_host[7] -= gain * c[CROSS + 7 * CHUNK + m]
