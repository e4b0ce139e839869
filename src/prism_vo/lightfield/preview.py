# SPDX-License-Identifier: Apache-2.0
"""A picture of a decoded frame for people: focused image beside metric depth in colour, with a scale bar."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.types import DecodedFrame

BAR_HEIGHT = 44  # px
RAMP_ROWS = slice(4, 20)  # of the bar: the colours
TEXT_ROW = 38  # of the bar: the foot of the labels
TEXT_MARGIN = 2  # px to the edges of the picture
TEXT_SIZE = 0.45  # of OpenCV's font
LABELS = 6
LEAST_RANGE = 1.01  # largest over least inverse depth on the scale: a flat scene has one, too
NEAR_FAR_PERCENTILES = (2.0, 98.0)
BEYOND = 1e-3  # 1/m: drawn as "far" on the scale


def depth_preview(frame: DecodedFrame, depth: NDArray[np.floating]) -> NDArray[np.uint8]:
    """(h + bar, 2w, 3) RGB; ``depth`` (h, w) in metres, NaN where invalid (black), inf at or beyond infinity.

    Colours follow 1/depth.
    """
    grey = np.clip(np.rint(frame.image), 0, 255).astype(np.uint8)
    left = frame.color if frame.color is not None else cv2.cvtColor(grey, cv2.COLOR_GRAY2RGB)
    valid = depth > 0
    inverse = np.where(valid, 1.0 / np.where(valid, depth, 1.0), np.nan)
    finite = inverse[valid & np.isfinite(depth)]
    low, high = np.percentile(finite, NEAR_FAR_PERCENTILES) if finite.size else (BEYOND, 1.0)
    high = max(high, low * LEAST_RANGE)
    right = _colours(inverse, low, high)
    right[~valid] = 0
    return np.vstack([np.hstack([left, right]), _scale_bar(2 * grey.shape[1], float(low), float(high))])


def _colours(inverse: NDArray[np.floating], low: float, high: float) -> NDArray[np.uint8]:
    """Turbo: red is near, blue is far."""
    share = np.clip((np.nan_to_num(inverse, nan=low) - low) / (high - low), 0.0, 1.0)
    turbo = cv2.applyColorMap(np.rint(share * 255).astype(np.uint8), cv2.COLORMAP_TURBO)
    return np.ascontiguousarray(turbo[..., ::-1])


def _scale_bar(width: int, low: float, high: float) -> NDArray[np.uint8]:
    """Colour ramp over the inverse depths shown, labelled in metres."""
    bar = np.full((BAR_HEIGHT, width, 3), 255, np.uint8)
    bar[RAMP_ROWS] = _colours(np.linspace(low, high, width)[None, :], low, high)
    for n in range(LABELS):
        share = n / (LABELS - 1)
        text = f"{1.0 / max(low + share * (high - low), BEYOND):.2f} m"
        (length, _), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, TEXT_SIZE, 1)
        rightmost = max(width - length - TEXT_MARGIN, TEXT_MARGIN)
        foot = int(np.clip(share * width - length / 2, TEXT_MARGIN, rightmost)), TEXT_ROW
        cv2.putText(bar, text, foot, cv2.FONT_HERSHEY_SIMPLEX, TEXT_SIZE, (0, 0, 0), 1, cv2.LINE_AA)
    return bar
