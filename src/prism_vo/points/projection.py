# SPDX-License-Identifier: Apache-2.0
"""Points of the window seen from one of its keyframes (docs/method.md, eq. 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Mask
from prism_vo.compiled import njit
from prism_vo.optics.pinhole import Pinhole
from prism_vo.points.records import Candidates, HostFrames, Points

NEAREST = (
    1e-3  # of z · q, depth in the target over depth in the host: what is nearer counts as behind the camera
)


@dataclass(frozen=True)
class Projected:
    """Where points fall; all (N,)."""

    x: Array
    y: Array
    depth_ratio: Array  # depth in the target over depth in the host
    inv_depth: Array  # in the target

    def inside(self, plane: Pinhole, margin: float) -> Mask:
        """In front of the camera and at least ``margin`` px from the border."""
        with np.errstate(invalid="ignore"):
            return (self.depth_ratio > NEAREST) & plane.contains(self.x, self.y, margin)


def project_into(plane: Pinhole, hosts: HostFrames, target: int, points: Points | Candidates) -> Projected:
    """Points in the keyframe at a window position; those without depth are taken to be at infinity."""
    pose = hosts.T_view_world[target]
    relative = np.array([pose @ se3.inverse(host) for host in hosts.T_view_world])
    out = np.empty((4, len(points)))
    _project(
        relative, plane.focal, plane.cx, plane.cy, points.host, points.u, points.v, points.inv_depth, out
    )
    return Projected(*out)


@njit(nogil=True, cache=True, error_model="numpy")
def _project(relative, focal, cx, cy, host, u, v, inv_depth, out):  # type: ignore[no-untyped-def]
    """Pixels, ratio of depths, inverse depth in the target → ``out`` (4, N); ``relative``: T_target_host (K, 4, 4)."""
    for n in range(len(host)):
        T, q = relative[host[n]], inv_depth[n]
        q = q if np.isfinite(q) else 0.0
        ray_x, ray_y = (u[n] - cx) / focal, (v[n] - cy) / focal
        x = T[0, 0] * ray_x + T[0, 1] * ray_y + T[0, 2] + T[0, 3] * q
        y = T[1, 0] * ray_x + T[1, 1] * ray_y + T[1, 2] + T[1, 3] * q
        z = T[2, 0] * ray_x + T[2, 1] * ray_y + T[2, 2] + T[2, 3] * q
        out[0, n], out[1, n], out[2, n], out[3, n] = focal * x / z + cx, focal * y / z + cy, z, q / z
