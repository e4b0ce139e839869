# SPDX-License-Identifier: Apache-2.0
"""Do the micro-images still lie where they lay? Read from the phase of their pattern, a fraction of a millisecond.

Micro-images are brightest at their centres. The sum of a raw image times a wave with the period of the array therefore
has a phase that moves with the array alone: texture has no such period. Three waves suffice for a shift in the plane,
which shows up to whole lenses. On real and simulated frames the phase scatters by 0.01 to 0.08 px.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.optics.mla import MicroLensArray

ROWS_APART = 7  # of the rows that are looked at
WAVES = 3  # the longest of the array
MOVED_PX = 0.3  # more than focus and temperature do within a recording
ONE_SHIFT = 0.5  # rad: three phases that agree to this tell of one shift
LEAST_PATTERN = 0.3  # of that of the first frame, relative to the light: below it nothing can be said
BESIDE = (0.83, 1.17)  # times its frequency, where there is nothing but texture beside a wave of the array
LEAST_CLEAR = (
    6.0  # amplitude of the pattern over that of texture: without gaps and fall-off there is no pattern
)
ENOUGH = 3  # frames that agree and so become the majority: the first one may be the odd one
LEAST_LIGHT = 1e-3  # of a pixel, grey levels
# by which the pattern is stronger or weaker where light falls off otherwise; clean frames, real ones too: 0.96 to 1.03,
# noise of 40 grey levels up to 1.19, a gamma of 0.6 or 1.6 instead of 1: 0.73 and 1.31, black level + 20: 0.77
OTHER_SHADING = 1.2


def is_shaded_otherwise(shading: float) -> bool:
    """Whether light falls off inside the micro-images unlike in the first frames."""
    return not 1.0 / OTHER_SHADING < shading < OTHER_SHADING


class Waves(NamedTuple):
    """Along the rows, cosines and then sines (width, 2 · WAVES), and down them (WAVES, rows), complex."""

    along: Floats
    down: Array


class GridWatch:
    """Compares the frames of a recording with its first ones."""

    def __init__(self, array: MicroLensArray, width: int, height: int) -> None:
        basis = 2.0 * np.pi * np.linalg.inv(array.axes).T
        waves = sorted(
            (basis[0], basis[1], basis[0] + basis[1], basis[0] - basis[1]), key=lambda k: float(k @ k)
        )
        self._waves = np.array(waves[:WAVES])
        self._to_offset = np.linalg.pinv(self._waves)
        self._rows = np.arange(ROWS_APART // 2, height, ROWS_APART)
        self._width = width
        self._array_waves = self._table(self._waves)
        self._beside = [self._table(factor * self._waves) for factor in BESIDE]
        self.reference: Array | None = None  # (WAVES,) complex
        self.agreeing = 0
        self._latest: tuple[NDArray[Any], Array] | None = None  # the image looked at last and its pattern
        self.replaced = False  # whether the last frame was, and those before were not, where most of them are

    def shift(self, image: NDArray[Any]) -> float:
        """Px by which the micro-images of a raw image lie beside those of the first frames; 0: not, or it is dark."""
        self.replaced = False
        pattern = self._pattern(image)
        if self.reference is None:
            self.reference = pattern if self._is_clear(image, pattern) else None
            return 0.0
        if np.abs(pattern).min() < LEAST_PATTERN * np.abs(self.reference).min():
            return 0.0
        moved = self._distance(pattern, self.reference)
        if moved <= MOVED_PX:
            self.agreeing += 1
            return 0.0
        if self.agreeing < ENOUGH:
            self.reference, self.agreeing = pattern if self._is_clear(image, pattern) else None, 0
            self.replaced = True
            return 0.0
        return moved

    def shading(self, image: NDArray[Any]) -> float:
        """How strong the pattern is, relative to the light, compared with that of the first frames; 1: not known.

        It is that of the light that falls off towards the rims, whatever the exposure.
        """
        if self.reference is None:
            return 1.0
        return float((np.abs(self._pattern(image)) / np.abs(self.reference)).mean())

    def wandered(self, image: NDArray[Any]) -> float:
        """Px between the micro-images of a raw image and those of the first one asked about, however small."""
        pattern = self._pattern(image)
        self.reference = pattern if self.reference is None else self.reference
        return self._distance(pattern, self.reference)

    def _pattern(self, image: NDArray[Any]) -> Array:
        """Of the array; a frame is asked about several times in a row."""
        latest = self._latest
        if latest is None or latest[0] is not image:
            self._latest = latest = image, self._amplitudes(image, self._array_waves)
        return latest[1]

    def _distance(self, pattern: Array, reference: Array) -> float:
        turns = np.angle(pattern / reference)
        offset = self._to_offset @ turns
        if np.abs(turns - self._waves @ offset).max() < ONE_SHIFT:
            return float(np.hypot(*offset))
        # half a lens aside, and not all waves count the same way round; or rows are torn
        return float(np.max(np.abs(turns) / np.linalg.norm(self._waves, axis=1)))

    def _is_clear(self, image: NDArray[Any], pattern: Array) -> bool:
        """Whether the pattern stands out of the texture beside it."""
        beside = [self._amplitudes(image, waves) for waves in self._beside]
        texture = float(np.sqrt((np.abs(beside) ** 2).mean()))
        return bool(np.abs(pattern).min() > LEAST_CLEAR * texture)

    def _table(self, waves: Array) -> Waves:
        along = waves[:, :1] * np.arange(self._width)
        table = np.ascontiguousarray(np.concatenate([np.cos(along), np.sin(along)]).T, np.float32)
        return Waves(table, np.exp(-1j * waves[:, 1:] * self._rows))

    def _amplitudes(self, image: NDArray[Any], waves: Waves) -> Array:
        """Complex amplitudes of waves over the mean light."""
        rows = image[self._rows] if image.ndim == 2 else image[self._rows, :, 1]
        light = rows.astype(np.float32)
        mean = float(light.mean())
        sums = (light - np.float32(mean)) @ waves.along  # (rows, cosines and sines)
        along_rows = sums[:, :WAVES].T - 1j * sums[:, WAVES:].T
        return np.asarray((along_rows * waves.down).sum(1) / (light.size * max(mean, LEAST_LIGHT)))
