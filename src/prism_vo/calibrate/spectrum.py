# SPDX-License-Identifier: Apache-2.0
"""Lattices that a feature map may consist of, from its power spectrum alone."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import scipy.fft

from prism_vo.arrays import Array, Floats
from prism_vo.calibrate.grid import Grid, Layout
from prism_vo.calibrate.waves import RINGS
from prism_vo.optics.mla import grid_axes

SMALLEST_PITCH, LARGEST_PITCH = 9.0, 75.0  # px
TILE = 1024  # px a side: the power of overlapping tiles is averaged
HIGHEST_FREQUENCY = 0.45  # cycles a pixel
PEAKS = 40  # strongest ones that are tried
CLEAR = 4.0  # of the background at the same frequency: what a wave of a lattice must have at least
NEAR = 2  # bins of the spectrum: how far from its place a wave may be
SAME_PITCH, SAME_ANGLE = 0.02, 0.02  # relative, radians: lattices nearer than this are one
RING_RADII: dict[Layout, tuple[float, ...]] = {
    # radius of the rings over that of the first; a strong peak may belong to any of them
    "hexagonal": (1.0, np.sqrt(3.0), 2.0),
    "rectangular": (1.0, np.sqrt(2.0), 2.0),
}
RING_TURN: dict[Layout, tuple[float, ...]] = {
    # direction of one wave of each ring against one of the first
    "hexagonal": (0.0, np.pi / 6, 0.0),
    "rectangular": (0.0, np.pi / 4, 0.0),
}
FIRST_RADIUS: dict[Layout, float] = {"hexagonal": 2.0 / np.sqrt(3.0), "rectangular": 1.0}  # times 1/pitch
SYMMETRY: dict[Layout, float] = {"hexagonal": np.pi / 3, "rectangular": np.pi / 2}
WAVE_DIRECTION: dict[Layout, float] = {"hexagonal": np.pi / 6, "rectangular": 0.0}  # of the first wave to a1


@dataclass(frozen=True)
class Candidate:
    """A lattice whose first ring of waves stands out, and how much (mean logarithm over the background)."""

    layout: Layout
    pitch: float
    rotation: float
    clearness: float

    def grid(self, shape: tuple[int, ...]) -> Grid:
        """With its origin in the middle of the image."""
        middle = (shape[1] / 2 - 0.5, shape[0] / 2 - 0.5)
        return Grid.regular(self.layout, self.pitch, self.rotation, middle)


@dataclass(frozen=True)
class Spectrum:
    """Power over its background at frequencies (index − size/2)/size cycles a pixel along x (columns) and y (rows)."""

    ratio: Array  # (S, S)

    @property
    def size(self) -> int:
        return len(self.ratio)

    def near(self, wave: Array) -> tuple[float, Array]:
        """Height and frequency (2,) of the highest point within a bin or two of a frequency (2,)."""
        column, row = (round(float(w) * self.size) + self.size // 2 for w in wave)
        if min(row, column) < NEAR or max(row, column) >= self.size - NEAR:
            return 0.0, wave
        part = self.ratio[row - NEAR : row + NEAR + 1, column - NEAR : column + NEAR + 1]
        down, right = divmod(int(part.argmax()), part.shape[1])
        return float(part[down, right]), _centroid(self.ratio, row - NEAR + down, column - NEAR + right)


def spectrum_of(values: Floats) -> Spectrum:
    """Mean power of overlapping tapered tiles over the median power at the same frequency."""
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
    return Spectrum(power / _background(power, ring))


def _starts(length: int, size: int) -> list[int]:
    count = 1 if length == size else int(np.ceil(2 * (length - size) / size)) + 1
    return [int(x) for x in np.linspace(0, length - size, count)]


def _background(power: Array, ring: Array) -> Array:
    """Median power of each ring of equal frequency, which isolated peaks do not move."""
    order = np.argsort(ring, axis=None, kind="stable")
    bounds = np.searchsorted(ring.ravel()[order], np.arange(ring.max() + 2))
    flat = power.ravel()[order]
    median = np.array([np.median(flat[a:b]) if b > a else 0.0 for a, b in zip(bounds, bounds[1:])])
    return np.asarray(np.maximum(median, 1e-12 * max(float(median.max()), 1e-30))[ring], np.float64)


def candidates(spectrum: Spectrum) -> list[Candidate]:
    """Lattices with a whole first ring of clear waves, the clearest first."""
    found: list[Candidate] = []
    for wave in strongest_waves(spectrum):
        for layout in ("hexagonal", "rectangular"):
            for radius, turn in zip(RING_RADII[layout], RING_TURN[layout]):
                candidate = _candidate(spectrum, wave, layout, radius, turn)
                if candidate is not None and not any(_same(candidate, other) for other in found):
                    found.append(candidate)
    return sorted(found, key=lambda c: -c.clearness)


def strongest_waves(spectrum: Spectrum) -> Array:
    """Frequencies (K, 2) of the highest peaks of one half plane, to a fraction of a bin."""
    ratio, size = spectrum.ratio, spectrum.size
    highest = cv2.dilate(ratio, np.ones((5, 5))) == ratio
    index = (np.arange(size) - size // 2) / size
    radius = np.hypot(index[:, None], index[None, :])
    upper = (index[:, None] > 0) | ((index[:, None] == 0) & (index[None, :] > 0))
    lowest = 1.0 / LARGEST_PITCH / 1.05
    peaks = np.argwhere(highest & upper & (radius > lowest) & (radius < HIGHEST_FREQUENCY) & (ratio > CLEAR))
    order = np.argsort(-ratio[peaks[:, 0], peaks[:, 1]])[:PEAKS]
    return np.array([_centroid(ratio, row, column) for row, column in peaks[order]]).reshape(-1, 2)


def _centroid(ratio: Array, row: int, column: int) -> Array:
    """Frequency (x, y) of the centre of mass of a peak."""
    size = len(ratio)
    rows, columns = (np.arange(max(at - 1, 0), min(at + 2, size)) for at in (row, column))
    part = ratio[np.ix_(rows, columns)]
    total = part.sum()
    return np.array([(part.sum(0) @ columns) / total, (part.sum(1) @ rows) / total]) / size - (size // 2) / size


def _candidate(
    spectrum: Spectrum, wave: Array, layout: Layout, radius: float, turn: float
) -> Candidate | None:
    """The lattice in which ``wave`` lies on a ring of this radius, if the whole first ring is there."""
    length = float(np.hypot(*wave)) / radius
    pitch = FIRST_RADIUS[layout] / length
    if not SMALLEST_PITCH <= pitch <= LARGEST_PITCH:
        return None
    angle = float(np.arctan2(wave[1], wave[0])) - turn - WAVE_DIRECTION[layout]
    rotation = angle - SYMMETRY[layout] * round(angle / SYMMETRY[layout])
    inverse = np.linalg.inv(grid_axes(layout == "hexagonal", pitch, rotation))
    waves = [np.array(step) @ inverse.T for step in RINGS[layout][0]]
    heights, places = zip(*(spectrum.near(wave) for wave in waves))
    if min(heights) < CLEAR:
        return None
    # as complex numbers, the places are the waves times one factor: a stretch and a turn
    factor = complex(np.mean(np.array(places) @ (1.0, 1j) / (np.array(waves) @ (1.0, 1j))))
    clearness = float(np.log(heights).mean())
    return Candidate(layout, pitch / abs(factor), rotation + float(np.angle(factor)), clearness)


def _same(one: Candidate, other: Candidate) -> bool:
    if one.layout != other.layout or abs(one.pitch / other.pitch - 1.0) > SAME_PITCH:
        return False
    turn = one.rotation - other.rotation
    return abs(turn - SYMMETRY[one.layout] * round(turn / SYMMETRY[one.layout])) < SAME_ANGLE
