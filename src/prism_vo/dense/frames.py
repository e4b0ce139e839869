# SPDX-License-Identifier: Apache-2.0
"""Keyframes of a run read again: focused image, plenoptic depth with σ, colour, pose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array
from prism_vo.dense.densify import DenseMap, Say, densify, grid_of
from prism_vo.dense.prior import prior_of
from prism_vo.dense.records import DenseFrame
from prism_vo.errors import DegenerateError
from prism_vo.optics.view import FocusedView
from prism_vo.sensor import Sensor
from prism_vo.trajectory import Trajectory
from prism_vo.types import DecodedFrame, InputFrame

FEWEST = 3  # keyframes of a map


@dataclass(frozen=True)
class KeyframeReader:
    """Hands out keyframes by their place in ``indices``.

    ``view``: as the run ended with, which may have found another focus than the camera file's.
    """

    find: Callable[[int], InputFrame]
    sensor: Sensor
    view: FocusedView
    indices: list[int]  # in the recording
    T_world_cam: Array  # (N, 4, 4)

    def __call__(self, place: int) -> DenseFrame:
        """One keyframe, decoded."""
        decoded = self.sensor.dense(self.find(self.indices[place]))
        T_view_cam = np.eye(4)
        T_view_cam[2, 3] = -self.view.z0
        pose = T_view_cam @ se3.inverse(self.T_world_cam[place])
        return dense_frame(decoded, pose, self.view)


def dense_frame(decoded: DecodedFrame, T_view_world: Array, view: FocusedView) -> DenseFrame:
    """What a decoded image says about depth, as inverse depth of the view."""
    rho, variance = decoded.inv_virtual_depth, decoded.variance
    grey = np.clip(np.rint(decoded.image), 0, 255).astype(np.uint8)
    colors = decoded.color if decoded.color is not None else np.repeat(grey[..., None], 3, 2)
    if rho is None or variance is None:
        raise DegenerateError("Its frames have no depth; a dense map needs raw images or virtual depth.")
    valid = np.isfinite(rho) & np.isfinite(variance) & (variance > 0)
    if decoded.valid is not None:
        valid &= decoded.valid
    with np.errstate(invalid="ignore", divide="ignore"):
        q = view.inv_depth_from_virtual(rho)
        sigma = np.sqrt(variance) / np.abs(view.inv_virtual_depth_slope(q))
    valid &= np.isfinite(q) & np.isfinite(sigma)
    grid = grid_of(view)
    known = np.where(valid, q, np.nan).astype(np.float32), np.where(valid, sigma, np.inf).astype(np.float32)
    return DenseFrame(
        decoded.index,
        T_view_world,
        np.ascontiguousarray(decoded.image, np.float32),
        prior_of(*known, grid),
        np.ascontiguousarray(colors[:: grid.step, :: grid.step]),
    )


def dense_map(
    find: Callable[[int], InputFrame],
    number: Callable[[float], int],
    keyframes: Trajectory,
    sensor: Sensor,
    view: FocusedView,
    threads: int = 2,
    say: Say | None = None,
) -> DenseMap:
    """The map of a run: ``find`` reads a frame of the recording by its number, ``number`` is that of a time."""
    keyframes = keyframes.in_segment(keyframes.largest_segment)  # between worlds nothing is known
    if len(keyframes) < FEWEST:
        raise DegenerateError(
            f"The run has {len(keyframes)} keyframe{'s' if len(keyframes) != 1 else ''} in one world; a dense map needs"
            f" {FEWEST} that see the same from different places."
        )
    indices = [number(t) for t in keyframes.times.tolist()]
    reader = KeyframeReader(find, sensor, view, indices, keyframes.poses)
    found = densify(reader, len(indices), view, threads, say)
    if not len(found.mesh.triangles):
        raise DegenerateError(
            "No surface was found that several keyframes agree on: the camera hardly moved, or what it saw has no"
            " texture."
        )
    return found
