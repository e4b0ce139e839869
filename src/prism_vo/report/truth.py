# SPDX-License-Identifier: Apache-2.0
"""The true path beside the estimated one: by which alignment a run is judged, and the truth in its world."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prism_vo.arrays import Array

if TYPE_CHECKING:
    from prism_vo.evaluate.metrics import AlignedError
    from prism_vo.pipeline import RunResult
    from prism_vo.trajectory import Trajectory


def own_alignment(result: RunResult) -> AlignedError | None:
    """The alignment a method is judged by: a metric one may not fit the scale."""
    if result.metrics is None:
        return None
    return result.metrics.se3 if result.odometry.variant.measures_depth else result.metrics.sim3


def truth_in_estimate(truth: Trajectory | None, alignment: AlignedError | None) -> Array:
    """Positions of the truth (M, 3) brought into the world of the estimate; empty without an alignment."""
    if truth is None or alignment is None:
        return np.zeros((0, 3))
    return alignment.transform.inverse().apply(truth.positions)
