# SPDX-License-Identifier: Apache-2.0
"""Records that pass between the stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Floats, Mask
from prism_vo.optics.camera import FocusedView


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


@dataclass(frozen=True)
class PointDepth:
    """Inverse virtual depth measured at N points: NaN / inf where nothing could be measured."""

    inv_virtual_depth: Floats  # (N,)
    variance: Floats  # (N,), inf where invalid
    valid: Mask  # (N,)


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
    color: NDArray[np.uint8] | None = None  # (h, w, 3) RGB, if the raw image was in colour
