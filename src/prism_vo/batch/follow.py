# SPDX-License-Identifier: Apache-2.0
"""Follow points of one keyframe through all others: predicted by poses and depth, found by their patch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_vo.arrays import Array, Floats, Integers
from prism_vo.batch.patches import (
    COARSE_STEPS,
    FINE_STEPS,
    LARGEST_STRETCH,
    MARGIN,
    align_affine,
    align_patch,
)
from prism_vo.compiled import njit

LARGEST_SURPRISE = 3.0  # px across the predicted line, beyond what the search allows
MOST_MISSES = 5  # keyframes in a row that do not show a point: those that come after are less similar still
PRIOR_SHARE = 0.5  # of an inverse depth that nothing but the first guess is known of


class Pictures(NamedTuple):
    """Focused images of the keyframes, whole and halved, slightly smoothed."""

    fine: Floats  # (K, h, w)
    coarse: Floats  # (K, h/2, w/2)


@njit(nogil=True, cache=True, error_model="numpy")
def follow_points(pictures, host, order, relative, intrinsics, points, inv_depth, found, measured):  # type: ignore[no-untyped-def]
    """Align points (N, 2, whole pixels) of keyframe ``host`` in the keyframes of ``order``, nearest first.

    ``relative`` (K, 4, 4): T_target_host; ``intrinsics``: F, c_x, c_y (TF px); ``inv_depth`` (N,): first guesses,
    refined in place. → ``found`` (N, K) bool; ``measured`` (N, K, 5): x, y, information xx, xy, yy.
    """
    focal, cx, cy = intrinsics[0], intrinsics[1], intrinsics[2]
    height, width = pictures.fine.shape[1], pictures.fine.shape[2]
    warp = np.empty((2, 2))
    out = np.empty(5)
    coarse_out = np.empty(5)
    for n in range(points.shape[0]):
        u, v = int(points[n, 0]), int(points[n, 1])
        rx, ry = (u - cx) / focal, (v - cy) / focal
        q = inv_depth[n]
        curvature = 1.0 / (PRIOR_SHARE * PRIOR_SHARE * q * q)
        misses = 0
        for k in order:
            if misses == MOST_MISSES:
                break
            t = relative[k]
            px = t[0, 0] * rx + t[0, 1] * ry + t[0, 2] + q * t[0, 3]
            py = t[1, 0] * rx + t[1, 1] * ry + t[1, 2] + q * t[1, 3]
            pz = t[2, 0] * rx + t[2, 1] * ry + t[2, 2] + q * t[2, 3]
            if pz <= 0.05:
                continue
            x, y = focal * px / pz + cx, focal * py / pz + cy
            if not (MARGIN <= x < width - 1 - MARGIN and MARGIN <= y < height - 1 - MARGIN):
                continue
            for c in range(2):
                warp[0, c] = (t[0, c] - px / pz * t[2, c]) / pz
                warp[1, c] = (t[1, c] - py / pz * t[2, c]) / pz
            area = abs(warp[0, 0] * warp[1, 1] - warp[0, 1] * warp[1, 0])
            if not (1.0 / (LARGEST_STRETCH * LARGEST_STRETCH) < area < LARGEST_STRETCH * LARGEST_STRETCH):
                continue
            misses += 1
            x1, y1 = x, y
            hu, hv = u // 2, v // 2  # the halved pixel that holds it; its centre lies a little beside
            du, dv = (u + 0.5) / 2.0 - 0.5 - hu, (v + 0.5) / 2.0 - 0.5 - hv
            ox, oy = warp[0, 0] * du + warp[0, 1] * dv, warp[1, 0] * du + warp[1, 1] * dv
            if (
                MARGIN <= hu < pictures.coarse.shape[2] - MARGIN
                and MARGIN <= hv < pictures.coarse.shape[1] - MARGIN
            ):
                hx, hy = (x + 0.5) / 2.0 - 0.5 - ox, (y + 0.5) / 2.0 - 0.5 - oy
                if align_patch(
                    pictures.coarse[host], pictures.coarse[k], hu, hv, hx, hy, warp, COARSE_STEPS, coarse_out
                ):
                    x1, y1 = 2.0 * (coarse_out[0] + ox + 0.5) - 0.5, 2.0 * (coarse_out[1] + oy + 0.5) - 0.5
            if not align_patch(pictures.fine[host], pictures.fine[k], u, v, x1, y1, warp, FINE_STEPS, out):
                continue
            if not align_affine(pictures.fine[host], pictures.fine[k], u, v, warp, out):
                continue
            # where the point moves with its inverse depth; across that line nothing may be wrong but the pose
            lx = focal * (t[0, 3] - px / pz * t[2, 3]) / pz
            ly = focal * (t[1, 3] - py / pz * t[2, 3]) / pz
            ex, ey = out[0] - x, out[1] - y
            line = lx * lx + ly * ly
            across = abs(ex * ly - ey * lx) / np.sqrt(line) if line > 0.0 else np.sqrt(ex * ex + ey * ey)
            if across > LARGEST_SURPRISE:
                continue
            misses = 0
            found[n, k] = True
            measured[n, k] = out
            curvature += line
            q = max(q + (lx * ex + ly * ey) / curvature, 0.02 * q)
        inv_depth[n] = q


def neighbours(host: int, centres: Array, forward: Array) -> Integers:
    """Other keyframes, those with the most similar view first."""
    size = max(float(np.linalg.norm(centres - centres.mean(0), axis=1).max()), 1e-9)
    away = np.linalg.norm(centres - centres[host], axis=1) / size + np.arccos(
        np.clip(forward @ forward[host], -1.0, 1.0)
    )
    order = np.argsort(away, kind="stable")
    return order[order != host].astype(np.int32)
