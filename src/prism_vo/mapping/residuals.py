# SPDX-License-Identifier: Apache-2.0
"""Photometric residuals of the window and their normal equations; unary inverse-virtual-depth residuals.

A state vector has 8 numbers a keyframe: (translation, rotation) tangent of T_view_world, a, b. Residuals compare an
8-pixel pattern of the host keyframe with its warp in a target keyframe (docs/method.md, eq. 9):

    r = (I_j[x_j] − b_j) − e_ji (I_i[x_i] − b_i),      e_ji = (t_j/t_i) exp(a_j − a_i)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from prism_vo.arrays import Array, Floats
from prism_vo.optics.camera import FocusedView

# 8 of the 9 pixels of a spread diamond (DSO's pattern): dx, dy
PATTERN = np.array([[0, -2], [-1, -1], [1, -1], [-2, 0], [0, 0], [2, 0], [-1, 1], [0, 2]], dtype=np.float32)
BLOCK = 8  # state numbers a keyframe
SLOPE_RATIOS = 0.8, 1.25  # measured over estimated stereo slope: what is farther apart is an outlier

NONE, IN, OUTLIER, OUTSIDE = np.int8(-1), np.int8(0), np.int8(1), np.int8(2)


@dataclass(frozen=True)
class PairGeometry:
    """Relative poses and brightness of every (host, target) pair: what the kernel needs, at one state."""

    rotation: Floats  # (K, K, 3, 3): R of T_target_host, indexed [host, target]
    translation: Floats  # (K, K, 3)
    adjoint: Array  # (K, K, 6, 6) of T_target_host
    brightness: Floats  # (K, K, 3): e_ji, b_host, b_target

    @classmethod
    def of(cls, poses: Array, affine: Array, exposure: Array) -> PairGeometry:
        """From T_view_world (K, 4, 4), (a, b) (K, 2) and exposure times (K,)."""
        turn = np.swapaxes(poses[:, :3, :3], 1, 2)
        rotation = poses[None, :, :3, :3] @ turn[:, None]
        translation = poses[None, :, :3, 3] - (rotation @ poses[:, None, :3, 3, None])[..., 0]
        count = len(poses)
        brightness = np.empty((count, count, 3), np.float32)
        brightness[..., 0] = (
            np.exp(affine[None, :, 0] - affine[:, None, 0]) * exposure[None, :] / exposure[:, None]
        )
        brightness[..., 1], brightness[..., 2] = affine[:, None, 1], affine[None, :, 1]
        return cls(
            np.ascontiguousarray(rotation, dtype=np.float32),
            np.ascontiguousarray(translation, dtype=np.float32),
            _adjoints(rotation, translation),
            brightness,
        )


def _adjoints(rotation: Array, translation: Array) -> Array:
    """6×6 adjoints of many poses: se3.adjoint, vectorised."""
    x, y, z = translation[..., 0], translation[..., 1], translation[..., 2]
    zero = np.zeros_like(x)
    hat = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).reshape(*x.shape, 3, 3)
    out = np.zeros((*x.shape, 6, 6))
    out[..., :3, :3] = out[..., 3:, 3:] = rotation
    out[..., :3, 3:] = hat @ rotation
    return out


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def linearize_photometric(  # type: ignore[no-untyped-def]
    images,  # (S, h, w, 3) float32: intensity and gradients of each slot
    slot,  # (K,) int32: window position → slot
    intrinsics,  # (3,) float32: focal, cx, cy
    rotation, translation, brightness,  # PairGeometry at the current state
    rotation0, translation0, adjoint0, brightness0,  # PairGeometry at first estimates (FEJ)
    host, u, v, inv_depth, color, weight,  # points (N,), (N, 8)
    state,  # (N, K) int8, in: which residuals exist; out: IN / OUTLIER / OUTSIDE
    huber, gate,  # (K,) float32: energy above which a target's residual is an outlier
    h_pair, b_pair,  # (K, K, 8, 8), (K, K, 8) float64 out, relative pose and brightness of a pair
    h_cross, h_depth, b_depth,  # (N, 8K), (N,), (N,) float64 out
    energy,  # (N, K) float32, in: what a residual costs that is out of view; out: its energy
):  # fmt: skip
    """Accumulate JᵀWJ and JᵀWr of all photometric residuals; returns the total (gated, Huber) energy.

    Image gradients are taken at the current state, geometry at the centre of the pattern at first estimates.
    """
    frames = slot.shape[0]
    height, width = images.shape[1], images.shape[2]
    planes = images.reshape(images.shape[0], height * width * 3)
    focal, cx, cy = intrinsics[0], intrinsics[1], intrinsics[2]
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
    h_pair[:] = 0.0
    b_pair[:] = 0.0
    h_cross[:] = 0.0
    for n in range(host.shape[0]):
        i = host[n]
        q = np.float32(inv_depth[n])
        rx, ry = (u[n] - cx) * inv_focal, (v[n] - cy) * inv_focal
        sum_h, sum_b = 0.0, 0.0
        for j in range(frames):
            if state[n, j] == NONE or j == i:
                continue
            r, t = rotation[i, j], translation[i, j]
            e, b_i, b_j = brightness[i, j, 0], brightness[i, j, 1], brightness[i, j, 2]
            e0, b_i0 = brightness0[i, j, 0], brightness0[i, j, 1]
            flat = planes[slot[j]]  # intensity, d/dx, d/dy of pixel after pixel
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
            sum_h += duq * (sxx * duq + sxy * dvq) + dvq * (sxy * duq + syy * dvq)
            sum_b += duq * sxr + dvq * syr
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
        h_depth[n] = sum_h
        b_depth[n] = sum_b
    return total


def assemble_pairs(h_pair: Array, b_pair: Array, pairs: PairGeometry) -> tuple[Array, Array]:
    """Relative-pose blocks of all pairs → H (8K, 8K) and b (8K) of the absolute states.

    A left increment of the target moves the relative pose by itself, one of the host by −Ad.
    """
    count = len(h_pair)
    h, b = np.zeros((BLOCK * count, BLOCK * count)), np.zeros(BLOCK * count)
    _assemble(h_pair, b_pair, pairs.adjoint, pairs.brightness, h, b)
    return h, b


@njit(nogil=True, cache=True)
def _assemble(h_pair, b_pair, adjoint, brightness, h, b):  # type: ignore[no-untyped-def]
    count = h_pair.shape[0]
    block, to_host, off = np.empty((8, 8)), np.zeros((8, 8)), np.empty((8, 8))
    for i in range(count):
        for j in range(count):
            if i == j or h_pair[i, j, 7, 7] == 0.0:
                continue
            for r in range(8):
                for c in range(8):
                    block[r, c] = h_pair[i, j, min(r, c), max(r, c)]
            to_host[:6, :6] = -adjoint[i, j]
            to_host[6, 6] = -1.0
            to_host[7, 7] = -brightness[i, j, 0]
            for r in range(8):
                for c in range(8):
                    total = 0.0
                    for k in range(8):
                        total += to_host[k, r] * block[k, c]
                    off[r, c] = total
            for r in range(8):
                back = 0.0
                for c in range(8):
                    total = 0.0
                    for k in range(8):
                        total += off[r, k] * to_host[k, c]
                    h[8 * i + r, 8 * i + c] += total
                    h[8 * j + r, 8 * j + c] += block[r, c]
                    h[8 * i + r, 8 * j + c] += off[r, c]
                    h[8 * j + c, 8 * i + r] += off[r, c]
                    back += to_host[c, r] * b_pair[i, j, c]
                b[8 * j + r] += b_pair[i, j, r]
                b[8 * i + r] += back


@dataclass(frozen=True)
class DepthTerms:
    """Unary residuals ρ_v(q) − ρ_v,meas in the host frame (docs/method.md, eq. 10): diagonal in the points."""

    h: Array  # (N,) Σ w J²/σ²  (times η in the energy)
    b: Array  # (N,)
    energy: float
    residual_sigmas: Array  # (N,) residual in units of its σ; NaN without a measurement


def information_at_estimate(
    view: FocusedView, inv_depth: Array, measured: Array, information: Array, power: float
) -> Array:
    """1/σ²(ρ_v) of depth measurements where their points are believed to be, not where they were measured.

    The number of lenses that see a point and their squared baselines both fall with the stereo slope as h⁻², so
    σ² ∝ h⁴ (``power``: of the sensor). A match that errs towards far calls itself less certain than one that errs
    towards near; weighted so, the near ones win, and the farther a scene the more it shrinks.
    """
    ratio = (view.alpha + view.beta * measured) * (view.w_infinity + view.kappa * inv_depth)  # of h = 1/w
    return np.where(information > 0, information * np.clip(ratio, *SLOPE_RATIOS) ** power, 0.0)


def depth_terms(
    view: FocusedView, inv_depth: Array, measured: Array, information: Array, huber: float
) -> DepthTerms:
    """Linearise the depth residuals; ``information`` is 1/σ²(ρ_v), 0 where there is no measurement."""
    has = information > 0
    root = np.sqrt(information)
    with np.errstate(invalid="ignore"):
        scaled = np.where(has, (view.inv_virtual_depth(inv_depth) - measured) * root, 0.0)
    jac = np.where(has, view.inv_virtual_depth_slope(inv_depth) * root, 0.0)
    size = np.abs(scaled)
    robust = np.where(size <= huber, 1.0, huber / np.maximum(size, huber))
    energy = float((robust * scaled**2 * (2.0 - robust)).sum())
    return DepthTerms(robust * jac**2, robust * jac * scaled, energy, np.where(has, scaled, np.nan))
