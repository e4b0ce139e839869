# SPDX-License-Identifier: Apache-2.0
"""The slopes at which micro-images are compared: fine rungs for the refinement, few coarse ones for the search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prism_vo.arrays import Array
from prism_vo.lightfield.geometry import LARGEST_SLOPE, StereoGeometry
from prism_vo.lightfield.variance import pixel_correlation

# motion at the rim of a micro-image between rungs of the ladder; with 0.3 px the chord between two of them still bends
# a scene 2.5 to 3.5 m deep by 1e-4, as a focus wrong by half a micrometre would (0.1 px: the same as 0.15)
RUNG_SHIFT_PX = 0.15
BEYOND_SIGMAS = 3.0  # measurements beyond infinity are kept up to so many of their σ
RUNGS_BEYOND = 3  # one below the range, one above it, and one because n steps have n + 1 ends
MOST_LENSES = 40  # lenses per sample beyond which only every second (third …) is used
SEARCH_SHIFT_PX = 1.0  # the same for the search, at the rim of the part of a micro-image it looks at
MOST_RUNGS = 128  # of the search: micro-images of 130 px and more have coarser ones
SEARCH_LENSES = 4.0  # lenses per sample the search looks at, the nearest ones
CIRCLES_COVER = 0.907  # π/√12: share of the plane that touching circles in a hexagonal grid cover


class Ladder(NamedTuple):
    """Rungs of the refinement: slopes that grow by a constant ratio."""

    slope: Array  # (R,)
    stride: NDArray[np.int64]  # (R,): every n-th lens is used
    correlation: Array  # (R,): of residuals one node apart, the least: that of blurred, interpolated noise


class SearchLadder(NamedTuple):
    """Rungs of the search."""

    slope: Array  # (K,)
    radius: Array  # (K,): of the part of a micro-image that the search looks at, raw px
    share: Array  # (K,): of the information of whole micro-images that is seen there


def refinement_ladder(geometry: StereoGeometry, pitch: float, largest_sigma: float) -> Ladder:
    """Rungs for the range of ``geometry``, one outside it on either side; ``pitch``: raw px between matching nodes.

    ``largest_sigma``: of a slope that is valid. Beyond ``far`` there are rungs for three of it: a match whose root lies
    beyond the last one is lost, and those that are left of a far scene would be too near.
    """
    ratio = 1.0 + RUNG_SHIFT_PX / geometry.radius
    farthest = min(geometry.slope_far + BEYOND_SIGMAS * largest_sigma, max(LARGEST_SLOPE, geometry.slope_far))
    steps = int(np.ceil(np.log(farthest / geometry.slope_near) / np.log(ratio)))
    slope = np.asarray(geometry.slope_near * ratio ** (np.arange(steps + RUNGS_BEYOND) - 1.0), np.float64)
    lenses = lenses_per_sample(geometry, geometry.radius, slope)
    stride = np.maximum(1, np.rint(np.sqrt(lenses / MOST_LENSES))).astype(np.int64)
    return Ladder(slope, stride, pixel_correlation(pitch * slope) / pixel_correlation(0.0))


def search_ladder(geometry: StereoGeometry) -> SearchLadder:
    """Rungs of the search, each with the radius that has SEARCH_LENSES lenses in it.

    One rung lies outside the range on either side: a minimum has neighbours.
    """

    def radius_at(slope: float) -> float:
        full = float(lenses_per_sample(geometry, geometry.radius, slope))
        return float(geometry.radius * min(1.0, np.sqrt(SEARCH_LENSES / full)))

    slopes, shift = [0.0] * (MOST_RUNGS + 1), SEARCH_SHIFT_PX
    while len(slopes) > MOST_RUNGS:
        near = geometry.slope_near
        slopes = [near / (1.0 + shift / radius_at(near)), near]
        while slopes[-2] < geometry.slope_far:
            slopes.append(slopes[-1] * (1.0 + shift / radius_at(slopes[-1])))
        shift *= 1.5
    radius = np.array([radius_at(slope) for slope in slopes])
    share = (radius / geometry.radius) ** 4  # lenses times squared baselines
    return SearchLadder(np.array(slopes), radius, share)


def lenses_per_sample(geometry: StereoGeometry, radius: ArrayLike, slope: ArrayLike) -> Array:
    """Micro-images whose circle of ``radius`` (raw px) shows one TF sample at ``slope``."""
    in_use = np.count_nonzero(geometry.array.index >= 0) / len(geometry.lenses)
    across = 2.0 * np.asarray(radius) / geometry.array.diameter / np.asarray(slope)
    return np.asarray(CIRCLES_COVER * in_use * across**2)
