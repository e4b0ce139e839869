# SPDX-License-Identifier: Apache-2.0
"""Monocular initialisation, for the variant without plenoptic depth: the scale is free and set to mean inverse depth 1.

All points of the first keyframe start on a plane; each tracked frame then improves their depths one by one, held
towards the median of their neighbours, until the parallax suffices for a bundle adjustment.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial import cKDTree

from prism_vo.mapping.activate import solve_depths
from prism_vo.mapping.energy import State, WindowEnergy
from prism_vo.mapping.points import Points

NEIGHBOURS = 10
RELATIVE_SIGMA = 0.5  # of the inverse depth about its neighbours' median
ITERATIONS = 5


def improve_depths(energy: WindowEnergy, state: State) -> tuple[Points, float]:
    """Points (all hosted in the first frame) after one more frame; and the factor that rescaled inverse depths.

    Distances must be multiplied by the factor too, so that the images still fit.
    """
    points = energy.points
    view = energy.view
    _, near = cKDTree(np.stack([points.u, points.v], -1)).query(
        np.stack([points.u, points.v], -1), k=NEIGHBOURS
    )
    centre = np.maximum(np.median(points.inv_depth[near], axis=1), 0.05)
    sigma = RELATIVE_SIGMA * centre * np.abs(view.inv_virtual_depth_slope(centre))
    held = replace(points, measured=view.inv_virtual_depth(centre), information=1.0 / sigma**2)
    solved = solve_depths(
        replace(energy, points=held), replace(state, inv_depth=held.inv_depth), ITERATIONS, 0.0
    )
    q = np.clip(np.where(solved.good, solved.points.inv_depth, centre), 0.05, 20.0)
    factor = float(np.mean(q))
    return replace(points, inv_depth=q / factor, curvature=solved.curvature * factor**2), factor
