# SPDX-License-Identifier: Apache-2.0
"""Matched features → metric pose: both sides know depths, so a match must agree in the image and in metres."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Integers, Mask
from prism_vo.linear.scaling import damped_step, jacobi_scale, scaled
from prism_vo.optics.camera import FocusedView
from prism_vo.places.features import Features

DISTINCT = 0.85  # nearest over second nearest descriptor distance
LARGEST_DISTANCE = 64  # of 256 bits
REPROJECTION = 0.008  # of the image width: tolerance of a matched corner, which is found to about a pixel
CHI_SQUARED = 11.3  # of four numbers less the depth, one in a hundred true matches beyond it
TOLERANCE_SIGMAS = 0.4  # 1σ of a corner's place, of that tolerance
ROUNDS = 3
ITERATIONS_OF_REFINEMENT = 8
DEPTH_TOLERANCE = 0.05  # relative: what interpolation between depths leaves
LEAST_MATCHES = 12  # that must agree on one pose
ITERATIONS = 200
GUESSED_SIGMAS = (-3.0, -1.5, 1.5, 3.0)


@dataclass(frozen=True)
class MatchedPose:
    """What matched features say about two keyframes."""

    T_b_a: Array
    rows_a: Integers  # (N,) features that agree on the pose
    rows_b: Integers
    matches: int  # distinct matches, whether they agree or not
    hessian: Array  # (6, 6), left tangent

    def guesses(self) -> list[Array]:
        """The pose, and others along what is known least: with far scenes and narrow lenses a rotation moves corners
        much like a translation does, and a direct alignment from the wrong one of the two may not find out."""
        scale = jacobi_scale(self.hessian)
        values, vectors = np.linalg.eigh(scaled(self.hessian, scale))
        weakest = scale * vectors[:, 0] / np.sqrt(max(float(values[0]), 1e-9))
        steps = [se3.exp(k * weakest) @ self.T_b_a for k in GUESSED_SIGMAS]
        return [self.T_b_a, *(se3.renormalised(step) for step in steps)]


def match_features(a: Features, b: Features) -> tuple[Integers, Integers]:
    """Rows of features that are each other's nearest, and clearly nearer than the next."""
    if len(a) < 2 or len(b) < 2:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    matcher = cv2.BFMatcher(cv2.NORM_HAMMING)
    back = np.full(len(b), -1)
    for m in matcher.match(b.descriptors, a.descriptors):
        back[m.queryIdx] = m.trainIdx
    rows = [
        (first.queryIdx, first.trainIdx)
        for first, second in matcher.knnMatch(a.descriptors, b.descriptors, 2)
        if first.distance < DISTINCT * second.distance
        and first.distance <= LARGEST_DISTANCE
        and back[first.trainIdx] == first.queryIdx
    ]
    pairs = np.array(rows, np.int32).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def pose_of_matches(view: FocusedView, a: Features, b: Features) -> MatchedPose | None:
    """Pose of b's view relative to a's, from points of ``a`` seen in ``b``; None: too few agree on one."""
    rows_a, rows_b = match_features(a, b)
    in_space = a.known[rows_a]
    ia, ib = rows_a[in_space], rows_b[in_space]
    if len(ia) < LEAST_MATCHES:
        return None
    points = a.points(view)[ia]
    pixels = b.xy[ib].astype(np.float64)
    tolerance = REPROJECTION * view.width
    found, turn, shift, _ = cv2.solvePnPRansac(
        points,
        pixels,
        view.pinhole,
        None,
        iterationsCount=ITERATIONS,
        reprojectionError=tolerance,
        confidence=0.999,
        flags=cv2.SOLVEPNP_AP3P,
    )
    if not found:
        return None
    rows = _rows(view, a, b, ia, ib, tolerance)
    pose, h = _pose(np.asarray(turn, np.float64), np.asarray(shift, np.float64)), np.eye(6)
    for _ in range(ROUNDS):  # refined with all that agree
        if rows.agree(pose).sum() < LEAST_MATCHES:
            return None
        pose, h = rows.refined(pose)
    good = rows.agree(pose)
    if good.sum() < LEAST_MATCHES or not np.isfinite(pose).all():
        return None
    return MatchedPose(pose, ia[good], ib[good], len(rows_a), h)


@dataclass(frozen=True)
class _Rows:
    """Matches: where ``a`` sees points and how far away, where ``b`` sees them and how far.

    A depth known to 7 % moves a point by pixels along its epipolar line; taken for exact, that noise pulls every
    translation towards zero. So the inverse depths are unknowns with a measurement each, eliminated one by one.
    """

    view: FocusedView
    rays: Array  # (N, 3) of a, at depth 1
    inv_depth: Array  # (N,) that a measured
    sigma: Array  # (N,)
    pixels: Array  # (N, 2) of b
    seen: Array  # (N,) inverse depth that b measured
    seen_sigma: Array  # (N,), inf where it did not
    tolerance: float  # px, 1σ

    def linearize(self, pose: Array, q: Array) -> tuple[Array, Array, Array]:
        """Residuals (N, 4) in σ: x, y, inverse depth in b, in a; Jacobians by pose (N, 4, 6) and by q (N, 4)."""
        view, p = self.view, self.rays @ pose[:3, :3].T + pose[:3, 3] * q[:, None]  # q times the point
        z = np.maximum(p[:, 2], 1e-6)
        x, y, near = p[:, 0] / z, p[:, 1] / z, q / z  # inverse depth in b
        f = view.focal_px
        r, by_pose, by_q = np.zeros((len(q), 4)), np.zeros((len(q), 4, 6)), np.zeros((len(q), 4))
        t = pose[:3, 3]
        r[:, 0], r[:, 1] = f * x + view.cx - self.pixels[:, 0], f * y + view.cy - self.pixels[:, 1]
        by_q[:, 0], by_q[:, 1] = f * (t[0] - x * t[2]) / z, f * (t[1] - y * t[2]) / z
        by_pose[:, 0] = f * np.stack([near, 0 * x, -x * near, -x * y, 1 + x * x, -y], -1)
        by_pose[:, 1] = f * np.stack([0 * x, near, -y * near, -1 - y * y, x * y, x], -1)
        r[:, :2] /= self.tolerance
        by_q[:, :2] /= self.tolerance
        by_pose[:, :2] /= self.tolerance
        # what b says about the depth, with what interpolation between depths leaves
        spread = np.hypot(self.seen_sigma, DEPTH_TOLERANCE * near)
        known = np.isfinite(spread)
        r[:, 2] = np.where(known, (near - np.where(known, self.seen, 0.0)) / spread, 0.0)
        by_q[:, 2] = (1.0 - near * t[2]) / z / spread
        by_pose[:, 2] = near[:, None] / spread[:, None] * np.stack([0 * x, 0 * x, -near, -y, x, 0 * x], -1)
        r[:, 3], by_q[:, 3] = (q - self.inv_depth) / self.sigma, 1.0 / self.sigma
        return r, by_pose, by_q

    def best_depths(self, pose: Array) -> Array:
        """Inverse depths (N,) that fit best at a pose."""
        q = self.inv_depth.copy()
        for _ in range(3):
            r, _, by_q = self.linearize(pose, q)
            q = np.maximum(q - (by_q * r).sum(1) / (by_q**2).sum(1), 1e-3)
        return q

    def squared(self, pose: Array, q: Array) -> Array:
        """χ² (N,) of each match; large behind the camera."""
        r, _, _ = self.linearize(pose, q)
        ahead = self.rays @ pose[2, :3] + pose[2, 3] * q > 1e-3
        return np.where(ahead, (r**2).sum(1), np.inf)

    def agree(self, pose: Array) -> Mask:
        """Matches that fit, in the image and in depth on both sides."""
        return np.asarray(self.squared(pose, self.best_depths(pose)) < CHI_SQUARED)

    def refined(self, pose: Array) -> tuple[Array, Array]:
        """Gauss–Newton over the pose and all depths, with those that agree, Huber-weighted; and the pose's Hessian."""
        q, h = self.best_depths(pose), np.eye(6)
        for _ in range(ITERATIONS_OF_REFINEMENT):
            r, by_pose, by_q = self.linearize(pose, q)
            squared = self.squared(pose, q)
            w = np.where(squared < CHI_SQUARED, 1.0 / np.maximum(np.sqrt(squared), 1.0), 0.0)
            h_q = np.maximum((by_q**2).sum(1), 1e-12)
            cross = np.einsum("nki,nk->ni", by_pose, by_q)
            b_q = (by_q * r).sum(1)
            h = np.einsum("n,nki,nkj->ij", w, by_pose, by_pose) - np.einsum(
                "n,ni,nj->ij", w / h_q, cross, cross
            )
            b = np.einsum("n,nki,nk->i", w, by_pose, r) - np.einsum("n,ni->i", w * b_q / h_q, cross)
            step = damped_step(h, b, 1e-6)
            if step is None or np.linalg.norm(step[3:]) > 0.5:
                break
            pose = se3.renormalised(se3.exp(step) @ pose)
            q = np.maximum(q - (b_q + cross @ step) / h_q, 1e-3)
            if np.abs(step).max() < 1e-5:
                break
        return pose, h


def _rows(view: FocusedView, a: Features, b: Features, ia: Integers, ib: Integers, tolerance: float) -> _Rows:
    x, y = a.xy[ia].astype(np.float64).T
    return _Rows(
        view,
        view.image_plane.rays(x, y),
        a.inv_depth[ia].astype(np.float64),
        a.sigma[ia].astype(np.float64),
        b.xy[ib].astype(np.float64),
        b.inv_depth[ib].astype(np.float64),
        np.where(b.known[ib], b.sigma[ib], np.inf).astype(np.float64),
        TOLERANCE_SIGMAS * tolerance,
    )


def _pose(turn: Array, shift: Array) -> Array:
    out = np.eye(4)
    out[:3, :3] = se3.so3_exp(turn.ravel())
    out[:3, 3] = shift.ravel()
    return out
