# SPDX-License-Identifier: Apache-2.0
"""Photometric residuals as functions of focal length and principal point (``--calibrate all``).

With rays r = ((u − c_x)/f, (v − c_y)/f, 1) of the host and X = R r + t q, a pixel lies at f X/Z + c in the target, so

    ∂u'/∂log f = f x − f (∂x/∂r)·r,      ∂u'/∂c = (1, 0) − ∂x/∂r,      x = X/Z

What the residuals say about poses, brightness and depths alone is summed in ``photometric_kernel.py``; here are the
blocks of the camera's three numbers, against each other and against all of those.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_vo.arrays import Array, Floats
from prism_vo.bilinear import with_gradient
from prism_vo.compiled import njit
from prism_vo.optics.lens import LENS
from prism_vo.points.pattern import IN, PATTERN
from prism_vo.window.keyframe import BLOCK
from prism_vo.window.system import System


class LensSums(NamedTuple):
    """Sums that the kernel adds to."""

    h: Array  # (LENS, LENS)
    b: Array  # (LENS,)
    h_pair: Array  # (K, K, 8, LENS) of relative pose and brightness of each pair
    h_points: Array  # (N, LENS)

    @classmethod
    def zeros(cls, frames: int, points: int) -> LensSums:
        """Nothing yet."""
        return cls(
            np.zeros((LENS, LENS)),
            np.zeros(LENS),
            np.zeros((frames, frames, BLOCK, LENS)),
            np.zeros((points, LENS)),
        )


@njit(nogil=True, cache=True, error_model="numpy")
def accumulate_lens(images, slot, intrinsics, now, first, points, huber, status, sums):  # type: ignore[no-untyped-def]
    """Accumulate the blocks of the lens over all residuals whose ``status`` (N, K) is IN.

    Arguments as of ``accumulate_residuals``, which found the status: gradients at the current state, geometry at the
    centre of the pattern at first estimates.
    """
    focal, cx, cy = np.float64(intrinsics.focal), np.float64(intrinsics.cx), np.float64(intrinsics.cy)
    pu, pv = np.zeros(6), np.zeros(6)
    lens_u, lens_v = np.zeros(3), np.zeros(3)
    height, width = images.shape[1], images.shape[2]
    for j in range(slot.shape[0]):
        flat = images[slot[j]].ravel()
        for n in range(points.host.shape[0]):
            i = points.host[n]
            if status[n, j] != IN or i == j:
                continue
            q = points.inv_depth[n]
            rx, ry = (points.u[n] - cx) / focal, (points.v[n] - cy) / focal
            r, t = now.rotation[i, j], now.translation[i, j]
            e, b_i, b_j = now.brightness[i, j, 0], now.brightness[i, j, 1], now.brightness[i, j, 2]
            e0, b_i0 = first.brightness[i, j, 0], first.brightness[i, j, 1]
            sxx, sxy, syy, sxr, syr, sxa, sya, sxb, syb = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(8):
                px, py = rx + PATTERN[k, 0] / focal, ry + PATTERN[k, 1] / focal
                depth = r[2, 0] * px + r[2, 1] * py + r[2, 2] + t[2] * q
                x = (r[0, 0] * px + r[0, 1] * py + r[0, 2] + t[0] * q) / depth * focal + cx
                y = (r[1, 0] * px + r[1, 1] * py + r[1, 2] + t[1] * q) / depth * focal + cy
                # in view by single precision: by double it may lie a hair beside that
                ix, iy = min(max(int(x), 1), width - 3), min(max(int(y), 1), height - 3)
                fx, fy = x - ix, y - iy
                at = np.uint64((iy - 1) * width + ix - 1)
                value, gx, gy = with_gradient(flat, at, np.uint64(width), np.float32(fx), np.float32(fy))
                res = value - b_j - e * (points.color[n, k] - b_i)
                w = points.weight[n, k] * min(1.0, huber / max(abs(res), huber))
                ja = -e0 * (points.color[n, k] - b_i0)
                sxx += w * gx * gx
                sxy += w * gx * gy
                syy += w * gy * gy
                sxr += w * gx * res
                syr += w * gy * res
                sxa += w * gx * ja
                sya += w * gy * ja
                sxb -= w * gx
                syb -= w * gy
            r, t = first.rotation[i, j], first.translation[i, j]
            inv_z = 1.0 / (r[2, 0] * rx + r[2, 1] * ry + r[2, 2] + t[2] * q)
            x = (r[0, 0] * rx + r[0, 1] * ry + r[0, 2] + t[0] * q) * inv_z
            y = (r[1, 0] * rx + r[1, 1] * ry + r[1, 2] + t[1] * q) * inv_z
            near = q * inv_z * focal
            pu[0], pu[1], pu[2] = near, 0.0, -x * near
            pu[3], pu[4], pu[5] = -x * y * focal, (1.0 + x * x) * focal, -y * focal
            pv[0], pv[1], pv[2] = 0.0, near, -y * near
            pv[3], pv[4], pv[5] = -(1.0 + y * y) * focal, x * y * focal, x * focal
            qu, qv = (t[0] - x * t[2]) * inv_z * focal, (t[1] - y * t[2]) * inv_z * focal
            x_rx, x_ry = (r[0, 0] - x * r[2, 0]) * inv_z, (r[0, 1] - x * r[2, 1]) * inv_z
            y_rx, y_ry = (r[1, 0] - y * r[2, 0]) * inv_z, (r[1, 1] - y * r[2, 1]) * inv_z
            lens_u[0], lens_v[0] = focal * (x - x_rx * rx - x_ry * ry), focal * (y - y_rx * rx - y_ry * ry)
            lens_u[1], lens_v[1] = 1.0 - x_rx, -y_rx
            lens_u[2], lens_v[2] = -x_ry, 1.0 - y_ry
            for a in range(LENS):
                su, sv = sxx * lens_u[a] + sxy * lens_v[a], sxy * lens_u[a] + syy * lens_v[a]
                for c in range(LENS):
                    sums.h[a, c] += su * lens_u[c] + sv * lens_v[c]
                sums.b[a] += lens_u[a] * sxr + lens_v[a] * syr
                for c in range(6):
                    sums.h_pair[i, j, c, a] += pu[c] * su + pv[c] * sv
                sums.h_pair[i, j, 6, a] += sxa * lens_u[a] + sya * lens_v[a]
                sums.h_pair[i, j, 7, a] += sxb * lens_u[a] + syb * lens_v[a]
                sums.h_points[n, a] += qu * su + qv * sv


def add_lens(sums: LensSums, adjoint: Array, brightness: Floats, system: System, start: int) -> None:
    """Add the blocks to a system whose variables of the lens begin at ``start``; pairs as in ``add_pairs``."""
    rows = slice(start, start + LENS)
    system.h[rows, rows] += sums.h
    system.b[rows] += sums.b
    system.h_cross[:, rows] += sums.h_points
    count = len(sums.h_pair)
    for i in range(count):
        to_host = np.zeros((BLOCK, BLOCK))
        for j in range(count):
            block = sums.h_pair[i, j]
            if i == j or not block.any():
                continue
            to_host[:6, :6], to_host[6, 6], to_host[7, 7] = -adjoint[i, j], -1.0, -brightness[i, j, 0]
            for k, part in ((j, block), (i, to_host.T @ block)):
                system.h[BLOCK * k : BLOCK * (k + 1), rows] += part
                system.h[rows, BLOCK * k : BLOCK * (k + 1)] += part.T
