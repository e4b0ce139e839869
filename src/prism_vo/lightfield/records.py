# SPDX-License-Identifier: Apache-2.0
"""What the kernels read, under names: compiled code takes these tuples as it takes their fields one by one."""

from __future__ import annotations

from typing import NamedTuple

from prism_vo.arrays import Floats
from prism_vo.lightfield.ladders import Ladder, SearchLadder
from prism_vo.lightfield.nearby import LensGrid


class MatchingImage(NamedTuple):
    """A raw image prepared for matching, and how light falls off inside its micro-images."""

    pixels: Floats  # padded, at half-pixel steps, see :class:`~prism_vo.lightfield.raw.PreparedRaw`
    fall: float  # transmission V = 1 − fall·q at the relative area q = r²/R²


class SampleGrid(NamedTuple):
    """The positions ``(x0 + step·col, y0 + step·row)``, col < nx, row < ny."""

    x0: float
    y0: float
    step: float
    nx: int
    ny: int


class Overlay(NamedTuple):
    """How micro-images are laid over each other."""

    slope: float  # the stereo slope h
    radius: float  # of the part of a micro-image that counts, raw px
    stride: int  # every n-th lens along either axis of the array is used
    with_slope: bool  # sums for the derivative of the cost by the slope, too


class Sampling(NamedTuple):
    """How densely the TF grid is sampled."""

    scale: float  # raw px between TF pixels
    pitch: float  # raw px between matching nodes
    search_pitch: float  # raw px between nodes of the search
    window: int  # nodes to each side of the matching window


class MatchTables(NamedTuple):
    """Everything about one camera that search and refinement need."""

    lenses: LensGrid
    ladder: Ladder
    search_ladder: SearchLadder
    sampling: Sampling
    refine_limit: float  # largest variance of the slope that the search passes on; 0: it passes everything on
