# SPDX-License-Identifier: Apache-2.0
"""Finished map points: kept relative to their keyframe, placed in the world when the final poses are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats, Integers
from prism_vo.cloud import PointCloud
from prism_vo.optics.camera import FocusedView


@dataclass(frozen=True)
class MapPoints:
    """Points that left the window with a good depth."""

    keyframe: Integers  # id of the host
    u: Floats
    v: Floats
    inv_depth: Array
    variance: Array  # of inv_depth
    grey: Floats


def to_cloud(
    parts: list[MapPoints],
    view: FocusedView,
    T_view_world: dict[int, Array],
    largest_relative_sigma: float = 0.2,
) -> PointCloud:
    """World points with grey colour and σ of depth in metres; those hardly known are left out."""
    points, colors, sigmas = [np.zeros((0, 3))], [np.zeros((0, 3), np.uint8)], [np.zeros(0)]
    for part in parts:
        sigma_q = np.sqrt(part.variance)
        keep = (part.inv_depth > 1e-3) & (sigma_q < largest_relative_sigma * part.inv_depth)
        z = 1.0 / part.inv_depth[keep]
        x = (part.u[keep] - view.cx) / view.focal_px * z
        y = (part.v[keep] - view.cy) / view.focal_px * z
        local, hosts = np.stack([x, y, z], -1), part.keyframe[keep]
        world = np.empty_like(local)
        for host in np.unique(hosts):
            mine = hosts == host
            world[mine] = se3.transform(se3.inverse(T_view_world[int(host)]), local[mine])
        points.append(world)
        grey = np.clip(part.grey[keep], 0, 255).astype(np.uint8)
        colors.append(np.repeat(grey[:, None], 3, 1))
        sigmas.append(sigma_q[keep] * z * z)
    return PointCloud(
        np.concatenate(points).astype(np.float32),
        np.concatenate(colors),
        np.concatenate(sigmas).astype(np.float32),
    )
