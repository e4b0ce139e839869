# SPDX-License-Identifier: Apache-2.0
"""Normal equations of the batch: sparse rows, three numbers a point eliminated by Schur's complement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sparse

from prism_vo.arrays import Array, Mask
from prism_vo.batch.numbers import COUNT
from prism_vo.batch.projection import POSE, Projection, project
from prism_vo.batch.records import BatchState, Observations
from prism_vo.linear.scaling import jacobi_scale, scaled

HUBER = 2.0  # σ
SLOPE_RATIOS = 0.8, 1.25  # estimated over measured slope: beyond them σ is not carried on
POINT = 3
BEHIND = 1e-9  # of the depth sign: such points are no observations


@dataclass(frozen=True)
class CameraPrior:
    """What is known of the camera's numbers beforehand: σ 0 holds a number, infinity knows nothing."""

    mean: Array  # (9,)
    sigma: Array  # (9,)

    @classmethod
    def held(cls, values: Array) -> CameraPrior:
        """The camera does not move."""
        return cls(values.copy(), np.zeros(COUNT))

    @property
    def information(self) -> Array:
        """1/σ² (9,); 0 where nothing is known, and where a number is held."""
        known = np.isfinite(self.sigma) & (self.sigma > 0)
        return np.where(known, 1.0 / np.where(known, self.sigma, 1.0) ** 2, 0.0)


@dataclass(frozen=True)
class Residuals:
    """Whitened residuals (N, 3) with the square roots of their robust weights; rows without a value are 0."""

    whitened: Array  # (N, 3)
    root_weight: Array  # (N, 3)
    energy: float

    @property
    def position_size(self) -> Array:
        """Length of the residual of the position in σ (N,)."""
        return np.hypot(self.whitened[:, 0], self.whitened[:, 1])


@dataclass(frozen=True)
class BatchSystem:
    """``H δ = −b`` at a state, with the points still in it."""

    energy: float
    residuals: Residuals
    rows: sparse.csr_matrix  # (3N, M) weighted, by camera and poses
    point_rows: Array  # (N, 3, 3) weighted, by the observation's own point
    h: Array  # (M, M)
    b: Array  # (M,)
    cross: sparse.csr_matrix  # (3P, M)
    h_points: Array  # (P, 3, 3)
    b_points: Array  # (P, 3)

    def step(self, free: Mask, damping: float) -> tuple[Array, Array] | None:
        """Damped increments of the variables (M,) and of the points (P, 3)."""
        inverse = inverted_blocks(self.h_points, damping)
        h = self.h.copy()
        h[np.diag_indices_from(h)] *= 1.0 + damping
        reduced, b = self._reduced(h, inverse)
        reduced, b = reduced[np.ix_(free, free)], b[free]
        variables = np.zeros(len(self.b))
        try:
            scale = jacobi_scale(reduced)
            factor = scipy.linalg.cho_factor(scaled(reduced, scale), check_finite=True)
            variables[free] = -scale * scipy.linalg.cho_solve(factor, scale * b)
        except (np.linalg.LinAlgError, ValueError):
            return None
        gradient = self.b_points + (self.cross @ variables).reshape(-1, POINT)
        return variables, -np.einsum("pij,pj->pi", inverse, gradient)

    def reduced(self) -> Array:
        """Schur's complement on camera and poses (M, M)."""
        return self._reduced(self.h, inverted_blocks(self.h_points, 0.0))[0]

    def _reduced(self, h: Array, inverse: Array) -> tuple[Array, Array]:
        blocks = _block_diagonal(inverse)
        weighted = (blocks @ self.cross).tocsr()
        reduced = h - (self.cross.T @ weighted).toarray()
        return reduced, self.b - weighted.T @ self.b_points.reshape(-1)


def residuals_of(projection: Projection, seen: Observations) -> Residuals:
    """Differences in σ and what they count."""
    predicted = projection.predicted
    out = np.zeros((len(seen), 3))
    out[:, :2] = np.einsum("nij,nj->ni", seen.whitening, predicted[:, :2] - seen.xy)
    out[:, 2] = (predicted[:, 2] - seen.slope) / slope_sigma_at(predicted[:, 2], seen)
    usable = (projection.depth_sign > BEHIND) & np.isfinite(out[:, :2]).all(1)
    out[~usable] = 0.0
    out[~np.isfinite(out[:, 2]), 2] = 0.0
    size = np.stack([np.hypot(out[:, 0], out[:, 1])] * 2 + [np.abs(out[:, 2])], 1)
    weight = HUBER / np.maximum(size, HUBER)
    parts = weight * size**2 * (2.0 - weight)  # Huber's loss
    energy = float(parts[:, 0].sum() + parts[:, 2].sum())
    root = np.sqrt(weight)
    root[~usable] = 0.0
    root[~np.isfinite(seen.slope), 2] = 0.0
    return Residuals(out, root, energy)


def slope_sigma_at(estimate: Array, seen: Observations) -> Array:
    """σ of measured slopes where their points are believed to be: a match that errs towards near calls itself surer."""
    with np.errstate(invalid="ignore"):
        ratio = np.clip(estimate / seen.slope, *SLOPE_RATIOS)
    return np.asarray(seen.slope_sigma * ratio ** (0.5 * seen.slope_power))


def linearize(state: BatchState, seen: Observations, prior: CameraPrior) -> BatchSystem:
    """The normal equations at a state."""
    at = project(state, seen)
    residuals = residuals_of(at, seen)
    white = np.zeros((len(seen), 3, 3))
    white[:, :2, :2] = seen.whitening
    white[:, 2, 2] = 1.0 / slope_sigma_at(at.predicted[:, 2], seen)
    white = np.where(np.isfinite(white), white, 0.0) * residuals.root_weight[:, :, None]
    value = residuals.whitened * residuals.root_weight
    point_rows = white @ at.by_point
    rows = _sparse_rows(white @ at.by_camera, white @ at.by_pose, seen, len(state.poses))
    h, b = (rows.T @ rows).toarray(), rows.T @ value.reshape(-1)
    information, away = prior.information, state.camera.values - prior.mean
    h[np.arange(COUNT), np.arange(COUNT)] += information
    b[:COUNT] += information * away
    own = _point_columns(point_rows, seen, len(state.points))
    h_points = _sums(point_rows.transpose(0, 2, 1) @ point_rows, seen, len(state.points))
    b_points = _sums(np.einsum("nri,nr->ni", point_rows, value), seen, len(state.points))
    energy = residuals.energy + float((information * away**2).sum())
    cross = (own.T @ rows).tocsr()
    return BatchSystem(energy, residuals, rows, point_rows, h, b, cross, h_points, b_points)


def inverted_blocks(blocks: Array, damping: float) -> Array:
    """(V + μ diag V)⁻¹ of symmetric 3×3 blocks (P, 3, 3); zero where one knows nothing."""
    diagonal = np.einsum("pii->pi", blocks)
    known = (diagonal > 0).all(1)
    scale = np.where(known[:, None], 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
    unit = blocks * scale[:, :, None] * scale[:, None, :]
    unit[:, range(POINT), range(POINT)] = 1.0 + damping + LEAST_PIVOT
    return np.asarray(np.linalg.inv(unit) * scale[:, :, None] * scale[:, None, :])


LEAST_PIVOT = 1e-12  # a point seen once has no depth from parallax; it keeps the one it has


def _sums(values: Array, seen: Observations, points: int) -> Array:
    """Sum over the observations of each point; they are sorted by point."""
    out = np.zeros((points, *values.shape[1:]))
    first = np.flatnonzero(np.diff(seen.point, prepend=-1))
    if len(first):
        out[seen.point[first]] = np.add.reduceat(values, first, axis=0)
    return out


def _sparse_rows(by_camera: Array, by_pose: Array, seen: Observations, poses: int) -> sparse.csr_matrix:
    count, width = len(seen), COUNT + POSE
    columns = np.empty((count, 3, width), np.int32)
    columns[:, :, :COUNT] = np.arange(COUNT)
    columns[:, :, COUNT:] = (COUNT + POSE * seen.keyframe[:, None] + np.arange(POSE))[:, None, :]
    data = np.concatenate([by_camera, by_pose], 2)
    starts = np.arange(0, 3 * count * width + 1, width, dtype=np.int32)
    shape = (3 * count, COUNT + POSE * poses)
    return sparse.csr_matrix((data.reshape(-1), columns.reshape(-1), starts), shape=shape)


def _point_columns(point_rows: Array, seen: Observations, points: int) -> sparse.csr_matrix:
    count = len(seen)
    columns = np.broadcast_to(
        (POINT * seen.point[:, None] + np.arange(POINT))[:, None, :], (count, 3, POINT)
    ).astype(np.int32)
    starts = np.arange(0, 3 * count * POINT + 1, POINT, dtype=np.int32)
    shape = (3 * count, POINT * points)
    return sparse.csr_matrix((point_rows.reshape(-1), columns.reshape(-1), starts), shape=shape)


def _block_diagonal(blocks: Array) -> sparse.bsr_matrix:
    count = len(blocks)
    shape = (POINT * count, POINT * count)
    return sparse.bsr_matrix((blocks, np.arange(count), np.arange(count + 1)), shape=shape)
