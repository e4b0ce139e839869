# SPDX-License-Identifier: Apache-2.0
"""Which reading of a vendor's grid file do raw images show, and how far is the file off?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.calibrate.features import edge_map, grey_frames, light_map
from prism_vo.calibrate.fit import SURROUNDINGS, GridFit, fit_grid
from prism_vo.calibrate.grid import Grid, GridUncertainError
from prism_vo.calibrate.multiples import GridMultipleError
from prism_vo.calibrate.periods import explained_share
from prism_vo.calibrate.waves import follow_waves
from prism_vo.optics.vendor.reading import GridReading, smallest_turn

DECISIVE = 3.0  # share of the picture that one reading explains over that of the other
LEAST_SHARE = 0.003  # of the picture that the grid must explain to decide by it
SAME_GRID = 0.05  # rad, and relative pitch: a fit from one reading serves another this near
FOREIGN_ORIGIN = 0.35  # pitches: beyond it the nearest lens may be another one than the file means
FOREIGN_FILE = (
    0.6  # pitches, in the median: a file that only lies aside is at most 0.58 from the nearest lenses
)


@dataclass(frozen=True)
class Offsets:
    """Distances over the zones of the sensor between micro-images and a grid, raw pixels."""

    median: float
    largest: float


@dataclass(frozen=True)
class SeenReading:
    """The reading that images show, as the file has it and corrected."""

    reading: GridReading
    corrected: GridReading
    before: Offsets  # of the file's grid
    after: Offsets  # of the corrected grid
    pitch_error: float  # of the file, relative
    rotation_error: float  # of the file, rad
    origin_shift: float  # px, from the file's origin to the lens nearest to it

    @property
    def types_certain(self) -> bool:
        """Whether the lens at the origin is surely the one the file means, so that lens types are right."""
        return len(self.reading.focus) == 1 or self._has_its_origin

    @property
    def is_foreign(self) -> bool:
        """Whether the file is that of another camera: not even its origin is a lens, and all else lies farther off."""
        return not self._has_its_origin and self.before.median > FOREIGN_FILE * self.corrected.pitch

    @property
    def _has_its_origin(self) -> bool:
        return self.origin_shift < FOREIGN_ORIGIN * self.corrected.pitch


def see_reading(images: Sequence[NDArray[Any]], readings: Sequence[GridReading]) -> SeenReading:
    """Compare all readings with raw images of one camera, (H, W) or (H, W, 3); refuses where none shows."""
    fits: list[tuple[GridReading, GridFit]] = []
    refusal: GridUncertainError | None = None
    for reading in _likeliest(images, readings):
        start = _grid(reading)
        near = next((fit for _, fit in fits if _near(fit.grid, start)), None)
        try:
            fits.append((reading, fit_grid(images, start) if near is None else replace(near, start=start)))
        except GridUncertainError as error:
            # one that names the pitch says more than that nothing was seen
            refusal = refusal if isinstance(refusal, GridMultipleError) else error
    if refusal is not None and not fits:
        raise refusal
    reading, fit = min(
        fits, key=lambda pair: (-round(pair[1].recognised, 1), _offsets(pair[1].start_offsets).median)
    )
    return _seen(reading, fit)


def likeliest_start(images: Sequence[NDArray[Any]], readings: Sequence[GridReading]) -> Grid:
    """The grid of the reading that raw images show, as the file has it: what a fit may begin with."""
    likely = _likeliest(images, readings)
    return _grid(likely[0] if len(likely) == 1 else see_reading(images, likely).reading)


def _likeliest(images: Sequence[NDArray[Any]], readings: Sequence[GridReading]) -> Sequence[GridReading]:
    """The one reading that explains the picture far better than the others, or all: a fit that fails takes long."""
    frames = grey_frames(images)
    for make in (light_map, edge_map) if len(readings) > 1 else ():
        shares = []
        for reading in readings:
            feature = make(frames, SURROUNDINGS * reading.pitch)
            shares.append(explained_share(feature, follow_waves(feature.values, _grid(reading))))
        *_, second, most = sorted(shares)
        if most > LEAST_SHARE and most > DECISIVE * max(second, 0.0):
            return [readings[int(np.argmax(shares))]]
    return readings


def _grid(reading: GridReading) -> Grid:
    return Grid.regular(reading.layout, reading.pitch, reading.rotation, reading.origin)


def _near(fitted: Grid, start: Grid) -> bool:
    turn = smallest_turn(fitted.rotation - start.rotation, start.layout)
    return abs(turn) < SAME_GRID and abs(fitted.pitch / start.pitch - 1) < SAME_GRID


def _offsets(vectors: Array) -> Offsets:
    lengths = np.hypot(*vectors[np.isfinite(vectors).all(-1)].T)
    return Offsets(float(np.median(lengths)), float(lengths.max()))


def _seen(reading: GridReading, fit: GridFit) -> SeenReading:
    x, y = (float(c) for c in fit.grid.origin)
    return SeenReading(
        reading=reading,
        corrected=reading.corrected(fit.grid.pitch, fit.grid.rotation, (x, y)),
        before=_offsets(fit.start_offsets),
        after=_offsets(fit.zones.offset),
        pitch_error=fit.pitch_error,
        rotation_error=fit.rotation_error,
        origin_shift=float(np.hypot(x - reading.origin[0], y - reading.origin[1])),
    )
