# SPDX-License-Identifier: Apache-2.0
"""Where a camera images points and with which stereo slope, and the derivatives of both.

Homogeneous throughout: ``P = R d + q t`` is the point in the camera times its (finite or zero) inverse depth, so the
inverse depth there is ``q/P_z`` and nothing is divided by q.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_vo.arrays import Array
from prism_vo.batch.numbers import (
    A0,
    A1,
    B0,
    B1,
    COUNT,
    CURVATURE,
    CX,
    CY,
    FIELD,
    FOCAL,
    KAPPA,
    TILT_X,
    TILT_Y,
    W,
)
from prism_vo.batch.records import BatchState, Observations
from prism_vo.batch.schur import POSE


class Projection(NamedTuple):
    """N projections and their Jacobians; rows: x, y (raw px), slope."""

    predicted: Array  # (N, 3)
    depth_sign: Array  # (N,) positive in front of the camera
    by_camera: Array  # (N, 3, COUNT)
    by_pose: Array  # (N, 3, 6) left tangent (translation, rotation) of T_cam_world
    by_point: Array  # (N, 3, 3)


def project(state: BatchState, seen: Observations) -> Projection:
    """Every observation as the state predicts it."""
    rotation, translation = state.poses[seen.keyframe, :3, :3], state.poses[seen.keyframe, :3, 3]
    world, q = state.homogeneous[seen.point], state.points[seen.point, 2]
    P = np.einsum("nij,nj->ni", rotation, world[:, :3]) + q[:, None] * translation
    anchor = state.anchors[seen.point]
    by_ray = rotation @ anchor[:, :3, :2]
    by_q = np.einsum("nij,nj->ni", rotation, anchor[:, :3, 3]) + translation
    P_by_point = np.concatenate([by_ray, by_q[:, :, None]], 2)
    P_by_pose = np.zeros((len(q), 3, POSE))
    P_by_pose[:, 0, 0] = P_by_pose[:, 1, 1] = P_by_pose[:, 2, 2] = q
    P_by_pose[:, :, 3:] = _minus_hat(P)
    return _imaged(state.camera.values, state.camera.pixel_mm, P, q, P_by_pose, P_by_point)


def _imaged(v: Array, pixel: float, P: Array, q: Array, P_by_pose: Array, P_by_point: Array) -> Projection:
    """The chain from P to the sensor."""
    count, z = len(q), P[:, 2]
    ratio = P[:, :2] / z[:, None]
    flat = v[FOCAL] * ratio * pixel  # mm about the principal point, without distortion
    shift, by_coefficient, by_flat = _distortion(v, flat)
    xy = (flat + shift) / pixel + v[[CX, CY]]
    inv = q / z
    field = np.column_stack([flat, (flat * flat).sum(1)])
    w = v[W] + v[KAPPA] * inv + field @ v[FIELD]
    slope = 1.0 / w
    by_P = np.zeros((count, 3, 3))
    by_P[:, :2, :2] = (v[FOCAL] / z)[:, None, None] * by_flat
    by_P[:, :2, 2] = -np.einsum("nij,nj->ni", by_P[:, :2, :2], ratio)
    by_inv = -v[KAPPA] * slope * slope
    by_P[:, 2, 2] = -by_inv * inv / z
    by_field = v[[TILT_X, TILT_Y]] + 2.0 * v[CURVATURE] * flat  # ∂w/∂flat
    across = -(slope * slope * v[FOCAL] * pixel / z)[:, None] * by_field
    by_P[:, 2, :2] = across
    by_P[:, 2, 2] -= (across * ratio).sum(1)
    by_camera = np.zeros((count, 3, COUNT))
    by_camera[:, :2, FOCAL] = np.einsum("nij,nj->ni", by_flat, ratio)
    by_camera[:, 0, CX] = by_camera[:, 1, CY] = 1.0
    by_camera[:, :2, A0:W] = by_coefficient / pixel
    by_camera[:, 2, FOCAL] = -slope * slope * pixel * (by_field * ratio).sum(1)
    by_camera[:, 2, W] = -slope * slope
    by_camera[:, 2, FIELD] = -(slope * slope)[:, None] * field
    by_camera[:, 2, KAPPA] = -slope * slope * inv
    by_point = by_P @ P_by_point
    by_point[:, 2, 2] += by_inv / z  # inv = q/z depends on q itself, too
    predicted = np.concatenate([xy, slope[:, None]], 1)
    return Projection(predicted, z, by_camera, by_P @ P_by_pose, by_point)


def _distortion(v: Array, flat: Array) -> tuple[Array, Array, Array]:
    """Δ (N, 2) in mm at undistorted places, ∂Δ/∂(A0, A1, B0, B1) (N, 2, 4) and ∂(place + Δ)/∂place (N, 2, 2)."""
    x, y = flat.T
    r2 = x * x + y * y
    by_coefficient = np.empty((len(x), 2, 4))
    by_coefficient[:, :, 0] = flat * r2[:, None]
    by_coefficient[:, :, 1] = flat * (r2 * r2)[:, None]
    by_coefficient[:, 0, 2], by_coefficient[:, 1, 2] = r2 + 2 * x * x, 2 * x * y
    by_coefficient[:, 0, 3], by_coefficient[:, 1, 3] = 2 * x * y, r2 + 2 * y * y
    shift = by_coefficient @ v[[A0, A1, B0, B1]]
    radial, growth = v[A0] * r2 + v[A1] * r2 * r2, 2 * v[A0] + 4 * v[A1] * r2
    by_flat = np.empty((len(x), 2, 2))
    by_flat[:, 0, 0] = 1 + radial + growth * x * x + 6 * v[B0] * x + 2 * v[B1] * y
    by_flat[:, 1, 1] = 1 + radial + growth * y * y + 6 * v[B1] * y + 2 * v[B0] * x
    by_flat[:, 0, 1] = by_flat[:, 1, 0] = growth * x * y + 2 * v[B0] * y + 2 * v[B1] * x
    return shift, by_coefficient, by_flat


def _minus_hat(P: Array) -> Array:
    """−[P]× (N, 3, 3): how P moves with a small turn."""
    out = np.zeros((len(P), 3, 3))
    x, y, z = P.T
    out[:, 0, 1], out[:, 0, 2] = z, -y
    out[:, 1, 0], out[:, 1, 2] = -z, x
    out[:, 2, 0], out[:, 2, 1] = y, -x
    return out
