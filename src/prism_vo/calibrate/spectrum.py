# SPDX-License-Identifier: Apache-2.0
"""Lattices that a feature map may consist of, from the peaks of its power spectrum alone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import cv2
import numpy as np
import scipy.fft
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Mask
from prism_vo.calibrate.grid import Grid, Layout
from prism_vo.optics.mla import grid_axes

SMALLEST_PITCH, LARGEST_PITCH = 9.0, 75.0  # px
LARGEST_PERIOD = LARGEST_PITCH * np.sqrt(3.0)  # px: three lens types make a picture repeat after this
TILE = 1024  # px a side: the power of overlapping tiles is averaged
HIGHEST_FREQUENCY = 0.4  # cycles a pixel
PEAKS = 40  # strongest ones
CLEAR = 4.0  # of the background at the same frequency: what a peak must have at least
TOLERANCE = 1.2  # bins of the spectrum: how far from its place a wave of a lattice may be
ROUNDS = 4  # of fitting a lattice to the peaks that it explains
BLOCK_PX = 16  # compression blocks are multiples or halves of this and upright
SAME_PITCH, SAME_ANGLE = 0.01, 0.01  # relative, radians: lattices nearer than this are one
Waves = NDArray[np.complex128]  # frequencies x + iy
LAYOUTS: tuple[Layout, ...] = ("hexagonal", "rectangular")
RING_STEPS: dict[Layout, tuple[tuple[int, int], ...]] = {
    # one wave of each of the innermost rings, in reciprocal axes; a strong peak may belong to any of them
    "hexagonal": ((1, 0), (1, -1), (2, 0), (2, 1)),
    "rectangular": ((1, 0), (1, 1), (2, 0), (2, 1)),
}
SYMMETRY: dict[Layout, float] = {"hexagonal": np.pi / 3, "rectangular": np.pi / 2}


class Peaks(NamedTuple):
    """The strongest peaks of a spectrum, of one half plane."""

    wave: Waves  # (K,): complex frequency, cycles a pixel, x + iy
    weight: Array  # (K,): logarithm of the power over its background
    bin: float  # distance of neighbouring frequencies


@dataclass(frozen=True)
class Candidate:
    """A lattice and the share of the peaks (by weight) that it explains, less what it would by chance."""

    layout: Layout
    pitch: float
    rotation: float
    explained: float

    def grid(self, shape: tuple[int, ...]) -> Grid:
        """With its origin in the middle of the image."""
        middle = (shape[1] / 2 - 0.5, shape[0] / 2 - 0.5)
        return Grid.regular(self.layout, self.pitch, self.rotation, middle)


def spectral_peaks(values: Floats, without_blocks: bool) -> Peaks:
    """Peaks of the mean power of overlapping tapered tiles over the median power at the same frequency.

    ``without_blocks`` leaves out the waves of compression blocks.
    """
    height, width = values.shape
    size = min(TILE, height, width)
    taper = np.outer(np.hanning(size), np.hanning(size)).astype(np.float32)
    power = np.zeros((size, size))
    for top in _starts(height, size):
        for left in _starts(width, size):
            tile = values[top : top + size, left : left + size]
            power += np.abs(scipy.fft.fft2((tile - tile.mean()) * taper)) ** 2
    power = np.fft.fftshift(power)
    index = np.arange(size) - size // 2
    ring = np.rint(np.hypot(index[:, None], index[None, :])).astype(int)
    ratio = power / _background(power, ring)
    if without_blocks:
        from_block = (
            np.abs(index * BLOCK_PX / size - np.rint(index * BLOCK_PX / size)) * size / BLOCK_PX < 1.0
        )
        ratio[np.ix_(from_block, from_block)] = 1.0
    return _strongest(ratio)


def _starts(length: int, size: int) -> list[int]:
    count = 1 if length == size else int(np.ceil(2 * (length - size) / size)) + 1
    return [int(x) for x in np.linspace(0, length - size, count)]


def _background(power: Array, ring: Array) -> Array:
    """Median power of each ring of equal frequency, which isolated peaks do not move."""
    order = np.argsort(ring, axis=None, kind="stable")
    bounds = np.searchsorted(ring.ravel()[order], np.arange(ring.max() + 2))
    flat = power.ravel()[order]
    median = np.array([np.median(flat[a:b]) if b > a else 0.0 for a, b in pairwise(bounds)])
    return np.asarray(np.maximum(median, 1e-9 * max(float(median.max()), 1e-30))[ring], np.float64)


def _strongest(ratio: Array) -> Peaks:
    size = len(ratio)
    highest = cv2.dilate(ratio, np.ones((5, 5))) == ratio
    index = (np.arange(size) - size // 2) / size
    radius = np.hypot(index[:, None], index[None, :])
    upper = (index[:, None] > 0) | ((index[:, None] == 0) & (index[None, :] > 0))
    inside = (radius > 0.9 / LARGEST_PERIOD) & (radius < HIGHEST_FREQUENCY)
    places = np.argwhere(highest & upper & inside & (ratio > CLEAR))
    heights = ratio[places[:, 0], places[:, 1]]
    order = np.argsort(-heights)[:PEAKS]
    wave = np.array([_centroid(ratio, row, column) for row, column in places[order]], np.complex128)
    return Peaks(wave, np.log(heights[order]), 1.0 / size)


def _centroid(ratio: Array, row: int, column: int) -> complex:
    """Frequency x + iy of the centre of mass of a peak."""
    size = len(ratio)
    rows, columns = (np.arange(max(at - 1, 0), min(at + 2, size)) for at in (row, column))
    part = ratio[np.ix_(rows, columns)]
    x, y = part.sum(0) @ columns / part.sum(), part.sum(1) @ rows / part.sum()
    return complex(x / size - (size // 2) / size, y / size - (size // 2) / size)


def candidates(peaks: Peaks) -> list[Candidate]:
    """Lattices in which one of the peaks is a wave of an inner ring, those that explain most first."""
    found: list[Candidate] = []
    for wave in peaks.wave:
        for layout in LAYOUTS:
            for step in RING_STEPS[layout]:
                candidate = _candidate(peaks, wave, layout, step)
                if candidate is not None and not any(_same(candidate, other) for other in found):
                    found.append(candidate)
    return sorted(found, key=lambda c: -c.explained)


def _candidate(peaks: Peaks, wave: complex, layout: Layout, step: tuple[int, int]) -> Candidate | None:
    """The lattice with ``wave`` at ``step``, fitted to the peaks that it explains."""
    unit = _reciprocal(layout)  # complex reciprocal axes of the lattice with pitch 1 and rotation 0
    factor = wave / (step[0] * unit[0] + step[1] * unit[1])
    for _ in range(ROUNDS):
        place, explained = _explained(peaks, factor, unit)
        if not explained.any():
            return None
        weight = peaks.weight[explained] * np.abs(place[explained])
        factor = complex(np.average(peaks.wave[explained] / place[explained], weights=weight))
    pitch, rotation = 1.0 / abs(factor), float(np.angle(factor))
    if not SMALLEST_PITCH <= pitch <= LARGEST_PERIOD:
        return None
    rotation -= SYMMETRY[layout] * round(rotation / SYMMETRY[layout])
    share = float(peaks.weight[explained].sum() / peaks.weight.sum())
    cell = abs(float(np.linalg.det(grid_axes(layout == "hexagonal", pitch, 0.0))))
    chance = np.pi * (TOLERANCE * peaks.bin) ** 2 * cell
    return Candidate(layout, pitch, rotation, share - chance)


def _reciprocal(layout: Layout) -> Waves:
    return np.asarray(np.linalg.inv(grid_axes(layout == "hexagonal", 1.0, 0.0)).T @ (1.0, 1j))


def _explained(peaks: Peaks, factor: complex, unit: Waves) -> tuple[Waves, Mask]:
    """Nearest wave of the lattice (of pitch 1) to each peak, and whether it is near enough."""
    scaled = peaks.wave / factor
    basis = np.array([unit.real, unit.imag]).T
    steps = np.rint(np.stack([scaled.real, scaled.imag], -1) @ np.linalg.inv(basis))
    best, distance = np.zeros_like(scaled), np.full(len(scaled), np.inf)
    for shift in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1)):
        place = (steps + shift) @ unit
        nearer = np.abs(scaled - place) < distance
        best, distance = np.where(nearer, place, best), np.where(nearer, np.abs(scaled - place), distance)
    return best, (distance * abs(factor) < TOLERANCE * peaks.bin) & (np.abs(best) > 0)


def _same(one: Candidate, other: Candidate) -> bool:
    if one.layout != other.layout or abs(one.pitch / other.pitch - 1.0) > SAME_PITCH:
        return False
    turn = one.rotation - other.rotation
    return abs(turn - SYMMETRY[one.layout] * round(turn / SYMMETRY[one.layout])) < SAME_ANGLE
