# SPDX-License-Identifier: Apache-2.0
"""What an adjustment leaves over, by zones of the sensor: a pattern there is a wrong grid or a wrong distortion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from prism_vo.arrays import Array, Integers, Mask
from prism_vo.batch.adjust import Adjusted

ZONES = 6  # a side
FEWEST = 20  # sightings in a zone that a mean is made of


@dataclass(frozen=True)
class ZoneResiduals:
    """Means over zones (ZONES, ZONES) of the sensor, row by row; NaN where too few sightings are."""

    shift: Array  # (ZONES, ZONES, 2) raw px
    slope: Array  # (ZONES, ZONES), of h
    rms: Array  # (ZONES, ZONES) raw px


def by_zone(found: Adjusted, size: tuple[int, int]) -> ZoneResiduals:
    """``size``: width, height of the sensor."""
    left, xy = found.residuals, found.seen.xy
    cell = np.clip((xy / np.array(size) * ZONES).astype(int), 0, ZONES - 1)
    shift, slope = mean_shift(xy, left[:, :2], size), np.full((ZONES, ZONES), np.nan)
    rms = np.full((ZONES, ZONES), np.nan)
    for row in range(ZONES):
        for column in range(ZONES):
            mine: Mask = (cell[:, 1] == row) & (cell[:, 0] == column)
            if mine.sum() < FEWEST:
                continue
            rms[row, column] = np.sqrt((left[mine, :2] ** 2).mean())
            known = mine & np.isfinite(left[:, 2])
            if known.sum() >= FEWEST:
                slope[row, column] = np.median(left[known, 2])
    return ZoneResiduals(shift, slope, rms)


def mean_shift(xy: Array, left: Array, size: tuple[int, int]) -> Array:
    """(ZONES, ZONES, 2) medians of residuals (N, 2) at places (N, 2) of a sensor of this width and height, raw px."""
    out = np.full((ZONES, ZONES, 2), np.nan)
    cell = np.clip((xy / np.array(size) * ZONES).astype(int), 0, ZONES - 1)
    for row, column in np.ndindex(ZONES, ZONES):
        mine = (cell[:, 1] == row) & (cell[:, 0] == column)
        if mine.sum() >= FEWEST:
            out[row, column] = np.median(left[mine], axis=0)
    return out


def by_lens_type(found: Adjusted, lens_type: Integers, count: int) -> list[tuple[float, float]]:
    """RMS of position (raw px) and median of slope residuals of the sightings nearest to lenses of each type."""
    left = found.residuals
    out = []
    for kind in range(count):
        mine = lens_type == kind
        sloped = left[mine & np.isfinite(left[:, 2]), 2]
        rms = float(np.sqrt((left[mine, :2] ** 2).mean())) if mine.any() else float("nan")
        out.append((rms, float(np.median(sloped)) if len(sloped) else float("nan")))
    return out


def nearest_lens_types(found: Adjusted, centres: Array, lens_type: Integers) -> Integers:
    """Type of the micro-image nearest to each sighting (N,)."""
    _, nearest = cKDTree(centres).query(found.seen.xy)
    return np.asarray(lens_type[nearest])
