# SPDX-License-Identifier: Apache-2.0
"""Sensors of 10, 12 or 14 bits in 16-bit files: their numbers are brought to the full range of 16 bits.

Packed TIFF files need nothing: their reader already returns numbers over the full range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.errors import InputError

USUAL_BITS = (8, 10, 12, 14, 16)
FULL = 65535
SAMPLES = 5  # frames looked at, spread evenly over a recording


class BitDepth:
    """How many bits the numbers of a recording have: named in the camera file, else the fewest that hold them.

    ``sample()`` gives a few images of the recording; they are only asked for when a 16-bit image comes up.
    """

    def __init__(self, named: int | None, sample: Callable[[], Iterable[NDArray[Any]]]) -> None:
        self.named = named
        self._sample = sample

    @cached_property
    def largest(self) -> int | None:
        """The largest number in the sample; None if its images are 8-bit ones."""
        largest = None
        for image in self._sample():
            if image.dtype != np.uint16:
                return None
            largest = max(largest or 0, int(image.max()))
        return largest

    @property
    def bits(self) -> int:
        """Of a number in a 16-bit file."""
        return self.named if self.named is not None else bits_for(self.largest)

    def scaled(self, source: str, image: NDArray[Any]) -> NDArray[Any]:
        """The image over the full range of its type; ``source`` names it in the sentence of a refusal."""
        if image.dtype != np.uint16 or self.bits == 16:
            return image
        limit = (1 << self.bits) - 1
        if (found := int(image.max())) > limit:
            why = "sensor.bits of the camera file says" if self.named is not None else "other frames have"
            raise InputError(
                f"{source}: holds the value {found} but {why} {self.bits} bits; name the right sensor.bits."
            )
        return ((image.astype(np.uint32) * FULL + limit // 2) // limit).astype(np.uint16)

    def note(self) -> str | None:
        """What was decided without being told, in one sentence."""
        if self.named is not None or self.largest is None or self.bits == 16:
            return None
        return (
            f"the 16-bit images hold values up to {self.largest} and are taken for {self.bits}-bit ones; "
            "sensor.bits in the camera file decides otherwise."
        )


def bits_for(largest: int | None) -> int:
    """The fewest usual bits that hold a number; 16 where nothing was seen."""
    if not largest:
        return 16
    return next(bits for bits in USUAL_BITS if largest < 1 << bits)


def spread(count: int, samples: int = SAMPLES) -> list[int]:
    """Positions spread evenly over ``count`` frames, first and last among them."""
    return sorted({round(k * (count - 1) / max(samples - 1, 1)) for k in range(min(samples, count))})
