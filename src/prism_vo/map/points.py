# SPDX-License-Identifier: Apache-2.0
"""Finished points placed in the world, when the final poses are known."""

from __future__ import annotations

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.cloud import PointCloud
from prism_vo.optics.camera import FocusedView
from prism_vo.points.finished import FinishedPoints

LARGEST_RELATIVE_SIGMA = 0.6  # of inverse depth; points known less well are left out
LEAST_INV_DEPTH = 1e-3  # 1/m; points farther away are left out


def to_cloud(parts: list[FinishedPoints], view: FocusedView, T_view_world: dict[int, Array]) -> PointCloud:
    """World points with colour and σ of depth in metres; none that are hardly known or have a keyframe without pose."""
    points, colors, sigmas = [np.zeros((0, 3))], [np.zeros((0, 3), np.uint8)], [np.zeros(0)]
    rows, ids = [np.zeros(0, np.int32)], sorted(T_view_world)  # as the keyframes' trajectory lists them
    for part in parts:
        sigma_q = np.sqrt(part.variance)
        keep = (part.inv_depth > LEAST_INV_DEPTH) & (sigma_q < LARGEST_RELATIVE_SIGMA * part.inv_depth)
        keep &= np.isin(part.keyframe, ids)
        z = 1.0 / part.inv_depth[keep]
        local = view.image_plane.rays(part.u[keep], part.v[keep]) * z[:, None]
        hosts = part.keyframe[keep]
        world = np.empty_like(local)
        for host in np.unique(hosts):
            mine = hosts == host
            world[mine] = se3.transform(se3.inverse(T_view_world[int(host)]), local[mine])
        points.append(world)
        colors.append(part.rgb[keep])
        sigmas.append(sigma_q[keep] * z * z)
        rows.append(np.searchsorted(ids, hosts).astype(np.int32))
    return PointCloud(
        np.concatenate(points).astype(np.float32),
        np.concatenate(colors),
        np.concatenate(sigmas).astype(np.float32),
        np.concatenate(rows),
    )
