# SPDX-License-Identifier: Apache-2.0
"""Points of the window seen from one of its keyframes (docs/method.md, eq. 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Mask
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
    pose, q = hosts.T_view_world[target], np.nan_to_num(points.inv_depth)
    relative = np.array([pose @ se3.inverse(host) for host in hosts.T_view_world])[points.host]
    rays = plane.rays(points.u, points.v)
    moved = np.einsum("nij,nj->ni", relative[:, :3, :3], rays) + relative[:, :3, 3] * q[:, None]
    x, y = plane.project(moved)
    with np.errstate(divide="ignore", invalid="ignore"):
        return Projected(x, y, moved[:, 2], q / moved[:, 2])
