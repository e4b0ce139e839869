# SPDX-License-Identifier: Apache-2.0
"""What a batch adjustment reads and what it moves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prism_vo import se3
from prism_vo.arrays import Array, Mask
from prism_vo.batch.numbers import CameraNumbers

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Observations:
    """N sightings of points in keyframes, sorted by point: position on the sensor and, where measured, stereo slope."""

    point: Rows  # (N,)
    keyframe: Rows  # (N,)
    xy: Array  # (N, 2) raw px, as the lens images them (with its distortion)
    whitening: Array  # (N, 2, 2): times an error of xy it is of unit covariance
    slope: Array  # (N,) h = 1/v_n; NaN: not measured
    slope_sigma: Array  # (N,) at ``slope``
    slope_power: float = (
        0.0  # σ² grows so with the slope; it is taken at the estimate, not at the measurement
    )

    def __len__(self) -> int:
        return len(self.point)

    def take(self, rows: Mask) -> Observations:
        """Some of them; points keep their numbers."""
        columns = ("point", "keyframe", "xy", "whitening", "slope", "slope_sigma")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})

    def joined(self, other: Observations) -> Observations:
        """These, then others of later points."""
        return Observations(
            np.concatenate([self.point, other.point]),
            np.concatenate([self.keyframe, other.keyframe]),
            np.concatenate([self.xy, other.xy]),
            np.concatenate([self.whitening, other.whitening]),
            np.concatenate([self.slope, other.slope]),
            np.concatenate([self.slope_sigma, other.slope_sigma]),
            self.slope_power,
        )

    def rescaled(self, position: float, slope: float) -> Observations:
        """With σ of positions and of slopes multiplied by factors."""
        return replace(self, whitening=self.whitening / position, slope_sigma=self.slope_sigma * slope)


@dataclass(frozen=True)
class BatchState:
    """Camera, K poses and P points.

    A point is ``(a, b, q)``: the ray (a, b, 1) and the inverse depth in the frame of an anchor that does not move, so
    that points at infinity are points like others.
    """

    camera: CameraNumbers
    poses: Array  # (K, 4, 4) T_cam_world
    anchors: Array  # (P, 4, 4) T_world_anchor, constant
    points: Array  # (P, 3)

    def moved(self, camera: Array, poses: Array, points: Array) -> BatchState:
        """After steps of the camera (COUNT,), of the poses (K, 6) on the left and of the points (P, 3)."""
        turned = np.array([se3.renormalised(se3.exp(d) @ pose) for d, pose in zip(poses, self.poses)])
        return replace(self, camera=self.camera.moved(camera), poses=turned, points=self.points + points)

    def scaled(self, factor: float) -> BatchState:
        """All lengths times a factor."""
        poses, anchors = self.poses.copy(), self.anchors.copy()
        poses[:, :3, 3] *= factor
        anchors[:, :3, 3] *= factor
        points = self.points / np.array([1.0, 1.0, factor])
        camera = self.camera.with_kappa(float(self.camera.values[-1]) * factor)
        return BatchState(camera, poses, anchors, points)

    @property
    def homogeneous(self) -> Array:
        """World points (P, 4): direction and inverse distance, up to a factor."""
        rays = np.concatenate([self.points[:, :2], np.ones((len(self.points), 1))], 1)
        q = self.points[:, 2:]
        turned = np.einsum("pij,pj->pi", self.anchors[:, :3, :3], rays)
        return np.concatenate([turned + q * self.anchors[:, :3, 3], q], 1)

    @property
    def centres(self) -> Array:
        """Camera centres in the world (K, 3)."""
        return -np.einsum("kji,kj->ki", self.poses[:, :3, :3], self.poses[:, :3, 3])
