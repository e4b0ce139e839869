# SPDX-License-Identifier: Apache-2.0
"""Records that pass between the stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Mask
from prism_vo.errors import expect
from prism_vo.optics.camera import FocusedView

UNKNOWN_EXPOSURE = 1.0  # s: only ratios matter, and without times all exposures are taken to be equal


@dataclass(frozen=True)
class RawFrame:
    """One raw plenoptic image as read from disk or a camera.

    ``image`` is (H, W) or (H, W, 3) RGB, uint8 or uint16 (or float32 already scaled to 0–255), undecoded:
    Bayer mosaic, gamma and vignetting are dealt with by the decoder.
    """

    index: int
    time: float  # s
    image: NDArray[np.uint8] | NDArray[np.uint16] | Floats
    exposure: float | None = None  # s
    path: Path | None = None

    def __post_init__(self) -> None:
        expect(self.image, np.ndarray, "image of a RawFrame", "use numpy.asarray")

    def __repr__(self) -> str:
        return f"RawFrame({self.index}, {self.time:g} s, {_size(self.image)})"


@dataclass(frozen=True)
class PointDepth:
    """Inverse virtual depth measured at N points: NaN / inf where nothing could be measured."""

    inv_virtual_depth: Floats  # (N,)
    variance: Floats  # (N,), inf where invalid
    valid: Mask  # (N,)

    @classmethod
    def none(cls, count: int) -> PointDepth:
        """Nothing measured at ``count`` points."""
        return cls(
            np.full(count, np.nan, np.float32), np.full(count, np.inf, np.float32), np.zeros(count, np.bool_)
        )


@dataclass(frozen=True)
class DecodedFrame:
    """A raw image after light-field decoding, everything on the totally focused grid of ``view``."""

    index: int
    time: float
    view: FocusedView
    image: Floats  # (h, w), grey 0–255
    inv_virtual_depth: Floats | None  # (h, w), true convention; NaN where invalid; None: not measured
    variance: Floats | None  # (h, w), of ρ_v; inf where invalid
    valid: Mask | None  # (h, w)
    exposure: float | None = None
    picture: NDArray[np.uint8] | Callable[[], NDArray[np.uint8]] | None = None  # in colour, or what makes it
    slope: float | None = None  # stereo slope at which micro-images were laid over each other

    @cached_property
    def color(self) -> NDArray[np.uint8] | None:
        """(h, w, 3) RGB, if the raw image was in colour; made when it is asked for."""
        return self.picture() if callable(self.picture) else self.picture

    def __repr__(self) -> str:
        depth = "no depth" if self.valid is None else f"depth at {int(self.valid.sum())} px"
        return f"DecodedFrame({self.index}, {self.time:g} s, {_size(self.image)}, {self.view.name} view, {depth})"


def _size(image: NDArray[np.generic]) -> str:
    """Of an image, in words."""
    return " × ".join(map(str, image.shape[1::-1])) + f" {image.dtype}"


InputFrame = RawFrame | DecodedFrame  # what a recording hands out, and a sensor measures in


@dataclass(frozen=True)
class UnreadableFrame:
    """A frame that is there but cannot be used: damaged, empty, of another size."""

    index: int
    time: float  # s
    reason: str  # one sentence


SourceFrame = InputFrame | UnreadableFrame  # what a source of frames may come up with


@dataclass(frozen=True)
class Frame:
    """One image on its way through tracking and mapping."""

    source: InputFrame  # what depth is measured in
    focused: DecodedFrame
    pyramid: list[Floats]  # (h, w) a level
    exposure: float  # s; UNKNOWN_EXPOSURE where the recording has none

    @classmethod
    def of(cls, source: InputFrame, focused: DecodedFrame, pyramid: list[Floats]) -> Frame:
        """The only place that decides what an unknown exposure time is."""
        return cls(source, focused, pyramid, focused.exposure or UNKNOWN_EXPOSURE)

    @property
    def index(self) -> int:
        """Number of the frame in its recording."""
        return self.focused.index

    @property
    def time(self) -> float:
        """Seconds."""
        return self.focused.time

    @property
    def image(self) -> Floats:
        """Finest level of the pyramid (h, w)."""
        return self.pyramid[0]


@dataclass(frozen=True)
class PosedImage:
    """All that locating a frame needs of it: a fifth of the frame, so that many can be kept."""

    index: int
    exposure: float  # s
    grey: Floats  # (h, w)
    T_view_world: Array
    affine: Array


@dataclass(frozen=True)
class PosedFrame:
    """A frame with its pose and its brightness."""

    frame: Frame
    T_view_world: Array
    affine: Array  # (a, b) of docs/method.md, eq. 9

    @property
    def image(self) -> PosedImage:
        """Without the raw image and smaller levels."""
        frame = self.frame
        return PosedImage(frame.index, frame.exposure, frame.focused.image, self.T_view_world, self.affine)
