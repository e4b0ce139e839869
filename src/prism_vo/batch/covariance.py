# SPDX-License-Identifier: Apache-2.0
"""How well an adjustment knows its variables: from the normal equations, or from how its points pull.

Errors of one point in all keyframes hang together (one texture, one surface), and so do those of neighbours. The
normal equations count them as independent; the sandwich estimator counts each group of points once, by the pull that
its residuals have on the variables.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse

from prism_vo.arrays import Array
from prism_vo.batch.adjust import Adjusted
from prism_vo.batch.records import Rows
from prism_vo.batch.system import HUBER, inverted_blocks
from prism_vo.errors import DegenerateError
from prism_vo.linear.scaling import inverse

FEWEST_GROUPS = 20  # below it a mean over groups says nothing of their spread


def normal_covariance(found: Adjusted) -> Array:
    """(M, M) from the normal equations; 0 for variables that were held."""
    reduced = found.system.reduced()
    known = inverse(reduced[np.ix_(found.free, found.free)])
    if known is None:
        raise DegenerateError(
            "The recording does not determine the camera: some combination of its numbers changes nothing in the images."
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
    value = (at.residuals.whitened * at.residuals.root_weight).reshape(-1)
    labels, member = np.unique(group, return_inverse=True)
    rows = np.arange(len(value))
    pick = sparse.csr_matrix((value, (member[found.seen.point].repeat(3), rows)), (len(labels), len(value)))
    direct = (pick @ at.rows).toarray()
    own = np.einsum("pij,pj->pi", inverted_blocks(at.h_points, 0.0), at.b_points).reshape(-1)
    cells = sparse.csr_matrix((own, (member.repeat(3), np.arange(len(own)))), (len(labels), len(own)))
    pulls = np.asarray(direct - (cells @ at.cross).toarray())
    return pulls[np.abs(pulls).sum(1) > 0]


def _huber_loss(found: Adjusted) -> float:
    """Mean weight over mean curvature of the robust loss: outliers pull, but do not hold."""
    root = found.system.residuals.root_weight[:, 0]
    weight = root[root > 0] ** 2
    inside = (weight >= 1.0 - 1e-9).mean()
    return float(weight.mean() / max(inside, 0.1)) if HUBER else 1.0


def point_gradient_variance(found: Adjusted, covariance: Array, of_variables: Array, of_points: Array) -> float:
    """σ² of a function with gradients by the variables (M,) and by the points (P, 3)."""
    blocks = inverted_blocks(found.system.h_points, 0.0)
    own = np.einsum("pij,pj->pi", blocks, of_points)
    through = of_variables - found.system.cross.T @ own.reshape(-1)
    return float(through @ covariance @ through + (own * of_points).sum())
