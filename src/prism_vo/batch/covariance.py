# SPDX-License-Identifier: Apache-2.0
"""How well an adjustment knows its variables: from the normal equations, or from how its points pull.

Errors of one point in all keyframes hang together (one texture, one surface), and so do those of neighbours. The
normal equations count them as independent; the sandwich estimator counts each group of points once, by the pull that
its residuals have on the variables.
"""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Array
from prism_vo.batch.adjust import Adjusted
from prism_vo.batch.numbers import COUNT
from prism_vo.batch.records import Rows
from prism_vo.batch.schur import POSE, inverted_blocks
from prism_vo.batch.system import slope_sigma_at
from prism_vo.errors import DegenerateError
from prism_vo.linear.scaling import inverse

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
    meat = pulls.T @ pulls * (len(pulls) / (len(pulls) - 1.0))
    grouped = bread @ meat @ bread * _huber_loss(found) ** 2
    ratio = np.sqrt(np.maximum(np.diag(bread) / np.maximum(np.diag(grouped), 1e-300), 1.0))
    return np.asarray(grouped * ratio[:, None] * ratio[None, :])


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
    return out[np.abs(out).sum(1) > 0]


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
