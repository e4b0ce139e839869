# SPDX-License-Identifier: Apache-2.0
"""Frames for tests of single stages: an image, and nothing that a sensor would be needed for."""

from __future__ import annotations

import numpy as np

from prism_vo.optics.camera import FocusedView
from prism_vo.types import DecodedFrame, Frame


def still_frame(
    view: FocusedView, index: int, level: np.ndarray, exposure: float | None = None, time: float | None = None
) -> Frame:
    """A frame with a pyramid of one level (h, w); time in seconds, a tenth of a second a frame by default."""
    focused = DecodedFrame(
        index, 0.1 * index if time is None else time, view, level, None, None, None, exposure
    )
    return Frame.of(focused, focused, [level])
