# SPDX-License-Identifier: Apache-2.0
"""What is wrong at the end of a path, seen from its start: the figure that closing a loop is about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo import se3
from prism_vo.errors import DegenerateError
from prism_vo.evaluate.association import TrajectoryLike, as_series, associate

FRAMES = 5  # at either end, over whose pairs errors are averaged


@dataclass(frozen=True)
class EndError:
    """Of the last frames' poses relative to the first ones'; nothing is aligned, the scale is that of the estimate."""

    translation: float  # m
    rotation_deg: float


def end_error(estimate: TrajectoryLike, truth: TrajectoryLike, max_difference: float = 0.01) -> EndError:
    """Mean over all pairs of one of the first and one of the last frames. A path of several worlds has no end error."""
    all_estimated, all_true = as_series(estimate), as_series(truth)
    rows, partners = associate(all_estimated, all_true, max_difference)
    est, true = all_estimated.take(rows), all_true.take(partners)
    if len(rows) < 2 * FRAMES or len(est.worlds()) > 1:
        raise DegenerateError("The path has no two ends in one world.")
    found = []
    for a in range(FRAMES):
        for b in range(len(rows) - FRAMES, len(rows)):
            ours, theirs = (se3.inverse(poses[a]) @ poses[b] for poses in (est.poses, true.poses))
            apart = se3.inverse(theirs) @ ours
            found.append((float(np.linalg.norm(apart[:3, 3])), se3.rotation_angle(apart[:3, :3])))
    translation, rotation = np.mean(found, axis=0)
    return EndError(float(translation), float(np.degrees(rotation)))
