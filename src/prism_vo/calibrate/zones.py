# SPDX-License-Identifier: Apache-2.0
"""Offsets of single lenses, averaged over zones of the sensor, with a standard deviation each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array, Integers, Mask
from prism_vo.calibrate.offsets import LensOffsets

ZONES = 8  # a side
PITCHES_PER_ZONE = 4.0  # at least, a side
FEWEST_LENSES = 4  # a zone with fewer says nothing
LEAST_STRENGTH, MOST_STRENGTH = (
    0.2,
    3.0,
)  # of the median: lenses that show too little, and a cap on their weight
HUBER = 1.5  # scatters beyond which a lens counts less
PASSES = 8  # of reweighting
MAD_TO_SIGMA = 1.4826


@dataclass(frozen=True)
class Zones:
    """Zones in rows from the top left; NaN where a zone shows nothing.

    ``sigma`` counts the lenses of a zone as independent; `lattice.fit_lattice` finds out how far they are not.
    """

    shape: tuple[int, int]  # rows, columns
    centre: Array  # (Z, 2): mean position of the lenses used
    offset: Array  # (Z, 2): measured minus predicted centre, raw pixels
    sigma: Array  # (Z, 2)
    lenses: Integers  # (Z,): how many were used

    @property
    def known(self) -> Mask:
        """Zones that show something (Z,)."""
        return np.asarray(np.isfinite(self.offset).all(-1) & np.isfinite(self.sigma).all(-1))


def zone_offsets(measured: LensOffsets, image_shape: tuple[int, ...], pitch: float) -> Zones:
    """Robust weighted mean of the offsets in up to ZONES × ZONES equal parts of the sensor."""
    rows, columns = (int(np.clip(side / (PITCHES_PER_ZONE * pitch), 2, ZONES)) for side in image_shape[:2])
    centres, strength = measured.lenses.centres, measured.strength
    usable = np.isfinite(measured.offset).all(-1) & (strength > 0) & measured.visible
    typical = float(np.median(strength[usable])) if usable.any() else 1.0
    usable &= strength > LEAST_STRENGTH * typical
    weight = np.minimum(strength / typical, MOST_STRENGTH) ** 2
    column = np.clip(centres[:, 0] * columns // image_shape[1], 0, columns - 1).astype(int)
    row = np.clip(centres[:, 1] * rows // image_shape[0], 0, rows - 1).astype(int)
    zone = row * columns + column
    centre, offset, sigma = (np.full((rows * columns, 2), np.nan) for _ in range(3))
    count = np.zeros(rows * columns, np.int32)
    for z in range(rows * columns):
        mine = usable & (zone == z)
        count[z] = mine.sum()
        if count[z] >= FEWEST_LENSES:
            offset[z], sigma[z] = robust_mean(measured.offset[mine], weight[mine])
            centre[z] = np.average(centres[mine], axis=0, weights=weight[mine])
    return Zones((rows, columns), centre, offset, sigma, count)


def robust_mean(values: Array, weight: Array) -> tuple[Array, Array]:
    """Huber mean (D,) of values (N, D) and its standard deviation (D,), by column."""
    mean = np.median(values, axis=0)
    scatter = MAD_TO_SIGMA * np.median(np.abs(values - mean), axis=0) + 1e-9
    for _ in range(PASSES):
        far = np.abs(values - mean) / (HUBER * scatter)
        w = weight[:, None] / np.maximum(far, 1.0)
        mean = (w * values).sum(0) / w.sum(0)
    residual = w * (values - mean)
    return mean, np.sqrt((residual**2).sum(0)) / w.sum(0)
