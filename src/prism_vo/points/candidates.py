# SPDX-License-Identifier: Apache-2.0
"""New candidates of a keyframe: pixels with gradient, their plenoptic depth, and the interval it leaves open."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Floats, Integers
from prism_vo.config import SelectConfig
from prism_vo.optics.camera import FocusedView
from prism_vo.points.pattern import pattern_at
from prism_vo.points.records import DEPTH_NONE, DEPTH_USED, Candidates
from prism_vo.points.select import (
    classify,
    independent_information,
    prefer_depth,
    smooth_depth,
)
from prism_vo.points.spread import spread_pixels
from prism_vo.types import PointDepth

Measure = Callable[[Floats], PointDepth]
OWN_SIGMAS = 2.5  # of a pixel's own depth, within which it lies


def select_candidates(
    view: FocusedView,
    image: Floats,
    measure: Measure,
    wanted: int,
    config: SelectConfig,
    contrast: float,
    rng: np.random.Generator,
) -> Candidates:
    """Select pixels of the (h, w) keyframe image and measure ρ_v there; depth-carrying pixels are preferred."""
    pixels = spread_pixels(image, int(config.oversample * wanted), rng)
    depth = measure(pixels.astype(np.float32))
    kind = classify(depth, config)
    keep = prefer_depth(image, pixels, kind, wanted, config.depth_bonus)
    pixels, kind = pixels[keep], kind[keep]
    depth = PointDepth(depth.inv_virtual_depth[keep], depth.variance[keep], depth.valid[keep])
    return _with_intervals(view, image, pixels, depth, kind, config, contrast)


def _with_intervals(
    view: FocusedView,
    image: Floats,
    pixels: Integers,
    depth: PointDepth,
    kind: NDArray[np.int8],
    config: SelectConfig,
    contrast: float,
) -> Candidates:
    count = len(pixels)
    u, v = pixels[:, 0].astype(np.float32), pixels[:, 1].astype(np.float32)
    rho = depth.inv_virtual_depth.astype(np.float64)
    known = kind != DEPTH_NONE
    inv_depth = np.full(count, np.nan)
    low, high = np.zeros(count), np.full(count, np.nan)
    # beyond infinity is noise: the start value is clamped to ρ_C ≥ 0, the measurement is kept as it is
    smooth, spread = smooth_depth(view, pixels, depth, config.matching_window)
    start, reach = smooth[known], 2.0 * np.sqrt(spread[known])
    inv_depth[known] = np.maximum(view.inv_depth_from_virtual(start), 1e-3)
    low[known] = np.maximum(view.inv_depth_from_virtual(start + reach), 0.0)
    high[known] = np.maximum(view.inv_depth_from_virtual(start - reach), 1e-2)
    own, doubt = rho[known], OWN_SIGMAS * np.sqrt(depth.variance[known].astype(np.float64))
    widest_low, widest_high = low.copy(), high.copy()
    widest_low[known] = np.minimum(low[known], np.maximum(view.inv_depth_from_virtual(own + doubt), 0.0))
    widest_high[known] = np.maximum(high[known], view.inv_depth_from_virtual(own - doubt))
    color, weight = pattern_at(image, u, v, contrast)
    information = independent_information(pixels, depth, kind == DEPTH_USED, config.matching_window)
    return Candidates(
        host=np.zeros(count, np.int32),
        u=u,
        v=v,
        inv_depth=inv_depth,
        measured=np.where(known, rho, np.nan),
        information=information,
        kind=kind,
        color=color,
        weight=weight,
        low=low,
        high=high,
        quality=np.zeros(count, np.float32),
        failures=np.zeros(count, np.int8),
        widest_low=widest_low,
        widest_high=widest_high,
    )
