# SPDX-License-Identifier: Apache-2.0
"""The range of every numeric setting: outside it the method has no meaning, does not end, or eats the memory."""

from __future__ import annotations

import math
from typing import NamedTuple


class Range(NamedTuple):
    """Both ends belong to it."""

    low: float
    high: float

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high  # false for NaN

    def __str__(self) -> str:
        return f"{self.low:g} to {'infinity' if math.isinf(self.high) else f'{self.high:g}'}"


SHARE = Range(0.0, 1.0)
GREY = Range(1e-3, 1e4)  # grey levels
PIXELS = Range(1e-3, 1e4)
FACTOR = Range(1.0, 1e3)
WEIGHT = Range(0.0, 1e6)
SIGMA = Range(1e-9, 1e6)
METRES = Range(1e-4, 1e6)
ITERATIONS = Range(1, 1000)
POINTS = Range(30, 100_000)
UNNAMED = Range(0.0, math.inf)  # no setting is negative

RANGES: dict[str, Range] = {
    "decode.near": METRES,
    "decode.far": Range(1e-4, math.inf),
    "decode.window": Range(1, 8),
    "decode.max_sigma": SIGMA,
    "decode.threads": Range(1, 256),
    "select.first_candidates": POINTS,
    "select.candidates": POINTS,
    "select.oversample": Range(1.0, 100.0),
    "select.depth_bonus": WEIGHT,
    "select.largest_sigma": SIGMA,
    "select.matching_window": Range(1, 1000),
    "track.huber": GREY,
    "track.cutoff": GREY,
    "track.image_sigma": GREY,
    "track.least_area": Range(100, 100_000_000),
    "track.iterations": ITERATIONS,
    "track.least_visible": SHARE,
    "track.least_inliers": SHARE,
    "track.patience": Range(0, 1_000_000),
    "track.keyframe_flow": PIXELS,
    "track.keyframe_visible": SHARE,
    "track.keyframe_rms_growth": FACTOR,
    "window.keyframes": Range(2, 100),
    "window.points": POINTS,
    "window.huber": GREY,
    "window.contrast": GREY,
    "window.depth_huber": Range(1e-3, 1e6),
    "window.iterations": ITERATIONS,
    "window.eta_factor": WEIGHT,
    "window.eta_smoothing": SHARE,
    "window.eta_balance": WEIGHT,
    "window.sigma_gain": SIGMA,
    "window.sigma_offset": SIGMA,
    "window.trace_longest": SHARE,
    "window.quality": FACTOR,
    "window.nearest": METRES,
    "seed": Range(0, (1 << 63) - 1),
}


def range_of(key: str) -> Range:
    """Of a setting by its dotted name."""
    return RANGES.get(key, UNNAMED)
