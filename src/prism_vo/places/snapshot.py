# SPDX-License-Identifier: Apache-2.0
"""A compact keyframe from one frame alone: its depth is measured, so no other frame is needed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from prism_vo.arrays import Floats
from prism_vo.config import SelectConfig
from prism_vo.optics.camera import FocusedView
from prism_vo.places.features import find_features
from prism_vo.places.keyframe import CompactKeyframe
from prism_vo.points.candidates import select_candidates
from prism_vo.tracking.reference import KeyframeDepth
from prism_vo.types import Frame, InputFrame, PointDepth

POINTS = 550
CONTRAST = 50.0  # grey levels a pixel; weights are not used here
LEAST_SIGMA = 1e-6  # 1/m
NO_ID = -1

Measure = Callable[[InputFrame, Floats], PointDepth]


def snapshot(view: FocusedView, frame: Frame, measure: Measure, config: SelectConfig) -> CompactKeyframe:
    """What a frame looks like and how far away it is, at a few hundred points."""

    def here(points: Floats) -> PointDepth:
        return measure(frame.source, points)

    rng = np.random.default_rng(0)
    found = select_candidates(view, frame.image, here, POINTS, config, CONTRAST, rng)
    known = found.take(found.information > 0)
    depth = np.full(frame.image.shape[:2], np.nan, np.float32)
    variance = np.full(frame.image.shape[:2], np.inf, np.float32)
    y, x = known.v.astype(np.intp), known.u.astype(np.intp)
    depth[y, x] = known.inv_depth
    variance[y, x] = np.maximum((known.high - known.low) / 4.0, LEAST_SIGMA) ** 2
    features = find_features(view, frame.pyramid, here)
    keyframe = KeyframeDepth(
        NO_ID, np.eye(4), np.zeros(2), frame.exposure, view.image_plane, frame.image, depth, variance
    )
    return CompactKeyframe.of(keyframe, frame.pyramid, features, NO_ID, frame.time)
