# SPDX-License-Identifier: Apache-2.0
"""Are there three kinds of micro-lenses? Seen from how sharp the three interleaved sub-lattices are.

Neighbouring lenses see nearly the same content, so within a zone the three classes (i − j) mod 3 differ only if the
lenses do. Which class is sharpest changes with depth, hence zones are judged one by one and then together. How much
classes differ by chance is seen from partitions of the same lenses that mix the three classes evenly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.calibrate.features import grey_frames
from prism_vo.calibrate.grid import CLASS_COUNT, Grid
from prism_vo.calibrate.zones import MAD_TO_SIGMA, ZONES
from prism_vo.compiled import njit

INNER_SHARE = 0.36  # of the pitch: radius within which rims do not count
DARKEST = 4.0  # grey levels of 255: below it a lens shows nothing
FEWEST_OF_A_CLASS = 2  # lenses in a zone
FEWEST_ZONES = 8
LEAST_TEXTURE = (
    0.25  # scatter of the logarithm of sharpness over lenses: below it there is nothing to be sharp
)
CLEAR_CERTAINTY, LOW_CERTAINTY = 4.5, 2.0  # standard deviations
SENSITIVE = 0.01  # of the logarithm of sharpness: what must be seen before one kind of lens is stated
MIXTURES = ((1, 1), (1, 0), (0, 1))  # (a i + b j) mod 3: every class of these holds all three kinds evenly


@dataclass(frozen=True)
class LensClassSharpness:
    """Sharpness by class (i − j) mod 3.

    ``sharpness`` (3,) is the mean relative contrast of a class over the mean of all; ``sigma`` (3,) its standard
    deviation. ``difference`` is the root mean square by which classes differ within a zone (of the logarithm, chance
    removed), ``certainty`` by how many standard deviations classes differ more than by chance.
    ``kinds``: 1, 3, or None where the images cannot tell.
    """

    sharpness: Array
    sigma: Array
    difference: float
    certainty: float
    kinds: Literal[1, 3] | None


def lens_type_sharpness(images: Sequence[NDArray[Any]] | NDArray[Any], grid: Grid) -> LensClassSharpness:
    """Compare the sharpness of the three sub-lattices of ``grid`` in raw images (H, W) of a textured scene."""
    frames = grey_frames(images)
    lenses = grid.lenses(frames[0].shape, grid.pitch / 2 + 1)
    row, column = (lenses.centres[:, (1, 0)] * ZONES // frames[0].shape).astype(int).T
    zone = row * ZONES + column
    sharp = np.stack([_lens_contrast(f, lenses.centres, INNER_SHARE * grid.pitch) for f in frames])
    with np.errstate(divide="ignore"):
        value = np.where(sharp > 0, np.log(sharp), np.nan)
    known = np.isfinite(value)
    if not known.any():
        return _undecided()
    scatter = MAD_TO_SIGMA * float(np.median(np.abs(value[known] - np.median(value[known]))))
    if scatter < LEAST_TEXTURE:
        return _undecided()
    i, j = lenses.index.T.astype(int)
    seen = _zone_deviations(value, zone, np.mod(i - j, CLASS_COUNT))
    chance = [_zone_deviations(value, zone, np.mod(a * i + b * j, CLASS_COUNT)) for a, b in MIXTURES]
    return _undecided() if len(seen) < FEWEST_ZONES else _judge(seen, np.concatenate(chance))


def _undecided() -> LensClassSharpness:
    return LensClassSharpness(np.ones(CLASS_COUNT), np.full(CLASS_COUNT, np.inf), 0.0, 0.0, None)


@njit(nogil=True, cache=True)
def _lens_contrast(frame, centres, radius):  # type: ignore[no-untyped-def]
    """Root mean square second difference over mean brightness inside each micro-image; 0 where it is dark."""
    out = np.zeros(len(centres))
    for k in range(len(centres)):
        cx, cy = centres[k]
        energy, light, count = 0.0, 0.0, 0
        for y in range(int(np.ceil(cy - radius)), int(np.floor(cy + radius)) + 1):
            for x in range(int(np.ceil(cx - radius)), int(np.floor(cx + radius)) + 1):
                if (x - cx) ** 2 + (y - cy) ** 2 > radius * radius:
                    continue
                here = 2.0 * frame[y, x]
                energy += (frame[y, x - 1] - here + frame[y, x + 1]) ** 2
                energy += (frame[y - 1, x] - here + frame[y + 1, x]) ** 2
                light += frame[y, x]
                count += 1
        if count > 0 and light > DARKEST * count and energy > 0.0:
            out[k] = np.sqrt(energy / (2 * count)) / (light / count)
    return out


def _zone_deviations(value: Array, zone: NDArray[np.int_], kind: NDArray[np.int_]) -> Array:
    """By how much each class differs from the mean of the three (Z, 3), in zones where all are seen; frames averaged.

    ``value`` (F, N) by frame and lens, NaN where unknown.
    """
    group, length = zone * CLASS_COUNT + kind, ZONES * ZONES * CLASS_COUNT
    total, number = np.zeros((ZONES * ZONES, CLASS_COUNT)), np.zeros((ZONES * ZONES, 1))
    for frame in value:
        known = np.isfinite(frame)
        count = np.bincount(group[known], minlength=length).reshape(-1, CLASS_COUNT)
        mean = np.bincount(group[known], frame[known], length).reshape(-1, CLASS_COUNT) / np.maximum(count, 1)
        whole = (count >= FEWEST_OF_A_CLASS).all(1)
        total[whole] += (mean - mean.mean(1, keepdims=True))[whole]
        number[whole] += 1
    some = number[:, 0] > 0
    return np.asarray(total[some] / number[some])


def _judge(seen: Array, chance: Array) -> LensClassSharpness:
    """Verdict from the deviations of the classes (Z, 3) and of partitions that mix them (Y, 3)."""
    zones = len(seen)
    power, by_chance = (_mean_without_extremes((d**2).sum(1)) for d in (seen, chance))
    # logarithm of a ratio of two mean squares with two degrees of freedom a zone each
    in_zones = np.log(power / by_chance) / np.sqrt(1.0 / zones + 1.0 / len(chance))
    overall = seen.mean(0)
    sigma = np.sqrt(np.maximum(chance.var(), 1e-12) / zones) * np.ones(CLASS_COUNT)
    over_all = np.sqrt((overall**2).sum() / sigma[0] ** 2 / 1.5)  # of order 1 by chance
    certainty = float(max(in_zones, over_all))
    kinds: Literal[1, 3] | None = None
    if certainty > CLEAR_CERTAINTY:
        kinds = 3
    elif certainty < LOW_CERTAINTY and sigma.max() < SENSITIVE:
        kinds = 1
    difference = float(np.sqrt(max(power - by_chance, 0.0) / CLASS_COUNT))
    return LensClassSharpness(np.exp(overall), sigma, difference, certainty, kinds)


def _mean_without_extremes(values: Array) -> float:
    """Mean of the lower nine tenths: one odd zone decides nothing."""
    kept = np.sort(values)[: max(1, int(np.ceil(0.9 * len(values))))]
    return max(float(kept.mean()), 1e-12)
