# SPDX-License-Identifier: Apache-2.0
"""Where map points are seen again: followed from image to image, started at their projection, independent of it.

COLMAP wants to know in which images a point was observed, and where. The odometry itself compares brightness and
never names a position, so positions are found here, by optical flow from the image a point was chosen in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Mask
from prism_vo.cloud import PointCloud
from prism_vo.export.pictures import projected
from prism_vo.optics.view import FocusedView

Rows = NDArray[np.intp]
Grey = Callable[[int], NDArray[np.uint8]]  # image of a picture

NEIGHBOURS = 12  # keyframes before and after its own in which a point is looked for
PATCH = (9, 9)  # px: what is followed; larger ones reach over edges of depth more often
FARTHEST = 3.0  # px from the projection: beyond it is another point, or something stands before it
RETURN = 0.3  # px: following it back must end where it began
MARGIN = 8.0  # px from the border
STEPS = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 30, 0.005)


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
            seen, good = _followed(grey(home), grey(picture), at_home[visible], xy[visible])
            error = np.linalg.norm(seen - xy[visible], axis=1)
            good &= error < FARTHEST
            rows = mine[visible][good]
            found.append((rows, np.full(len(rows), picture), seen[good], np.maximum(error[good], 1e-9)))
    point, picture_of, xy, error = (np.concatenate(column) for column in zip(*found))
    # a single sighting says nothing about a point, and COLMAP's adjustment ends with an error where there is one
    again = np.bincount(point, minlength=len(cloud))[point] > 1
    return Sightings(point[again], picture_of[again], xy[again], error[again])


def _followed(
    before: NDArray[np.uint8], after: NDArray[np.uint8], start: Array, expected: Array
) -> tuple[Array, Mask]:
    """Positions in ``after`` of what is at ``start`` in ``before``, and whether they can be believed."""
    if not len(start):
        return expected, np.zeros(0, np.bool_)
    there, ok = _flow(before, after, start.astype(np.float32), expected.astype(np.float32))
    back, ok_back = _flow(after, before, there, start.astype(np.float32))
    good = ok & ok_back & (np.linalg.norm(back - start, axis=1) < RETURN)
    return there.astype(np.float64), good


def _flow(
    before: NDArray[np.uint8], after: NDArray[np.uint8], start: Floats, guess: Floats
) -> tuple[Floats, Mask]:
    there, status, _ = cv2.calcOpticalFlowPyrLK(
        before,
        after,
        np.ascontiguousarray(start[:, None]),
        np.ascontiguousarray(guess[:, None]).copy(),
        winSize=PATCH,
        maxLevel=0,
        criteria=STEPS,
        flags=cv2.OPTFLOW_USE_INITIAL_FLOW,
    )
    return np.asarray(there, np.float32)[:, 0], np.asarray(status)[:, 0] == 1
