# SPDX-License-Identifier: Apache-2.0
"""What a user may choose, and what a metric fact may refer to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from prism_vo.arrays import Array
from prism_vo.batch.records import Rows
from prism_vo.camera_fit.facts import MetricFact
from prism_vo.camera_fit.frames import Chosen

KEYFRAMES = 40
Say = Callable[[str, int, int], None]
Distortion = Literal["auto", "none", "radial", "full", "held"]
Field = Literal["auto", "flat", "bent"]


@dataclass(frozen=True)
class Known:
    """What a metric fact may refer to: the chosen frames, rows of marked points, and of a board with its places."""

    chosen: Chosen
    marked: list[int]
    corners: Rows | None = None  # (N,)
    places: Array | None = None  # (N, 3) metres


MakeFact = Callable[[Known], MetricFact]


@dataclass(frozen=True)
class Plan:
    """What a user may choose."""

    keyframes: int = KEYFRAMES
    distortion: Distortion = "auto"
    field: Field = "auto"  # whether the surface that the lens focuses on may be bent
    correct_grid: bool = False  # in the recording's own images, before anything else
    hold_camera: bool = False  # refine poses and points alone
    marked: tuple[tuple[int, int, int], ...] = ()  # frame of the recording, x, y (TF px)
    frames: tuple[int, ...] = ()  # that must take part
    square: float | None = None  # m, of a checkerboard that some frames show
    board_size: tuple[int, int] | None = None  # its inner corners, columns and rows
    threads: bool = True


DEFAULT = Plan()
