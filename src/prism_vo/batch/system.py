# SPDX-License-Identifier: Apache-2.0
"""Normal equations of the batch at a state, and its damped steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from prism_vo.arrays import Array, Mask
from prism_vo.batch.numbers import COUNT
from prism_vo.batch.projection import Projection, project
from prism_vo.batch.records import BatchState, Observations
from prism_vo.batch.schur import POINT, POSE, Coupling, Rows, accumulate, eliminate, inverted_blocks
from prism_vo.linear.scaling import jacobi_scale, scaled

HUBER = 2.0  # σ
SLOPE_RATIOS = 0.8, 1.25  # estimated over measured slope: beyond them σ is not carried on
BEHIND = 1e-9  # of the depth sign: such points are no observations


@dataclass(frozen=True)
class CameraPrior:
    """What is known of the camera's numbers beforehand: σ 0 holds a number, infinity knows nothing."""

    mean: Array  # (COUNT,)
    sigma: Array  # (COUNT,)

    @classmethod
    def held(cls, values: Array) -> CameraPrior:
        """The camera does not move."""
        return cls(values.copy(), np.zeros(COUNT))

    @property
    def information(self) -> Array:
        """1/σ² (COUNT,); 0 where nothing is known, and where a number is held."""
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
    rows: Rows
    h: Array  # (M, M)
    b: Array  # (M,)
    coupling: Coupling
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
        return variables, -np.einsum("pij,pj->pi", inverse, self.b_points + self.on_points(variables))

    def reduced(self) -> Array:
        """Schur's complement on camera and poses (M, M)."""
        return self._reduced(self.h.copy(), inverted_blocks(self.h_points, 0.0))[0]

    def on_points(self, variables: Array) -> Array:
        """Gradient (P, 3) that increments (M,) of the variables cause in the points."""
        poses = variables[COUNT:].reshape(-1, POSE)[self.rows.keyframe]
        by_poses = np.einsum("nij,nj->ni", self.coupling.pose, poses)
        return np.asarray(self.coupling.camera @ variables[:COUNT] + self.sum_by_point(by_poses))

    def on_variables(self, points: Array) -> Array:
        """Gradient (M,) that increments (P, 3) of the points cause in the variables."""
        out = np.zeros(len(self.b))
        out[:COUNT] = np.einsum("pij,pi->j", self.coupling.camera, points)
        own = np.repeat(points, np.diff(self.rows.first), axis=0)
        by_pose = np.einsum("nij,ni->nj", self.coupling.pose, own)
        np.add.at(out[COUNT:].reshape(-1, POSE), self.rows.keyframe, by_pose)
        return out

    def sum_by_point(self, values: Array) -> Array:
        """Sums over the observations of each point."""
        ends = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, 0)])
        return np.asarray(ends[self.rows.first[1:]] - ends[self.rows.first[:-1]])

    def _reduced(self, h: Array, inverse: Array) -> tuple[Array, Array]:
        b = self.b.copy()
        eliminate(self.rows, self.coupling, inverse, self.b_points, h, b)
        return h, b


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
    first = np.searchsorted(seen.point, np.arange(len(state.points) + 1))
    rows = Rows(
        np.ascontiguousarray(value),
        np.ascontiguousarray(white @ at.by_camera),
        np.ascontiguousarray(white @ at.by_pose),
        np.ascontiguousarray(white @ at.by_point),
        seen.keyframe,
        first,
    )
    size, points = COUNT + POSE * len(state.poses), len(state.points)
    h, b = np.zeros((size, size)), np.zeros(size)
    h_points, b_points = np.zeros((points, POINT, POINT)), np.zeros((points, POINT))
    coupling = Coupling(np.zeros((points, POINT, COUNT)), np.zeros((len(seen), POINT, POSE)))
    accumulate(rows, h, b, h_points, b_points, coupling.camera, coupling.pose)
    information, away = prior.information, state.camera.values - prior.mean
    h[np.arange(COUNT), np.arange(COUNT)] += information
    b[:COUNT] += information * away
    energy = residuals.energy + float((information * away**2).sum())
    return BatchSystem(energy, residuals, rows, h, b, coupling, h_points, b_points)
