# SPDX-License-Identifier: Apache-2.0
"""A recording of image files: opens an image only when its frame is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array
from prism_vo.datasets.bit_depth import BitDepth, bits_for, spread
from prism_vo.datasets.decoded import DecodedFormat, read_decoded_frame
from prism_vo.datasets.images import Size, read_image
from prism_vo.datasets.selection import SequencePart, part_of
from prism_vo.datasets.showing import sequence_html, sequence_words
from prism_vo.datasets.video import Video
from prism_vo.errors import InputError
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.trajectory import Trajectory
from prism_vo.types import DecodedFrame, RawFrame


@dataclass(frozen=True)
class SequenceFiles:
    """Where the parts of a sequence lie: raw images, a video of them, or focused images with their maps."""

    raw: tuple[Path, ...] = ()
    video: Path | None = None
    focused: tuple[Path, ...] = ()
    virtual_depth: tuple[Path, ...] = ()
    virtual_depth_sigma: tuple[Path, ...] = ()
    white: Path | None = None


@dataclass(frozen=True)
class FileSequence:
    """A sequence of image files. Built by the loaders; opens an image only when its frame is asked for."""

    name: str
    path: Path
    camera: PlenopticCamera
    files: SequenceFiles
    times: Array
    exposures: Array | None = None
    groundtruth: Trajectory | None = None
    decoded_format: DecodedFormat | None = None  # None: raw images
    video: Video | None = None  # None: image files
    remarks: tuple[str, ...] = ()  # sentences on how the files were understood

    @property
    def is_decoded(self) -> bool:
        """Whether frames come decoded (no raw images)."""
        return self.decoded_format is not None

    @property
    def white(self) -> NDArray[Any] | None:
        """The white image, read at each call; None if there is none."""
        if self.files.white is None:
            return None
        image = read_image(
            self.files.white, Size(*self._raw_size, "the white image must have the raw images' size")
        )
        own_bits = BitDepth(self.camera.calibration.sensor.bits or bits_for(int(image.max())), tuple)
        return own_bits.scaled(str(self.files.white), image)

    @property
    def white_path(self) -> Path | None:
        """The file of the white image."""
        return self.files.white

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences to read before relying on the recording: times from numbers, bits from values."""
        found = None if self.is_decoded else self._bit_depth.note()
        return (*self.remarks, *([found] if found else []))

    def part(self, start: int = 0, frames: int | None = None, stride: int = 1) -> SequencePart:
        """``frames`` frames (all if None), every ``stride``-th, from ``start`` on; each keeps its index and time."""
        return part_of(self, start, frames, stride)

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        return sequence_words(self)

    def _repr_html_(self) -> str:
        return sequence_html(self)

    def __iter__(self) -> Iterator[RawFrame | DecodedFrame]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int) -> RawFrame | DecodedFrame:
        if not -len(self) <= index < len(self):
            raise IndexError(f"frame {index} of {len(self)}")
        index %= len(self)
        time = float(self.times[index])
        exposure = None if self.exposures is None else float(self.exposures[index])
        if self.decoded_format is not None:
            return self._decoded(index, time, exposure, self.decoded_format)
        path = self._raw_path(index)
        source = str(path) if self.video is None else f"{path}, frame {index}"
        image = self._bit_depth.scaled(source, self._stored(index))
        return RawFrame(index, time, image, exposure, path)

    @property
    def _raw_size(self) -> tuple[int, int]:
        sensor = self.camera.calibration.sensor
        return sensor.width, sensor.height

    def _raw_path(self, index: int) -> Path:
        return self.files.raw[index] if self.video is None else self.video.path

    def _stored(self, index: int) -> NDArray[Any]:
        """The raw image in the numbers of its file."""
        path, bayer = self._raw_path(index), self.camera.calibration.sensor.bayer
        size = Size(*self._raw_size, "sensor.width and sensor.height of the camera file must be the image's")
        image = read_image(path, size) if self.video is None else self.video.read(index, size)
        if bayer is None or image.ndim == 2 or not (image == image[..., :1]).all():
            return image  # in colour although the camera has a mosaic: demosaiced elsewhere, which the decoder undoes
        return np.ascontiguousarray(image[..., 0])  # a mosaic that was written with three equal channels

    @cached_property
    def _bit_depth(self) -> BitDepth:
        return BitDepth(self.camera.calibration.sensor.bits, self._samples)

    def _samples(self) -> Iterator[NDArray[Any]]:
        """A few raw images; those that cannot be read are reported when it is their turn."""
        # a video is read forward, so that only its beginning is looked at
        for index in spread(len(self)) if self.video is None else range(min(len(self), 2)):
            with suppress(InputError):
                yield self._stored(index)

    def _decoded(self, index: int, time: float, exposure: float | None, form: DecodedFormat) -> DecodedFrame:
        depth, sigma = self.files.virtual_depth, self.files.virtual_depth_sigma
        return read_decoded_frame(
            self.camera,
            form,
            index,
            time,
            exposure,
            self.files.focused[index],
            depth[index] if depth else None,
            sigma[index] if sigma else None,
        )
