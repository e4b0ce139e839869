# SPDX-License-Identifier: Apache-2.0
"""The plane waves a grid consists of: their amplitude by zone, and the grid whose waves are strongest.

A grid that is wrong by a per cent is wrong by many pixels at the border, where the nearest micro-image is another
one. Its waves, however, only drift in phase from zone to zone, and the rate of the drift is the error.
"""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Array, Floats
from prism_vo.calibrate.grid import Grid, Layout
from prism_vo.optics.mla import grid_axes

MOST_ZONES = 32  # a side
PITCHES_PER_ZONE = 3.0  # at least: in a smaller zone content passes for the wave
PADDED = 256  # a side of the zero-padded transform over the zones
CLEAR_PEAK = 20.0  # of the mean power: noise alone reaches about 8
LEAST_CLEAR_WAVES = 2
RINGS: dict[Layout, tuple[tuple[tuple[int, int], ...], ...]] = {
    # half of each ring of the reciprocal lattice, in reciprocal axes; the other half is its mirror image
    "hexagonal": (((1, 0), (0, 1), (1, 1)), ((1, -1), (2, 1), (1, 2))),
    "rectangular": (((1, 0), (0, 1)), ((1, 1), (1, -1))),
}


def wave_vectors(grid: Grid, ring: int) -> Array:
    """Cycles a pixel (K, 2) along x and y of one ring of waves."""
    return np.array(RINGS[grid.layout][ring], np.float64) @ np.linalg.inv(grid.axes).T


def zone_amplitudes(values: Floats, wave: Array, rows: int, columns: int) -> Array:
    """Complex sum over each of rows × columns zones of the values times the wave."""
    height, width = values.shape
    along_x = np.exp(-2j * np.pi * wave[0] * np.arange(width)).astype(np.complex64)
    along_y = np.exp(-2j * np.pi * wave[1] * np.arange(height)).astype(np.complex64)
    tops = np.arange(rows) * height // rows
    lefts = np.arange(columns) * width // columns
    by_row = np.add.reduceat(values * along_y[:, None], tops, axis=0)
    return np.asarray(np.add.reduceat(by_row * along_x[None, :], lefts, axis=1))


def follow_waves(values: Floats, grid: Grid) -> Grid:
    """The regular grid whose waves are strongest near those of ``grid``; ``grid`` itself where none stands out."""
    height, width = values.shape
    rows, columns = (
        int(np.clip(side / (PITCHES_PER_ZONE * grid.pitch), 1, MOST_ZONES)) for side in values.shape
    )
    centred = values - np.float32(values.mean())
    waves = np.concatenate([wave_vectors(grid, ring) for ring in range(2)])
    found, weight = [], []
    for wave in waves:
        drift, clearness = _drift(zone_amplitudes(centred, wave, rows, columns))
        found.append(wave + drift * (columns / width, rows / height))
        weight.append(clearness if clearness > CLEAR_PEAK else 0.0)
    if np.count_nonzero(weight) < LEAST_CLEAR_WAVES:
        return grid
    return _turned_and_stretched(grid, waves, np.array(found), np.sqrt(weight), (width / 2, height / 2))


def _drift(amplitude: Array) -> tuple[Array, float]:
    """Cycles a zone (2,) by which a wave's phase runs away, and its power against the mean."""
    power = np.abs(np.fft.fft2(amplitude, (PADDED, PADDED))) ** 2
    row, column = divmod(int(power.argmax()), PADDED)
    drift = np.array([_peak_place(power[row], column), _peak_place(power[:, column], row)])
    return drift / PADDED, float(power[row, column] / max(power.mean(), 1e-30))


def _peak_place(line: Array, index: int) -> float:
    """Place of a peak of a periodic line to a fraction of a step, negative in its second half."""
    place = index + _vertex(line[index - 1], line[index], line[(index + 1) % len(line)])
    return place - len(line) if place >= len(line) / 2 else place


def _vertex(before: float, here: float, after: float) -> float:
    """Place of the top of the parabola through three equidistant values, from the middle one."""
    bend = before - 2 * here + after
    return 0.0 if bend >= 0 else float(0.5 * (before - after) / bend)


def _turned_and_stretched(
    grid: Grid, waves: Array, found: Array, weight: Array, about: tuple[float, float]
) -> Grid:
    """Least squares for one turn and one stretch of all waves; what lies in the middle of the sensor stays."""
    # as complex numbers: found = waves · factor
    from_, to = waves @ (1.0, 1j), found @ (1.0, 1j)
    use = weight > 0
    factor = complex(np.average(to[use] / from_[use], weights=weight[use]))
    axes = grid_axes(grid.layout == "hexagonal", grid.pitch / abs(factor), grid.rotation + np.angle(factor))
    middle = np.array(about)
    return Grid(grid.layout, axes, middle - grid.cells(middle) @ axes)
