# SPDX-License-Identifier: Apache-2.0
"""Do the micro-images still lie where they lay? Read from the phase of their pattern, a fraction of a millisecond.

Micro-images are brightest at their centres. The sum of a raw image times a wave with the period of the array therefore
has a phase that moves with the array alone: texture has no such period. Three waves suffice for a shift in the plane,
which shows up to whole lenses. On real and simulated frames the phase scatters by 0.01 to 0.08 px.

An array that turned, or an image that was enlarged or torn, has one phase here and another there. So the sums
are kept by blocks of the image, whose phases scatter by 0.03 to 0.34 px, and it is enough that most of them lie aside.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.optics.mla import MicroLensArray
from prism_vo.optics.photometric import SATURATION

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
BLOCKS = 4  # along either side of the image
MOST = 0.4  # quantile of the blocks' shifts: what covers or tears less than half of the image moves nothing
CLEAR_BLOCK = 0.5  # of the pattern that blocks show in the middle; with less a block is not asked
LEAST_BLOCKS = 6  # that have a pattern, for them to be asked
BESIDE_PX = 0.35  # the same of that quantile; texture moves it by up to 0.34 in sixty clean recordings
BEYOND_USUAL = 3.0  # times what that quantile comes to in the first frames, for blocks to have moved
USUAL_FRAMES = 10  # of these
SURELY_PX = 1.0  # whatever is usual, which nobody knows yet
# by which the pattern is stronger or weaker where light falls off otherwise; clean frames, real ones too: 0.96 to 1.03,
# noise of 40 grey levels up to 1.19, a gamma of 0.6 or 1.6 instead of 1: 0.73 and 1.31, black level + 20: 0.77
OTHER_SHADING = 1.2
MOST_SATURATED = 0.05  # of the pixels: with 6 % of them the pattern is 0.95 as strong, with 19 % 0.82


def is_shaded_otherwise(shading: float) -> bool:
    """Whether light falls off inside the micro-images unlike in the first frames."""
    return bool(np.isfinite(shading)) and not 1.0 / OTHER_SHADING < shading < OTHER_SHADING


class Waves(NamedTuple):
    """What the light is multiplied by."""

    along: Floats  # the rows (width, 2 · WAVES + 1): cosines, sines, ones
    sums: Array  # of these over the columns of each block (BLOCKS, 2 · WAVES + 1)
    down: Array  # the rows' own (WAVES, rows), complex


class GridMemory(NamedTuple):
    """What was seen so far."""

    reference: Array | None = None  # (WAVES, BLOCKS, BLOCKS) complex
    agreeing: int = 0  # frames
    usual: tuple[float, ...] = ()  # px: what the blocks of the first frames lay beside their places
    strengths: tuple[
        Array, ...
    ] = ()  # (WAVES,) of the patterns of the first frames, those that do not saturate


class GridWatch:
    """Compares the frames of a recording with its first ones."""

    def __init__(self, array: MicroLensArray, width: int, height: int) -> None:
        basis = 2.0 * np.pi * np.linalg.inv(array.axes).T
        waves = sorted(
            (basis[0], basis[1], basis[0] + basis[1], basis[0] - basis[1]), key=lambda k: float(k @ k)
        )
        self._waves = np.array(waves[:WAVES])
        self._lengths = np.linalg.norm(self._waves, axis=1)[:, None]
        self._to_offset = np.linalg.pinv(self._waves)
        self._rows = np.arange(min(ROWS_APART // 2, height - 1), height, ROWS_APART)
        blocks = min(BLOCKS, len(self._rows))
        self._first_rows = np.linspace(0, len(self._rows), blocks, endpoint=False).astype(int)
        self._first_columns = np.linspace(0, width, BLOCKS, endpoint=False).astype(int)
        self._width = width
        self._array_waves = self._table(self._waves)
        self._beside = [self._table(factor * self._waves) for factor in BESIDE]
        self.memory = GridMemory()
        self._latest: tuple[NDArray[Any], Array] | None = None  # the image looked at last and its pattern
        self.replaced = False  # whether the last frame was, and those before were not, where most of them are

    @property
    def reference(self) -> Array | None:
        """The pattern of the first frames."""
        return self.memory.reference

    def shift(self, image: NDArray[Any]) -> float:
        """Px by which the micro-images of a raw image lie beside those of the first frames; 0: not, or it is dark."""
        self.replaced = False
        pattern = self._pattern(image)
        if self.reference is None:
            self._begin_with(image, pattern)
            return 0.0
        beside = self._beside_in_blocks(pattern, self.reference)
        moved = self._moved(pattern, self.reference, beside)
        if moved == 0.0:
            self._agrees(image, pattern, self.reference, beside)
            return 0.0
        if self.memory.agreeing < ENOUGH:
            self._begin_with(image, pattern)
            self.replaced = True
            return 0.0
        return moved

    def shading(self, image: NDArray[Any]) -> float:
        """How strong the pattern is, relative to the light, compared with that of the first frames; 1: not known.

        It is that of the light that falls off towards the rims, whatever the exposure; what saturates has none.
        """
        if not self.memory.strengths or self._saturates(image):
            return 1.0
        usual = np.median(self.memory.strengths, axis=0)
        return float((np.abs(_whole(self._pattern(image))) / usual).mean())

    def wandered(self, image: NDArray[Any]) -> float:
        """Px between the micro-images of a raw image and those of the first one asked about, however small."""
        pattern = self._pattern(image)
        if self.reference is None:
            self.memory = GridMemory(pattern)
            return 0.0
        return self._distance(pattern, self.reference)

    def _begin_with(self, image: NDArray[Any], pattern: Array) -> None:
        if self._is_clear(image, pattern):
            self.memory = GridMemory(pattern, strengths=self._with_strength((), image, pattern))
        else:
            self.memory = GridMemory()

    def _agrees(self, image: NDArray[Any], pattern: Array, reference: Array, beside: float | None) -> None:
        """A frame lies where the first one lay."""
        _, agreeing, usual, strengths = self.memory
        if beside is not None and len(usual) < USUAL_FRAMES:
            usual = (*usual, beside)
        shows = _shows_it(pattern, reference)
        if shows and len(strengths) < USUAL_FRAMES:
            strengths = self._with_strength(strengths, image, pattern)
        self.memory = GridMemory(reference, agreeing + shows, usual, strengths)

    def _with_strength(
        self, strengths: tuple[Array, ...], image: NDArray[Any], pattern: Array
    ) -> tuple[Array, ...]:
        return strengths if self._saturates(image) else (*strengths, np.abs(_whole(pattern)))

    def _saturates(self, image: NDArray[Any]) -> bool:
        """Whether so much of an image does that light hardly falls off in it any more."""
        full = SATURATION * (257.0 if image.dtype == np.uint16 else 1.0)
        return bool((image[self._rows] >= full).mean() > MOST_SATURATED)

    def _moved(self, pattern: Array, reference: Array, beside: float | None) -> float:
        """Px by which the array lies aside, as a whole or differently here and there; 0: not, or it is dark."""
        if _shows_it(pattern, reference):
            moved = self._distance(pattern, reference)
            if moved > MOVED_PX and (beside is None or beside > 0.5 * BESIDE_PX):
                return moved
        return beside if beside is not None and beside > self._largest_beside else 0.0

    @property
    def _largest_beside(self) -> float:
        """Px that blocks may lie aside."""
        if len(self.memory.usual) < ENOUGH:
            return SURELY_PX
        return max(BESIDE_PX, BEYOND_USUAL * sorted(self.memory.usual)[len(self.memory.usual) // 2])

    def _beside_in_blocks(self, pattern: Array, reference: Array) -> float | None:
        """Px by which most of the blocks lie aside at the least; None: too few of them show the array."""
        strength, usual = np.abs(pattern).min(0), np.abs(reference).min(0)
        shows = (usual > CLEAR_BLOCK * np.median(usual)) & (strength > LEAST_PATTERN * usual)
        if shows.sum() < LEAST_BLOCKS:
            return None
        distances = np.sort(self._distances(pattern[:, shows], reference[:, shows]))
        return float(distances[int(MOST * len(distances))])

    def _pattern(self, image: NDArray[Any]) -> Array:
        """Of the array; a frame is asked about several times in a row."""
        latest = self._latest
        if latest is None or latest[0] is not image:
            self._latest = latest = image, self._amplitudes(image, self._array_waves)
        return latest[1]

    def _distance(self, pattern: Array, reference: Array) -> float:
        """Px between whole images."""
        return float(self._distances(_whole(pattern)[:, None], _whole(reference)[:, None])[0])

    def _distances(self, patterns: Array, references: Array) -> Array:
        """Px between patterns (WAVES, N)."""
        turns = np.angle(patterns / references)
        offset = self._to_offset @ turns
        agree = np.abs(turns - self._waves @ offset).max(0) < ONE_SHIFT
        # half a lens aside, and not all waves count the same way round; or rows are torn
        return np.where(agree, np.hypot(*offset), (np.abs(turns) / self._lengths).max(0))

    def _is_clear(self, image: NDArray[Any], pattern: Array) -> bool:
        """Whether the pattern stands out of the texture beside it."""
        beside = [_whole(self._amplitudes(image, waves)) for waves in self._beside]
        texture = float(np.sqrt((np.abs(beside) ** 2).mean()))
        return bool(np.abs(_whole(pattern)).min() > LEAST_CLEAR * texture)

    def _table(self, waves: Array) -> Waves:
        along = waves[:, :1] * np.arange(self._width)
        ones = np.ones((1, self._width))
        table = np.ascontiguousarray(np.concatenate([np.cos(along), np.sin(along), ones]).T, np.float32)
        sums = np.add.reduceat(table.astype(np.float64), self._first_columns, axis=0)
        return Waves(table, sums, np.exp(-1j * waves[:, 1:] * self._rows))

    def _amplitudes(self, image: NDArray[Any], waves: Waves) -> Array:
        """Complex amplitudes of waves over the mean light, in blocks (WAVES, BLOCKS, BLOCKS) that add up."""
        rows = image[self._rows] if image.ndim == 2 else image[self._rows, :, 1]
        light = rows.astype(np.float32)
        parts = zip(self._first_columns, [*self._first_columns[1:], self._width])
        sums = np.stack([light[:, begin:end] @ waves.along[begin:end] for begin, end in parts]).astype(float)
        mean = float(sums[:, :, -1].sum()) / light.size
        sums -= mean * waves.sums[:, None]  # of the light about its mean
        along_rows = (sums[..., :WAVES] - 1j * sums[..., WAVES:-1]).transpose(2, 1, 0) * waves.down[
            :, :, None
        ]
        blocks = np.add.reduceat(along_rows, self._first_rows, axis=1)
        return np.asarray(blocks / (light.size * max(mean, LEAST_LIGHT)))


def _shows_it(pattern: Array, reference: Array) -> bool:
    """Whether an image as a whole shows the array about as clearly as the first one."""
    return bool(np.abs(_whole(pattern)).min() >= LEAST_PATTERN * np.abs(_whole(reference)).min())


def _whole(pattern: Array) -> Array:
    """Of all blocks together."""
    return np.asarray(pattern.sum((1, 2)))
