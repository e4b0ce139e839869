# SPDX-License-Identifier: Apache-2.0
"""The kernel of the photometric residuals (docs/method.md, eq. 9).

    r = (I_j[x_j] − b_j) − e_ji (I_i[x_i] − b_i),      e_ji = (t_j/t_i) exp(a_j − a_i)

over an 8-pixel pattern of the host keyframe i and its warp in a target keyframe j. Its slow twin is in the tests.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Integers
from prism_vo.compiled import njit
from prism_vo.points.pattern import IN, NONE, OUTLIER, OUTSIDE, PATTERN
from prism_vo.prefetch import LINE, prefetch
from prism_vo.window.keyframe import BLOCK

AHEAD = 4  # points whose patterns are asked for before they are read
REACH, ROWS = 2, 6  # px: of the pattern to each side, and of what interpolation reads of it


class Patterns(NamedTuple):
    """Columns of N points that the kernel reads."""

    host: Integers
    u: Floats
    v: Floats
    inv_depth: Array
    color: Floats  # (N, 8)
    weight: Floats  # (N, 8)


class Limits(NamedTuple):
    """How much a residual may count."""

    huber: np.float32  # grey levels
    outlier_energy: Floats  # (K,): a target's residual that costs more is an outlier


class Found(NamedTuple):
    """What becomes of each residual, in and out."""

    status: NDArray[np.int8]  # (N, K): which residuals exist → IN / OUTLIER / OUTSIDE
    energy: Floats  # (N, K): what a residual costs that is out of view → its energy


class Sums(NamedTuple):
    """Sums that the kernel adds to."""

    h_pair: Array  # (K, K, 8, 8) of relative pose and brightness of each pair
    b_pair: Array  # (K, K, 8)
    h_cross: Array  # (N, 8K or more)
    h_points: Array  # (N,)
    b_points: Array  # (N,)

    @classmethod
    def zeros(cls, frames: int, h_cross: Array) -> Sums:
        """Room for K = ``frames`` keyframes and the points of ``h_cross``."""
        pairs = (frames, frames, BLOCK)
        count = len(h_cross)
        return cls(np.zeros((*pairs, BLOCK)), np.zeros(pairs), h_cross, np.zeros(count), np.zeros(count))


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy", inline="always")
def _ask_for(flat, width, height, intrinsics, rotation, translation, points, n, j):  # type: ignore[no-untyped-def]
    """The pattern of point ``n`` in target ``j`` will be read soon."""
    focal, cx, cy = intrinsics.focal, intrinsics.cx, intrinsics.cy
    r, t = rotation[points.host[n], j], translation[points.host[n], j]
    px, py, q = (points.u[n] - cx) / focal, (points.v[n] - cy) / focal, np.float32(points.inv_depth[n])
    inv_z = focal / (r[2, 0] * px + r[2, 1] * py + r[2, 2] + t[2] * q)
    x = (r[0, 0] * px + r[0, 1] * py + r[0, 2] + t[0] * q) * inv_z + cx - np.float32(REACH)
    y = (r[1, 0] * px + r[1, 1] * py + r[1, 2] + t[1] * q) * inv_z + cy - np.float32(REACH)
    if (
        x >= np.float32(0)
        and y >= np.float32(0)
        and x < np.float32(width - ROWS)
        and y < np.float32(height - ROWS)
    ):
        at = (np.uint64(y) * np.uint64(width) + np.uint64(x)) * np.uint64(3)
        for _ in range(ROWS):
            prefetch(flat, at)
            prefetch(flat, at + np.uint64(LINE))
            at += np.uint64(3) * np.uint64(width)


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def accumulate_residuals(images, slot, intrinsics, now, first, points, limits, found, sums):  # type: ignore[no-untyped-def]
    """Accumulate JᵀWJ and JᵀWr of all photometric residuals; returns the total (limited, Huber) energy.

    ``images`` (S, h, w, 3) float32: intensity and gradients of each slot; ``slot`` (K,): window position → slot;
    ``now``, ``first``: PairGeometry at the current state and at first estimates. Image gradients are taken at the
    current state, geometry at the centre of the pattern at first estimates. One target after the other: what slows
    this down is memory, and so the points of a host read one image from top to bottom.
    """
    rotation, translation, brightness = now.rotation, now.translation, now.brightness
    rotation0, translation0, brightness0 = first.rotation, first.translation, first.brightness
    adjoint0 = first.adjoint
    host, u, v, inv_depth = points.host, points.u, points.v, points.inv_depth
    color, weight = points.color, points.weight
    huber, gate = limits.huber, limits.outlier_energy
    state, energy = found.status, found.energy
    h_pair, b_pair = sums.h_pair, sums.b_pair
    h_cross, h_depth, b_depth = sums.h_cross, sums.h_points, sums.b_points
    frames = slot.shape[0]
    height, width = images.shape[1], images.shape[2]
    planes = images.reshape(images.shape[0], height * width * 3)
    focal, cx, cy = intrinsics.focal, intrinsics.cx, intrinsics.cy
    inv_focal = np.float32(1.0) / focal
    one, zero, two = np.float32(1.0), np.float32(0.0), np.float32(2.0)
    right, bottom = np.float32(width - 2), np.float32(height - 2)
    ju, jv = np.empty(6, np.float32), np.empty(6, np.float32)
    a_row, b_row = np.empty(6, np.float32), np.empty(6, np.float32)
    cross = np.empty(8, np.float32)
    xs, ys, values = np.empty(8, np.float32), np.empty(8, np.float32), np.empty(8, np.float32)
    gxs, gys = np.empty(8, np.float32), np.empty(8, np.float32)
    nearest = np.float32(1e-3)
    # unsigned indices spare the test for negative ones
    stride, three = np.uint64(width), np.uint64(3)
    c1, c2, c3, c4, c5 = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4), np.uint64(5)
    total = np.float64(0.0)
    for j in range(frames):
        flat = planes[slot[j]]  # intensity, d/dx, d/dy of pixel after pixel
        for n in range(host.shape[0]):
            later = n + AHEAD
            if later < host.shape[0] and state[later, j] != NONE and host[later] != j:
                _ask_for(flat, width, height, intrinsics, rotation, translation, points, later, j)
            i = host[n]
            if state[n, j] == NONE or j == i:
                continue
            q = np.float32(inv_depth[n])
            rx, ry = (u[n] - cx) * inv_focal, (v[n] - cy) * inv_focal
            r, t = rotation[i, j], translation[i, j]
            e, b_i, b_j = brightness[i, j, 0], brightness[i, j, 1], brightness[i, j, 2]
            e0, b_i0 = brightness0[i, j, 0], brightness0[i, j, 1]
            sxx, sxy, syy, sxr, syr = zero, zero, zero, zero, zero
            sxa, sya, sxb, syb, saa, sab, sbb, sar, sbr = zero, zero, zero, zero, zero, zero, zero, zero, zero
            res_energy = zero
            x_low, y_low, x_high, y_high, z_low = right, bottom, zero, zero, one
            for k in range(8):  # passes over the pattern, each of them a loop the compiler can vectorise
                px, py = rx + PATTERN[k, 0] * inv_focal, ry + PATTERN[k, 1] * inv_focal
                z = r[2, 0] * px + r[2, 1] * py + r[2, 2] + t[2] * q
                inv_z = focal / z
                xs[k] = (r[0, 0] * px + r[0, 1] * py + r[0, 2] + t[0] * q) * inv_z + cx
                ys[k] = (r[1, 0] * px + r[1, 1] * py + r[1, 2] + t[1] * q) * inv_z + cy
                x_low, x_high = min(x_low, xs[k]), max(x_high, xs[k])
                y_low, y_high = min(y_low, ys[k]), max(y_high, ys[k])
                z_low = min(z_low, z)
            inside = x_low >= one and y_low >= one and x_high < right and y_high < bottom and z_low > nearest
            if not inside:
                state[n, j] = OUTSIDE
                total += energy[n, j]
                continue
            for k in range(8):
                ix, iy = np.uint64(xs[k]), np.uint64(ys[k])
                fx, fy = xs[k] - np.float32(ix), ys[k] - np.float32(iy)
                w11 = fx * fy
                w10, w01 = fy - w11, fx - w11
                w00 = one - fx - fy + w11
                at = (iy * stride + ix) * three
                below = at + three * stride
                values[k] = w00 * flat[at] + w01 * flat[at + c3] + w10 * flat[below] + w11 * flat[below + c3]
                gxs[k] = (
                    w00 * flat[at + c1]
                    + w01 * flat[at + c4]
                    + w10 * flat[below + c1]
                    + w11 * flat[below + c4]
                )
                gys[k] = (
                    w00 * flat[at + c2]
                    + w01 * flat[at + c5]
                    + w10 * flat[below + c2]
                    + w11 * flat[below + c5]
                )
            for k in range(8):
                gx, gy = gxs[k], gys[k]
                res = values[k] - b_j - e * (color[n, k] - b_i)
                robust = min(one, huber / max(abs(res), huber))
                w = weight[n, k] * robust
                res_energy += w * res * res * (two - robust)
                ja = -e0 * (color[n, k] - b_i0)
                wx, wy, wa = w * gx, w * gy, w * ja
                sxx += wx * gx
                sxy += wx * gy
                syy += wy * gy
                sxr += wx * res
                syr += wy * res
                sxa += wx * ja
                sya += wy * ja
                sxb -= wx
                syb -= wy
                saa += wa * ja
                sab -= wa
                sbb += w
                sar += wa * res
                sbr -= w * res
            if res_energy > gate[j]:
                state[n, j] = OUTLIER
                energy[n, j] = res_energy
                total += gate[j]
                continue
            state[n, j] = IN
            energy[n, j] = res_energy
            total += res_energy

            r, t = rotation0[i, j], translation0[i, j]
            inv_z = one / (r[2, 0] * rx + r[2, 1] * ry + r[2, 2] + t[2] * q)
            x = (r[0, 0] * rx + r[0, 1] * ry + r[0, 2] + t[0] * q) * inv_z
            y = (r[1, 0] * rx + r[1, 1] * ry + r[1, 2] + t[1] * q) * inv_z
            near = q * inv_z * focal  # focal / Z in the target
            ju[0], ju[1], ju[2] = near, zero, -x * near
            ju[3], ju[4], ju[5] = -x * y * focal, (one + x * x) * focal, -y * focal
            jv[0], jv[1], jv[2] = zero, near, -y * near
            jv[3], jv[4], jv[5] = -(one + y * y) * focal, x * y * focal, x * focal
            duq, dvq = (t[0] - x * t[2]) * inv_z * focal, (t[1] - y * t[2]) * inv_z * focal
            for c in range(6):
                a_row[c] = sxx * ju[c] + sxy * jv[c]
                b_row[c] = sxy * ju[c] + syy * jv[c]
            hp, bp = h_pair[i, j], b_pair[i, j]
            for c in range(6):
                for d in range(c, 6):
                    hp[c, d] += ju[c] * a_row[d] + jv[c] * b_row[d]
                hp[c, 6] += ju[c] * sxa + jv[c] * sya
                hp[c, 7] += ju[c] * sxb + jv[c] * syb
                bp[c] += ju[c] * sxr + jv[c] * syr
                cross[c] = a_row[c] * duq + b_row[c] * dvq
            hp[6, 6] += saa
            hp[6, 7] += sab
            hp[7, 7] += sbb
            bp[6] += sar
            bp[7] += sbr
            cross[6] = sxa * duq + sya * dvq
            cross[7] = sxb * duq + syb * dvq
            h_depth[n] += duq * (sxx * duq + sxy * dvq) + dvq * (sxy * duq + syy * dvq)
            b_depth[n] += duq * sxr + dvq * syr
            ad = adjoint0[i, j]
            for c in range(6):
                h_cross[n, j * 8 + c] += cross[c]
                s = 0.0
                for d in range(6):
                    s += ad[d, c] * cross[d]
                h_cross[n, i * 8 + c] -= s
            h_cross[n, j * 8 + 6] += cross[6]
            h_cross[n, i * 8 + 6] -= cross[6]
            h_cross[n, j * 8 + 7] += cross[7]
            h_cross[n, i * 8 + 7] -= e0 * cross[7]
    return total
