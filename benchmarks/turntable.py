# SPDX-License-Identifier: Apache-2.0
"""Three agreements of a camera before a turntable: without knowing any length, a wrong camera fails them.

Seen from the table the camera moves on a circle. Its plane must be normal to the axis it turns about, the arc it covers
must be the angle it turned by, and its distance from the centre must not change. How much the first says depends on
how far the path bends beside how far it leaves its plane: of a short arc the plane is poorly known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from prism_vo import se3
from prism_vo.arrays import Array

FEWEST_POSES = 5
LEAST_TURN = np.radians(10.0)  # of a shorter arc neither plane nor radius can be told
ROUND_ENOUGH = 0.03  # of the radius: a path that is less round is no turntable
SAME_AXIS = 0.2  # of the largest turn: rotations about other axes are no turntable


@dataclass(frozen=True)
class TurntableAgreement:
    """0 everywhere for the right camera."""

    turned: float  # rad
    radius: float  # in units of the trajectory
    plane_axis_angle: float  # rad, between the normal of the path's plane and the axis of rotation
    arc_excess: float  # arc over radius over the angle turned by, minus 1
    roundness: float  # root mean square distance from the circle within its plane, of its radius
    unevenness: float  # root mean square distance from the plane, of the radius
    bend: float  # root mean square distance of the path from a straight line within its plane, of the radius


def agreement(poses: Array) -> TurntableAgreement | None:
    """Judge camera poses T_world_cam (N, 4, 4); None where the path is no circle of at least LEAST_TURN."""
    if len(poses) < FEWEST_POSES:
        return None
    turns = np.array([se3.so3_log(pose[:3, :3] @ poses[0, :3, :3].T) for pose in poses])
    _, size, directions = np.linalg.svd(turns, full_matrices=False)
    axis = directions[0]
    angle = turns @ axis
    if np.ptp(angle) < LEAST_TURN or size[1] > SAME_AXIS * size[0]:
        return None
    places = poses[:, :3, 3] - poses[:, :3, 3].mean(0)
    _, _, plane = np.linalg.svd(places, full_matrices=False)
    flat = places @ plane[:2].T
    centre, radius = _circle(flat)
    from_centre = flat - centre
    arc = np.unwrap(np.arctan2(from_centre[:, 1], from_centre[:, 0]))
    slope = abs(float(np.polyfit(angle, arc, 1)[0]))
    roundness = _rms(np.linalg.norm(from_centre, axis=1) - radius) / radius
    if roundness > ROUND_ENOUGH:
        return None
    return TurntableAgreement(
        turned=float(np.ptp(angle)),
        radius=radius,
        plane_axis_angle=float(np.arccos(np.clip(abs(plane[2] @ axis), 0.0, 1.0))),
        arc_excess=slope - 1.0,
        roundness=roundness,
        unevenness=_rms(places @ plane[2]) / radius,
        bend=_rms(flat[:, 1]) / radius,
    )


def _rms(values: Array) -> float:
    return float(np.sqrt((values**2).mean()))


def _circle(points: Array) -> tuple[Array, float]:
    """Centre (2,) and radius with the least squared distances from points (N, 2)."""
    design = np.column_stack([2 * points, np.ones(len(points))])
    x, y, c = np.linalg.lstsq(design, (points**2).sum(1), rcond=None)[0]
    start = np.array([x, y, np.sqrt(max(c + x * x + y * y, 1e-12))])
    best = least_squares(lambda p: np.hypot(*(points - p[:2]).T) - p[2], start).x
    return best[:2], float(best[2])
