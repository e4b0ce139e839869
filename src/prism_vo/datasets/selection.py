# SPDX-License-Identifier: Apache-2.0
"""A part of a recording: from some frame on, so many, every n-th. Frames keep their index and time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.datasets.showing import sequence_html, sequence_words
from prism_vo.datasets.source import Sequence, notes_of
from prism_vo.errors import ConfigError, expect_whole
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.trajectory import Trajectory
from prism_vo.types import InputFrame


@dataclass(frozen=True)
class SequencePart:
    """Satisfies ``Sequence``: ``part[k]`` is frame ``indices[k]`` of the whole recording."""

    whole: Sequence
    indices: range

    @property
    def name(self) -> str:
        """Of the recording."""
        return self.whole.name

    @property
    def camera(self) -> PlenopticCamera:
        """Of the recording."""
        return self.whole.camera

    @property
    def times(self) -> Array:
        """Seconds (N,), of the chosen frames."""
        return np.asarray(self.whole.times)[list(self.indices)]

    @property
    def exposures(self) -> Array | None:
        """Seconds (N,), of the chosen frames."""
        exposures = self.whole.exposures
        return None if exposures is None else np.asarray(exposures)[list(self.indices)]

    @property
    def groundtruth(self) -> Trajectory | None:
        """Of the recording."""
        return self.whole.groundtruth

    @property
    def white(self) -> NDArray[Any] | None:
        """Of the recording."""
        return self.whole.white

    @property
    def white_path(self) -> Path | None:
        """The file of the white image, where the recording knows it."""
        return getattr(self.whole, "white_path", None)

    @property
    def is_decoded(self) -> bool:
        """Of the recording."""
        return self.whole.is_decoded

    @property
    def notes(self) -> tuple[str, ...]:
        """Of the recording."""
        return notes_of(self.whole)

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        return sequence_words(self)

    def _repr_html_(self) -> str:
        return sequence_html(self)

    def __iter__(self) -> Iterator[InputFrame]:
        return (self.whole[index] for index in self.indices)

    def __getitem__(self, index: int) -> InputFrame:
        if not -len(self) <= index < len(self):
            raise IndexError(f"frame {index} of {len(self)}")
        return self.whole[self.indices[index]]


def part_of(sequence: Sequence, start: int = 0, frames: int | None = None, stride: int = 1) -> SequencePart:
    """``frames`` frames (all if None), every ``stride``-th, from frame ``start`` on."""
    check_part(start, frames, stride)
    if start >= len(sequence):
        last = len(sequence) - 1
        raise ConfigError(f"{sequence.name}: there is no frame {start} to start at; the last one is {last}.")
    chosen = range(start, len(sequence), stride)
    return SequencePart(sequence, chosen if frames is None else chosen[:frames])


def check_part(start: int, frames: int | None, stride: int) -> None:
    """Refuse what are no whole numbers, and numbers that choose nothing."""
    expect_whole(start, "start")
    expect_whole(stride, "stride")
    if frames is not None:
        expect_whole(frames, "frames")
    if start < 0:
        raise ConfigError(f"start is {start}; frames are counted from 0.")
    if frames is not None and frames < 1:
        raise ConfigError(f"frames is {frames}; at least 1 is needed.")
    if stride < 1:
        raise ConfigError(f"stride is {stride}; 1 takes every frame, 2 every second.")
