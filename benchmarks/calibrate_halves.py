# SPDX-License-Identifier: Apache-2.0
"""The first half of a calibration's keyframes against the second: do both find the same camera?

Sightings are shared out as they were observed, and each half is adjusted by itself, with its own poses, points and σ.
Both see the same scene, so errors that belong to the scene are in both; those of places, views and noise are not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from prism_vo.batch.adjust import adjust, camera_prior
from prism_vo.batch.numbers import DISTORTION, FIELD, KAPPA, CameraNumbers, W
from prism_vo.batch.records import BatchState, Observations
from prism_vo.camera_fit.adjusting import prior_of
from prism_vo.camera_fit.calibrate import metric_fit
from prism_vo.camera_fit.facts import TruePoses
from prism_vo.camera_fit.fit import CameraFit
from prism_vo.camera_fit.plan import DEFAULT

FEWEST_SIGHTINGS = 2  # of a point
ROUNDS = 2
DEPTHS = (0.8, 1.5)  # m: near and far things of the films


def halves(fit: CameraFit) -> list[CameraFit]:
    """Both halves, with the positions of their frames as the metric fact."""
    assert isinstance(fit.fact, TruePoses)
    count = len(fit.indices)
    out = []
    for first, last in ((0, count // 2), (count // 2, count)):
        state, seen = part_of(fit.adjusted.state, fit.adjusted.seen, first, last)
        values = state.camera.values
        plan = replace(
            DEFAULT,
            distortion="radial" if values[DISTORTION].any() else "none",
            field="bent" if values[FIELD].any() else "flat",
        )
        prior = camera_prior(*prior_of(fit.start, state.camera, plan))
        found = adjust(state, seen, prior, rounds=ROUNDS)
        out.append(
            metric_fit(found, TruePoses(fit.fact.positions[first:last]), fit.indices[first:last], fit.start)
        )
    return out


def part_of(state: BatchState, seen: Observations, first: int, last: int) -> tuple[BatchState, Observations]:
    """Keyframes from ``first`` up to ``last``, and the points that they see often enough."""
    mine = (seen.keyframe >= first) & (seen.keyframe < last)
    sightings = np.bincount(seen.point[mine], minlength=len(state.points))
    seen = seen.take(mine & (sightings[seen.point] >= FEWEST_SIGHTINGS))
    used, point = np.unique(seen.point, return_inverse=True)
    seen = replace(seen, point=point, keyframe=seen.keyframe - first)
    return BatchState(state.camera, state.poses[first:last], state.anchors[used], state.points[used]), seen


def scale_between(pair: list[CameraFit], truth: CameraNumbers) -> str:
    """Distances that the first half measures over those of the second."""
    words = []
    for depth in DEPTHS:
        v = truth.values[W] + truth.values[KAPPA] / depth
        one, other = (fit.numbers.values[KAPPA] / (v - fit.numbers.values[W]) for fit in pair)
        words.append(f"{100 * (one / other - 1):+.2f} % at {depth:g} m")
    return ", ".join(words)
