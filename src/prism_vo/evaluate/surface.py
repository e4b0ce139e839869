# SPDX-License-Identifier: Apache-2.0
"""How true a mesh is: its depth seen from a camera, pixel by pixel, against the true depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats, Integers, Mask
from prism_vo.compiled import njit
from prism_vo.optics.view import FocusedView

NEAREST = 0.02  # m: what is nearer is behind the camera


def seen_depth(vertices: Floats, triangles: Integers, T_cam_world: Array, view: FocusedView) -> Array:
    """Depth z_C (h, w) of the nearest triangle at each pixel centre; NaN where there is none."""
    points = se3.transform(T_cam_world, vertices.astype(np.float64))
    q = 1.0 / np.maximum(points[:, 2] - view.z0, NEAREST)  # linear over a triangle's image
    pixels = np.stack([points[:, k] * q * view.focal_px + c for k, c in enumerate((view.cx, view.cy))], -1)
    nearest = np.zeros((view.height, view.width))
    behind = points[:, 2] - view.z0 < NEAREST
    _draw(pixels, q, triangles[~behind[triangles].any(1)], nearest)
    with np.errstate(divide="ignore"):
        return np.where(nearest > 0, view.z0 + 1.0 / nearest, np.nan)


@njit(nogil=True, cache=True, error_model="numpy")
def _draw(pixels, q, triangles, nearest):  # type: ignore[no-untyped-def]
    """Keep the largest q at each pixel."""
    height, width = nearest.shape
    for n in range(len(triangles)):
        a, b, c = triangles[n, 0], triangles[n, 1], triangles[n, 2]
        ax, ay, bx, by, cx, cy = (
            pixels[a, 0],
            pixels[a, 1],
            pixels[b, 0],
            pixels[b, 1],
            pixels[c, 0],
            pixels[c, 1],
        )
        area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)
        if area == 0:
            continue
        left, right = max(0, int(np.ceil(min(ax, bx, cx)))), min(width - 1, int(np.floor(max(ax, bx, cx))))
        top, bottom = max(0, int(np.ceil(min(ay, by, cy)))), min(height - 1, int(np.floor(max(ay, by, cy))))
        for y in range(top, bottom + 1):
            for x in range(left, right + 1):
                wb = ((x - ax) * (cy - ay) - (cx - ax) * (y - ay)) / area
                wc = ((bx - ax) * (y - ay) - (x - ax) * (by - ay)) / area
                wa = 1.0 - wb - wc
                if wa < -1e-9 or wb < -1e-9 or wc < -1e-9:
                    continue
                depth = wa * q[a] + wb * q[b] + wc * q[c]
                nearest[y, x] = max(nearest[y, x], depth)


@dataclass(frozen=True)
class DepthErrors:
    """A depth image against the truth, at the pixels that count."""

    median_mm: float
    median_percent: float  # of the distance
    bias_percent: float  # median of the signed error
    covered: float  # share of the pixels that have a depth
    within_1: float  # share of the pixels whose depth is right to 1 %
    wrong: float  # share of the depths that are off by more than 5 %


def depth_errors(depth: Array | Floats, truth: Array | Floats, counted: Mask) -> DepthErrors:
    """Errors where there is a depth; shares of all counted pixels with a true depth."""
    counted = counted & np.isfinite(truth) & (truth > 0)
    known = counted & np.isfinite(depth)
    if not known.any():
        return DepthErrors(np.nan, np.nan, np.nan, 0.0, 0.0, 0.0)
    off = np.asarray(depth[known], np.float64) - truth[known]
    relative = off / truth[known]
    return DepthErrors(
        1e3 * float(np.median(np.abs(off))),
        100 * float(np.median(np.abs(relative))),
        100 * float(np.median(relative)),
        float(known.sum() / counted.sum()),
        float((np.abs(relative) <= 0.01).sum() / counted.sum()),
        float((np.abs(relative) > 0.05).mean()),
    )
