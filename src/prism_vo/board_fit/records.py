# SPDX-License-Identifier: Apache-2.0
"""What a calibration with a checkerboard reads and what it moves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Integers, Mask
from prism_vo.batch.numbers import CameraNumbers
from prism_vo.batch.records import Rows


@dataclass(frozen=True)
class Board:
    """Inner corners of a checkerboard, counted row by row."""

    columns: int
    rows: int
    square: float  # m

    @property
    def count(self) -> int:
        """Number of corners."""
        return self.columns * self.rows

    @property
    def places(self) -> Array:
        """(count, 2) metres in the board's plane."""
        y, x = np.mgrid[: self.rows, : self.columns].reshape(2, -1)
        return np.stack([x, y], -1) * self.square


@dataclass(frozen=True)
class MicroCorners:
    """N sightings of board corners in micro-images."""

    frame: Rows  # (N,) 0 … frames − 1
    corner: Rows  # (N,) 0 … board.count − 1
    centre: Array  # (N, 2) of the micro-image, raw px
    xy: Array  # (N, 2) of the corner, raw px

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def frames(self) -> int:
        """Number of frames."""
        return int(self.frame.max()) + 1 if len(self.frame) else 0

    def take(self, rows: Mask | Integers | Rows) -> MicroCorners:
        """Some of them; frames and corners keep their numbers."""
        return MicroCorners(self.frame[rows], self.corner[rows], self.centre[rows], self.xy[rows])

    def of_frames(self, frames: list[int]) -> MicroCorners:
        """Those of some frames, numbered in the order given."""
        number = _numbered(self.frame, frames)
        return replace(self.take(number >= 0), frame=number[number >= 0])


@dataclass(frozen=True)
class CornerSlopes:
    """Stereo slopes measured at M corners, where there are raw images to measure them in."""

    frame: Rows  # (M,)
    corner: Rows  # (M,)
    slope: Array  # (M,) h = 1/v_n
    sigma: Array  # (M,)

    @classmethod
    def none(cls) -> CornerSlopes:
        """Only places of corners are known."""
        return cls(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0), np.zeros(0))

    def __len__(self) -> int:
        return len(self.frame)

    def take(self, rows: Mask | Integers | Rows) -> CornerSlopes:
        """Some of them."""
        return CornerSlopes(self.frame[rows], self.corner[rows], self.slope[rows], self.sigma[rows])

    def of_frames(self, frames: list[int]) -> CornerSlopes:
        """Those of some frames, numbered in the order given."""
        number = _numbered(self.frame, frames)
        return replace(self.take(number >= 0), frame=number[number >= 0])


def _numbered(frame: Rows, frames: list[int]) -> Rows:
    """The place of each row's frame among ``frames``, or −1."""
    number = np.full(max([*frame, *frames], default=0) + 1, -1, np.intp)
    number[frames] = np.arange(len(frames))
    return number[frame]


@dataclass(frozen=True)
class BoardState:
    """Camera, poses of the board and, for boards whose size is asked for, a factor on it."""

    camera: CameraNumbers
    poses: Array  # (K, 4, 4) T_cam_board
    size: float = 1.0

    def moved(self, camera: Array, size: float, poses: Array) -> BoardState:
        """After steps of the camera (9,), of the size and of the poses (K, 6) on the left."""
        turned = np.array([se3.renormalised(se3.exp(d) @ pose) for d, pose in zip(poses, self.poses)])
        return BoardState(self.camera.moved(camera), turned, self.size + size)
