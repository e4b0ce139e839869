# SPDX-License-Identifier: Apache-2.0
"""Are there three kinds of micro-lenses? Seen from how sharp the three interleaved sub-lattices are.

Neighbouring lenses see nearly the same content, so within a zone the three classes (i − j) mod 3 differ only if the
lenses do. Which class is sharpest changes with depth, hence zones are judged one by one and then together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.calibrate.features import grey_frames
from prism_vo.calibrate.grid import CLASS_COUNT, Grid
from prism_vo.calibrate.zones import MAD_TO_SIGMA, ZONES

INNER_SHARE = 0.36  # of the pitch: radius within which rims do not count
DARKEST = 4.0  # grey levels of 255: below it a lens shows nothing
FEWEST_OF_A_CLASS = 3  # in a zone
LEAST_TEXTURE = 0.25  # scatter of the logarithm of sharpness over lenses: below it there is nothing to be sharp
CLEAR_CERTAINTY, LOW_CERTAINTY = 6.0, 3.0  # standard deviations
LEAST_DIFFERENCE = 0.03  # of the logarithm of sharpness: smaller ones are no kinds of lenses


@dataclass(frozen=True)
class LensClassSharpness:
    """Sharpness by class (i − j) mod 3.

    ``sharpness`` (3,) is the mean relative contrast of a class over the mean of all; ``sigma`` (3,) its standard
    deviation. ``difference`` is the root mean square by which classes differ within a zone (of the logarithm, noise
    removed), ``certainty`` by how many standard deviations that is more than one kind of lens would show.
    ``kinds``: 1, 3, or None where the images cannot tell.
    """

    sharpness: Array
    sigma: Array
    difference: float
    certainty: float
    kinds: Literal[1, 3] | None

    def best_shift(self, expected: Array) -> tuple[int, float]:
        """By how many classes to shift so that ``expected`` (3,) sharpness fits best, and how clear that is.

        Class c of the expectation is class (c + shift) mod 3 here. The second number is the lead over the second
        best shift in standard deviations.
        """
        wanted = np.log(np.asarray(expected, np.float64))
        seen = np.log(self.sharpness)
        wanted, seen = wanted - wanted.mean(), seen - seen.mean()
        fits = np.array([wanted @ np.roll(seen, -shift) for shift in range(CLASS_COUNT)])
        order = np.argsort(-fits)
        spread = float(np.linalg.norm(wanted) * np.sqrt(2.0) * max(float(self.sigma.max()), 1e-9))
        return int(order[0]), float((fits[order[0]] - fits[order[1]]) / max(spread, 1e-12))


def lens_type_sharpness(images: Sequence[NDArray[Any]] | NDArray[Any], grid: Grid) -> LensClassSharpness:
    """Compare the sharpness of the three sub-lattices of ``grid`` in raw images (H, W) of a textured scene."""
    frames = grey_frames(images)
    lenses = grid.lenses(frames[0].shape, grid.pitch / 2 + 1)
    kind = np.mod(lenses.index[:, 0] - lenses.index[:, 1], CLASS_COUNT)
    row, column = (lenses.centres[:, (1, 0)] * ZONES // frames[0].shape).astype(int).T
    group = (row * ZONES + column) * CLASS_COUNT + kind
    means, errors, scatters = [], [], []
    for frame in frames:
        sharp = _lens_contrast(frame, lenses.centres, INNER_SHARE * grid.pitch)
        known = sharp > 0
        if known.any():
            value = np.log(sharp[known])
            scatters.append(MAD_TO_SIGMA * float(np.median(np.abs(value - np.median(value)))))
            mean, error = _by_group(value, group[known])
            means.append(mean)
            errors.append(error)
    if not means:
        return _undecided()
    mean, error = np.concatenate(means), np.concatenate(errors)
    good = np.isfinite(mean).all(1) & np.isfinite(error).all(1)
    if good.sum() < FEWEST_OF_A_CLASS or float(np.median(scatters)) < LEAST_TEXTURE:
        return _undecided()
    return _judge(mean[good], error[good])


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


def _by_group(value: Array, group: Array) -> tuple[Array, Array]:
    """Mean (Z, 3) and its standard deviation (Z, 3) by zone and class; NaN where there are too few lenses."""
    length = ZONES * ZONES * CLASS_COUNT
    count = np.bincount(group, minlength=length).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(group, value, length) / count
        variance = np.bincount(group, (value - mean[group]) ** 2, length) / (count - 1)
        error = np.sqrt(variance / count)
    few = count < FEWEST_OF_A_CLASS
    mean[few], error[few] = np.nan, np.nan
    return mean.reshape(-1, CLASS_COUNT), error.reshape(-1, CLASS_COUNT)


def _judge(mean: Array, error: Array) -> LensClassSharpness:
    zones = len(mean)
    deviation = mean - mean.mean(1, keepdims=True)
    variance = np.maximum((error**2).mean(1), 1e-12)  # of one class in a zone; small samples: pooled over classes
    excess = (deviation**2).sum(1) / variance  # two degrees of freedom each where there is one kind
    limited = np.minimum(excess, 50.0)  # one odd zone decides nothing
    certainty = float((limited.sum() - 2 * zones) / np.sqrt(4.0 * zones))
    difference = float(np.sqrt(max(np.mean((deviation**2).mean(1) - variance * 2.0 / 3.0), 0.0)))
    overall = deviation.mean(0)
    sigma = np.sqrt(deviation.var(0) / zones)
    kinds: Literal[1, 3] | None = None
    if certainty > CLEAR_CERTAINTY and difference > LEAST_DIFFERENCE:
        kinds = 3
    elif certainty < LOW_CERTAINTY:
        kinds = 1
    return LensClassSharpness(np.exp(overall), sigma, difference, certainty, kinds)
