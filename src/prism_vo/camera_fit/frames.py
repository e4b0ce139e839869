# SPDX-License-Identifier: Apache-2.0
"""Which frames of a tracked recording take part in the adjustment, and their images."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.batch.observe import KeyframeImage
from prism_vo.datasets.source import Sequence
from prism_vo.sensor import Sensor
from prism_vo.trajectory import Trajectory

TURN_WEIGHT = 0.5  # of a radian beside the whole path's length: both motion and turning are news


@dataclass(frozen=True)
class Chosen:
    """Frames of the adjustment: their places in the recording and their poses T_view_world, the first one at rest."""

    indices: list[int]
    poses: Array  # (K, 4, 4)


def choose(trajectory: Trajectory, times: Array, most: int, wanted: Iterable[int] = ()) -> Chosen:
    """At most ``most`` frames, evenly along the path, and those that a user asked for."""
    frame = [int(np.argmin(np.abs(times - t))) for t in trajectory.times]
    steps = np.linalg.norm(np.diff(trajectory.positions, axis=0), axis=1)
    turns = [
        se3.rotation_angle(a[:3, :3].T @ b[:3, :3]) for a, b in zip(trajectory.poses, trajectory.poses[1:])
    ]
    length = max(float(steps.sum()), 1e-12)
    way = np.concatenate([[0.0], np.cumsum(steps / length + TURN_WEIGHT * np.array(turns) + 1e-6)])
    stops = np.linspace(0.0, way[-1], min(most, len(way)))
    picked = {int(np.argmin(np.abs(way - stop))) for stop in stops}
    picked |= {frame.index(k) for k in wanted if k in frame}
    order = sorted(picked)
    world = trajectory.poses[order[0]]
    poses = np.array([se3.inverse(trajectory.poses[k]) @ world for k in order])
    return Chosen([frame[k] for k in order], poses)


def images_of(
    recording: Sequence, chosen: Chosen, sensor: Sensor, say: Callable[[str, int, int], None]
) -> list[KeyframeImage]:
    """Frames read again and focused."""
    out = []
    for done, index in enumerate(chosen.indices):
        say("focusing", done, len(chosen.indices))
        source = recording[index]
        out.append(KeyframeImage(source, sensor.focus(source).image))
    return out
