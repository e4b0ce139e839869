# SPDX-License-Identifier: Apache-2.0
"""How well an adjustment knows its variables: from the normal equations, or from how its points pull.

Errors of one point in all keyframes hang together (one texture, one surface), and so do those of neighbours. The
normal equations count them as independent; the sandwich estimator counts each group of points once, by the pull that
its residuals have on the variables. A group holds what it pulls, and with a pose a keyframe it holds a good deal: its
residuals are smaller than its errors, and are made as large again as independent errors would have been (Bell and
McCaffrey's correction, known as CR2).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import solve_triangular

from prism_vo.arrays import Array
from prism_vo.batch.adjust import Adjusted
from prism_vo.batch.numbers import COUNT
from prism_vo.batch.records import Rows
from prism_vo.batch.schur import POINT, POSE, Coupling, accumulate, eliminate, inverted_blocks
from prism_vo.batch.schur import Rows as SightingRows
from prism_vo.batch.system import slope_sigma_at
from prism_vo.errors import DegenerateError
from prism_vo.linear.scaling import inverse, jacobi_scale, scaled

MOST_HELD = (
    0.95  # of what is known in a direction: a group that holds more of it says nothing of its own errors
)
FEWEST_GROUPS = 20  # below it a mean over groups says nothing of their spread


def normal_covariance(found: Adjusted) -> Array:
    """(M, M) from the normal equations; 0 for variables that were held."""
    reduced = found.system.reduced()
    known = inverse(reduced[np.ix_(found.free, found.free)])
    if known is None:
        raise DegenerateError(
            "The recording does not determine the camera: some combination of its numbers changes nothing in it."
        )
    out = np.zeros_like(reduced)
    out[np.ix_(found.free, found.free)] = known
    return out


def grouped_covariance(found: Adjusted, group: Rows) -> Array:
    """(M, M) with points of one ``group`` (P,) counted once; never less than the normal equations say."""
    bread = normal_covariance(found)
    pulls = group_pulls(found, group)
    if len(pulls) < FEWEST_GROUPS:
        return bread
    moved = _moved_by_groups(found, group, pulls) * _huber_loss(found)
    grouped = moved.T @ moved
    ratio = np.sqrt(np.maximum(np.diag(bread) / np.maximum(np.diag(grouped), 1e-300), 1.0))
    return np.asarray(grouped * ratio[:, None] * ratio[None, :])


def _moved_by_groups(found: Adjusted, group: Rows, pulls: Array) -> Array:
    """(G, M): how far each group's errors move the variables: L⁻ᵀ (1 − L⁻¹ S_g L⁻ᵀ)^(−½) L⁻¹ pull with S = L Lᵀ, where
    S_g is the group's own share of the reduced normal equations S."""
    free = np.flatnonzero(found.free)
    reduced = found.system.reduced()[np.ix_(free, free)]
    scale = jacobi_scale(reduced)
    factor = np.linalg.cholesky(scaled(reduced, scale))
    out = np.zeros_like(pulls)
    for row, (pull, own) in enumerate(zip(pulls, _group_information(found, group))):
        half = solve_triangular(factor, scaled(own[np.ix_(free, free)], scale), lower=True)
        share, vector = np.linalg.eigh(solve_triangular(factor, half.T, lower=True))
        grown = vector.T @ solve_triangular(factor, scale * pull[free], lower=True)
        grown = vector @ (grown / np.sqrt(1.0 - np.clip(share, 0.0, MOST_HELD)))
        out[row, free] = scale * solve_triangular(factor, grown, lower=True, trans=1)
    return out


def _group_information(found: Adjusted, group: Rows) -> Iterator[Array]:
    """Schur's complement (M, M) of each group's sightings alone, in the order of :func:`group_pulls`."""
    at, size = found.system, len(found.system.b)
    mine = group[found.seen.point]
    counts = np.diff(at.rows.first)
    for label in np.unique(mine):
        rows, points = mine == label, (group == label) & (counts > 0)
        part = SightingRows(
            at.rows.value[rows],
            at.rows.by_camera[rows],
            at.rows.by_pose[rows],
            at.rows.by_point[rows],
            at.rows.keyframe[rows],
            np.concatenate([[0], np.cumsum(counts[points])]),
        )
        h, b = np.zeros((size, size)), np.zeros(size)
        h_points, b_points = np.zeros((points.sum(), POINT, POINT)), np.zeros((points.sum(), POINT))
        coupling = Coupling(np.zeros((points.sum(), POINT, COUNT)), np.zeros((rows.sum(), POINT, POSE)))
        accumulate(part, h, b, h_points, b_points, coupling.camera, coupling.pose)
        eliminate(part, coupling, inverted_blocks(h_points, 0.0), b_points, h, b)
        yield h


def group_pulls(found: Adjusted, group: Rows) -> Array:
    """Gradient (G, M) of each group's residuals by the variables, the points' own share taken out."""
    at = found.system
    labels, member = np.unique(group, return_inverse=True)
    mine = member[found.seen.point]
    own = np.einsum("pij,pj->pi", inverted_blocks(at.h_points, 0.0), at.b_points)
    out = np.zeros((len(labels), len(at.b)))
    by_camera = np.einsum("nri,nr->ni", at.rows.by_camera, at.rows.value)
    by_pose = np.einsum("nri,nr->ni", at.rows.by_pose, at.rows.value)
    by_pose -= np.einsum("nij,ni->nj", at.coupling.pose, own[found.seen.point])
    np.add.at(out[:, :COUNT], mine, by_camera)
    np.add.at(out[:, :COUNT], member, -np.einsum("pij,pi->pj", at.coupling.camera, own))
    columns = COUNT + POSE * found.seen.keyframe[:, None] + np.arange(POSE)
    np.add.at(out, (mine[:, None], columns), by_pose)
    return out[np.isin(labels, group[found.seen.point])]


def _huber_loss(found: Adjusted) -> float:
    """Mean weight over mean curvature of the robust loss: outliers pull, but do not hold."""
    root = found.system.residuals.root_weight[:, 0]
    weight = root[root > 0] ** 2
    inside = (weight >= 1.0 - 1e-9).mean()
    return float(weight.mean() / max(inside, 0.1))


def through_points(found: Adjusted, by_variables: Array, by_points: Array) -> tuple[Array, float]:
    """Gradient (M,) of a function of variables and points, when the points follow, and the points' own variance."""
    own = np.einsum("pij,pj->pi", inverted_blocks(found.system.h_points, 0.0), by_points)
    return by_variables - found.system.on_variables(own), float((own * by_points).sum())


def point_gradient_variance(
    found: Adjusted, covariance: Array, by_variables: Array, by_points: Array
) -> float:
    """σ² of a function with gradients by the variables (M,) and by the points (P, 3)."""
    through, alone = through_points(found, by_variables, by_points)
    return float(through @ covariance @ through) + alone


def variables_moved_by(found: Adjusted, slope_errors: Array) -> Array:
    """How far the variables (M,) move, to first order, when all measured slopes are off by these errors (N,)."""
    at = found.system
    sigma = slope_sigma_at(found.seen.slope, found.seen)
    value = np.zeros((len(found.seen), 3))
    known = at.residuals.root_weight[:, 2] > 0
    value[known, 2] = at.residuals.root_weight[known, 2] * slope_errors[known] / sigma[known]
    by_variables = np.zeros(len(at.b))
    by_variables[:COUNT] = np.einsum("nri,nr->i", at.rows.by_camera, value)
    by_pose = np.einsum("nri,nr->ni", at.rows.by_pose, value)
    np.add.at(by_variables[COUNT:].reshape(-1, POSE), found.seen.keyframe, by_pose)
    by_points = at.sum_by_point(np.einsum("nri,nr->ni", at.rows.by_point, value))
    pull, _ = through_points(found, by_variables, by_points)
    return np.asarray(normal_covariance(found) @ pull)
