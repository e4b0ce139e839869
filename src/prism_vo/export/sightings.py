# SPDX-License-Identifier: Apache-2.0
"""Where map points are seen again: followed from image to image, started at their projection, independent of it.

COLMAP wants to know in which images a point was observed, and where. The odometry itself compares brightness and
never names a position, so positions are found here, by following patches of the image a point was chosen in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Mask
from prism_vo.cloud import PointCloud
from prism_vo.export.patch_following import follow, turn_between
from prism_vo.export.pictures import projected
from prism_vo.optics.view import FocusedView

Rows = NDArray[np.intp]
Grey = Callable[[int], NDArray[np.uint8]]  # image of a picture

NEIGHBOURS = 12  # keyframes before and after its own in which a point is looked for
FARTHEST = 3.0  # px from the projection: beyond it is another point, or something stands before it
MARGIN = 8.0  # px from the border


@dataclass(frozen=True)
class Sightings:
    """N observations: which point, in which picture, at which pixel (centres at integers)."""

    point: Rows
    picture: Rows
    xy: Array  # (N, 2)
    error: Array  # (N,): distance from the projection, px

    def __len__(self) -> int:
        return len(self.point)

    @property
    def followed(self) -> Mask:
        """Those found by following; the others are the pixels that points were chosen at."""
        return self.error > 0


def sightings(
    cloud: PointCloud, view: FocusedView, poses: Array, keyframe_pictures: Rows, grey: Grey
) -> Sightings:
    """Observations of the points in pictures with ``poses`` (P, 4, 4) T_world_view.

    ``keyframe_pictures`` (K,): the picture of every keyframe, in order.
    """
    if cloud.keyframe is None or not len(cloud):
        return Sightings(*(np.zeros(0, np.intp),) * 2, np.zeros((0, 2)), np.zeros(0))
    points = cloud.points.astype(np.float64)
    found: list[tuple[Rows, Rows, Array, Array]] = []
    for picture, pose in enumerate(poses):
        here = int(np.searchsorted(keyframe_pictures, picture))
        for host in range(max(0, here - NEIGHBOURS), min(len(keyframe_pictures), here + NEIGHBOURS + 1)):
            mine = np.flatnonzero(cloud.keyframe == host)
            home = int(keyframe_pictures[host])
            if not len(mine):
                continue
            at_home, _ = projected(view, poses[home], points[mine])
            if home == picture:
                found.append((mine, np.full(len(mine), picture), at_home, np.zeros(len(mine))))
                continue
            xy, depth = projected(view, pose, points[mine])
            visible = (depth > 0) & view.image_plane.contains(xy[:, 0], xy[:, 1], MARGIN)
            visible &= view.image_plane.contains(at_home[:, 0], at_home[:, 1], MARGIN)
            turn = turn_between(view, poses[home], pose, points[mine][visible])
            seen = follow(grey(home), grey(picture), at_home[visible], xy[visible], turn)
            error = np.linalg.norm(seen.xy - xy[visible], axis=1)
            good = seen.good & (error < FARTHEST)
            rows = mine[visible][good]
            found.append((rows, np.full(len(rows), picture), seen.xy[good], np.maximum(error[good], 1e-9)))
    point, picture_of, xy, error = (np.concatenate(column) for column in zip(*found))
    # a single sighting says nothing about a point, and COLMAP's adjustment ends with an error where there is one
    again = np.bincount(point, minlength=len(cloud))[point] > 1
    return Sightings(point[again], picture_of[again], xy[again], error[again])
