# SPDX-License-Identifier: Apache-2.0
"""Depths of a monocular start: the scale is free and set to mean inverse depth 1.

All points of the first keyframe start on a plane; each tracked frame then improves their depths one by one, held
towards the median of their neighbours, until the parallax suffices for a bundle adjustment.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial import cKDTree

from prism_vo.optics.camera import FocusedView
from prism_vo.points.records import Points
from prism_vo.window.depths import solve_depths
from prism_vo.window.state import State
from prism_vo.window.terms.depth import DepthTerm
from prism_vo.window.terms.photometric import PhotometricTerm

NEIGHBOURS = 10
RELATIVE_SIGMA = 0.5  # of the inverse depth about its neighbours' median
HUBER = 2.5  # σ
ITERATIONS = 5
LEAST_INV_DEPTH, MOST_INV_DEPTH = 0.05, 20.0  # in units of the mean


def improve_depths(
    view: FocusedView, photometric: PhotometricTerm, state: State, weight: float
) -> tuple[Points, float]:
    """Points (all hosted in the first frame) after one more frame; and the factor that rescaled inverse depths.

    Distances must be multiplied by the factor too, so that the images still fit. ``weight``: of the neighbours, as η.
    """
    points = photometric.points
    pixels = np.stack([points.u, points.v], -1)
    _, near = cKDTree(pixels).query(pixels, k=NEIGHBOURS)
    centre = np.maximum(np.median(points.inv_depth[near], axis=1), LEAST_INV_DEPTH)
    sigma = RELATIVE_SIGMA * centre * np.abs(view.inv_virtual_depth_slope(centre))
    neighbours = DepthTerm(view, view.inv_virtual_depth(centre), 1.0 / sigma**2, weight, HUBER)
    solved = solve_depths(photometric, neighbours, state, ITERATIONS, 0.0)
    q = np.clip(np.where(solved.good, solved.points.inv_depth, centre), LEAST_INV_DEPTH, MOST_INV_DEPTH)
    factor = float(np.mean(q))
    curvature = solved.curvature * factor**2
    points = replace(points, inv_depth=q / factor, curvature=curvature, photometric_curvature=curvature)
    return points, factor
