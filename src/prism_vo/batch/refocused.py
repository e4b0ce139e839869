# SPDX-License-Identifier: Apache-2.0
"""Places of points once more, in images focused at each point's own depth.

The focused image that points are first found in lies at one slope. What lies elsewhere in depth is doubled there, by
(h/h₀ − 1) times its distance from the lenses that see it: its place depends on where the lenses happen to be. So each
sighting gets a small window of the image focused at its own slope, and the windows are aligned once more.
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats, Mask
from prism_vo.batch.patches import FINE_STEPS, align_affine, align_patch
from prism_vo.batch.records import Rows
from prism_vo.compiled import njit
from prism_vo.sensor import Sensor
from prism_vo.types import InputFrame

STEP = 0.12  # of the slope between images of a stack: half of it displaces nothing that can be seen
REACH = 13  # px about a sighting: the patch, stretched, with room to move
WINDOW = 2 * REACH + 1
SMOOTHING = 0.8  # px: what interpolation cannot tell is taken out of both images alike
FEWEST_OTHERS = 1  # sightings beside its host's that a point must have


class Sightings(NamedTuple):
    """All sightings, sorted by point, each with what surrounds it."""

    table: Array  # (N, 7): point, keyframe, x, y (TF px), information xx, xy, yy
    slope: Array  # (N,) NaN: not measured
    slope_sigma: Array  # (N,)
    windows: Floats  # (N, WINDOW, WINDOW) about the nearest whole pixel


def smoothed(image: Floats) -> Floats:
    """Slightly, as all images that patches are aligned in."""
    return np.asarray(cv2.GaussianBlur(image, (0, 0), SMOOTHING), np.float32)


def windows_of(source: InputFrame, image: Floats, xy: Array, slope: Array, sensor: Sensor) -> Floats:
    """Of one keyframe (N, WINDOW, WINDOW), each from the image focused nearest to its slope; without one ``image``."""
    out = np.zeros((len(xy), WINDOW, WINDOW), np.float32)
    level = np.where(
        np.isfinite(slope) & (slope > 0), np.rint(np.log(np.maximum(slope, 1e-6)) / STEP), np.inf
    )
    for one in np.unique(level):
        focused = sensor.focus_at(source, float(np.exp(STEP * one))) if np.isfinite(one) else image
        padded = np.pad(smoothed(focused), REACH, mode="edge")
        for row in np.flatnonzero(level == one):
            x, y = (int(v) for v in np.rint(xy[row]))
            out[row] = padded[y : y + WINDOW, x : x + WINDOW]
    return out


def placed_again(
    sightings: Sightings, host: Rows, inv_depth: Array, poses: Array, intrinsics: Array
) -> tuple[Array, Array, Array]:
    """The table with places from the windows, slopes and their σ; points (P,) hosted by ``host`` at ``inv_depth``.

    Sightings that do not fit their host in focus are left out, and points that keep too few.
    """
    table = sightings.table.copy()
    point, keyframe = table[:, 0].astype(np.intp), table[:, 1].astype(np.intp)
    own = keyframe == host[point]
    host_row = np.zeros(len(host), np.intp)
    host_row[point[own]] = np.flatnonzero(own)
    inverse = np.array([se3.inverse(pose) for pose in poses])
    relative = np.einsum("nij,njk->nik", poses[keyframe], inverse[host[point]])
    kept = np.zeros(len(table), np.bool_)
    _align_windows(
        sightings.windows, host_row[point], own, relative, intrinsics, inv_depth[point], table, kept
    )
    others = np.bincount(point[kept], minlength=len(host))
    _give_hosts_information(table, point, own, kept, others)
    keep = (kept | own) & (others[point] >= FEWEST_OTHERS)
    return table[keep], sightings.slope[keep], sightings.slope_sigma[keep]


def _give_hosts_information(table: Array, point: Rows, own: Mask, kept: Mask, others: Rows) -> None:
    """The host's own patch has the information of a typical match: its noise is that of the others."""
    total = np.zeros((len(others), 3))
    np.add.at(total, point[kept], table[kept, 4:7])
    table[own, 4:7] = (total / np.maximum(others, 1)[:, None])[point[own]]


@njit(nogil=True, cache=True, error_model="numpy")
def _align_windows(windows, host_row, own, relative, intrinsics, inv_depth, table, kept):  # type: ignore[no-untyped-def]
    """Move x, y and information of ``table`` to where the windows agree; ``kept``: those that do."""
    focal, cx, cy = intrinsics[0], intrinsics[1], intrinsics[2]
    warp, out = np.empty((2, 2)), np.empty(5)
    for n in range(table.shape[0]):
        if own[n]:
            continue
        first, t, q = host_row[n], relative[n], inv_depth[n]
        rx, ry = (table[first, 2] - cx) / focal, (table[first, 3] - cy) / focal
        px = t[0, 0] * rx + t[0, 1] * ry + t[0, 2] + q * t[0, 3]
        py = t[1, 0] * rx + t[1, 1] * ry + t[1, 2] + q * t[1, 3]
        pz = t[2, 0] * rx + t[2, 1] * ry + t[2, 2] + q * t[2, 3]
        if pz <= 0.0:
            continue
        for c in range(2):
            warp[0, c] = (t[0, c] - px / pz * t[2, c]) / pz
            warp[1, c] = (t[1, c] - py / pz * t[2, c]) / pz
        x0, y0 = np.rint(table[n, 2]), np.rint(table[n, 3])
        x, y = table[n, 2] - x0 + REACH, table[n, 3] - y0 + REACH
        if not align_patch(windows[first], windows[n], REACH, REACH, x, y, warp, FINE_STEPS, out):
            continue
        if not align_affine(windows[first], windows[n], REACH, REACH, warp, out):
            continue
        table[n, 2], table[n, 3] = out[0] + x0 - REACH, out[1] + y0 - REACH
        table[n, 4], table[n, 5], table[n, 6] = out[2], out[3], out[4]
        kept[n] = True
