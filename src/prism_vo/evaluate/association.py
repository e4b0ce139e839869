# SPDX-License-Identifier: Apache-2.0
"""Which estimated pose belongs to which ground-truth pose, by time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Integers
from prism_vo.errors import ArgumentError, DegenerateError


class TrajectoryLike(Protocol):
    """Anything with stamps (N,) in seconds, ascending, and poses (N, 4, 4) camera-to-world."""

    @property
    def times(self) -> Array: ...

    @property
    def poses(self) -> Array: ...

    # Those that are pieced together may also have ``segments`` (N,): poses of different ones have different worlds.


@dataclass(frozen=True)
class PoseSeries:
    """The plainest :class:`TrajectoryLike`: ascending stamps and camera-to-world poses."""

    times: Array  # (N,) s
    poses: Array  # (N, 4, 4)
    segments: Integers | None = None  # (N,); None: one world for all

    def __post_init__(self) -> None:
        if self.poses.shape != (len(self.times), 4, 4):
            raise DegenerateError(
                f"Poses of shape {self.poses.shape} do not fit {len(self.times)} time stamps."
            )
        if not (np.isfinite(self.times).all() and np.isfinite(self.poses).all()):
            raise DegenerateError("A trajectory contains values that are not finite; remove those lines.")
        if (np.diff(self.times) <= 0).any():
            raise DegenerateError(
                "The time stamps of a trajectory must increase; sort it and remove duplicates."
            )

    @property
    def positions(self) -> Array:
        """Camera centres (N, 3)."""
        return self.poses[:, :3, 3]

    def take(self, indices: NDArray[np.intp] | slice) -> PoseSeries:
        """The poses at ``indices``, in that order (ascending)."""
        segments = None if self.segments is None else self.segments[indices]
        return PoseSeries(self.times[indices], self.poses[indices], segments)

    def worlds(self) -> list[NDArray[np.intp]]:
        """Indices of the poses that share a world, the largest group first."""
        if self.segments is None:
            return [np.arange(len(self.times))]
        groups = [np.flatnonzero(self.segments == s) for s in np.unique(self.segments)]
        return sorted(groups, key=len, reverse=True)


def as_series(trajectory: TrajectoryLike) -> PoseSeries:
    """Any trajectory as float64 arrays, checked."""
    for name in ("times", "poses"):
        if not hasattr(trajectory, name):
            raise ArgumentError(
                f"A trajectory has times and poses, a {type(trajectory).__name__} has no {name}; read a file with"
                " read_trajectory."
            )
    segments = getattr(trajectory, "segments", None)
    return PoseSeries(
        np.asarray(trajectory.times, np.float64),
        np.asarray(trajectory.poses, np.float64),
        None if segments is None or len(np.unique(segments)) < 2 else np.asarray(segments, np.int32),
    )


def nearest(times: Array, wanted: Array) -> NDArray[np.intp]:
    """For each wanted stamp the index of the nearest of ``times`` (ascending, not empty)."""
    right = np.clip(np.searchsorted(times, wanted), 1, max(len(times) - 1, 1))
    left = right - 1
    right = np.minimum(right, len(times) - 1)
    return np.where(wanted - times[left] <= times[right] - wanted, left, right)


def associate(
    estimate: PoseSeries, truth: PoseSeries, max_difference: float
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Index pairs (estimate, truth): each other's nearest in time, at most ``max_difference`` s apart."""
    if len(estimate.times) == 0 or len(truth.times) == 0:
        raise DegenerateError("A trajectory without poses cannot be evaluated.")
    of_estimate = nearest(truth.times, estimate.times)
    of_truth = nearest(estimate.times, truth.times)
    index = np.arange(len(estimate.times))
    gap = np.abs(truth.times[of_estimate] - estimate.times)
    keep = (of_truth[of_estimate] == index) & (gap <= max_difference)
    if not keep.any():
        raise DegenerateError(
            f"Estimate ({estimate.times[0]:.3f}–{estimate.times[-1]:.3f} s) and ground truth "
            f"({truth.times[0]:.3f}–{truth.times[-1]:.3f} s) have no time stamps within {max_difference:g} s "
            "of each other; check their clocks or allow a larger difference."
        )
    return index[keep], of_estimate[keep]


def covered_share(estimate: PoseSeries, truth: PoseSeries, max_difference: float) -> float:
    """Share of the ground-truth poses that lie within one and a half frame intervals of an estimated pose."""
    if len(estimate.times) < 2:
        return 0.0
    reach = max(max_difference, 1.5 * float(np.median(np.diff(estimate.times))))
    gap = np.abs(estimate.times[nearest(estimate.times, truth.times)] - truth.times)
    return float((gap <= reach).mean())
