# SPDX-License-Identifier: Apache-2.0
"""From where to look at a path: the plane it fills most, turned so that right is right and up is up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_vo.arrays import Array

NAMES = "xyz"


class Plane(NamedTuple):
    """Two world axes to draw, the third one, and which of the two are drawn backwards."""

    across: int
    upwards: int
    along: int  # the one looked along
    flip_across: bool
    flip_upwards: bool
    flip_along: bool  # drawn for itself, upwards: whether it points down
    from_above: bool

    def drawn(self, points: Array) -> Array:
        """World points (N, 3) → (N, 2), to the right and up the page."""
        signs = [-1.0 if self.flip_across else 1.0, -1.0 if self.flip_upwards else 1.0]
        return points[:, [self.across, self.upwards]] * signs

    def words(self) -> str:
        """From where it is seen."""
        return "seen from above" if self.from_above else "seen from the side"

    def labels(self) -> tuple[str, str]:
        """Of the axes, with the unit."""
        return f"{NAMES[self.across]} [m]", f"{NAMES[self.upwards]} [m]"


def plane_of(positions: Array, poses: Array) -> Plane:
    """The plane that positions (N, 3) fill most; the cameras' own y axes (poses (N, 4, 4)) say where down is."""
    down = poses[:, :3, 1].sum(0) if len(poses) else np.array([0.0, 1.0, 0.0])
    vertical = int(np.argmax(np.abs(down)))
    falls = bool(down[vertical] > 0)  # the axis points down, as that of a camera does
    along = int(np.argsort(np.ptp(positions, axis=0), kind="stable")[0]) if len(positions) else vertical
    if along == vertical:
        return _from_above(vertical, falls)
    across = next(axis for axis in range(3) if axis not in (vertical, along))
    return Plane(across, vertical, along, False, falls, False, False)


def _from_above(vertical: int, falls: bool) -> Plane:
    """Looking down: what lies to the right is drawn on the right."""
    across, upwards = (axis for axis in range(3) if axis != vertical)
    looking = np.eye(3)[vertical] * (1.0 if falls else -1.0)
    right = np.cross(looking, np.eye(3)[upwards])
    return Plane(across, upwards, vertical, bool(right[across] < 0), False, falls, True)
