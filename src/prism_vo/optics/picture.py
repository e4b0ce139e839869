# SPDX-License-Identifier: Apache-2.0
"""A picture of the micro-lens grid over a raw image: circles must lie on the micro-images everywhere."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.mla import MicroLensArray

PANEL = 560  # px, side of one panel
LENSES_ACROSS = 12
TYPE_COLORS = ((230, 80, 60), (70, 200, 90), (70, 130, 240), (230, 190, 40))  # RGB
_SHIFT = 4  # fractional bits of OpenCV's drawing coordinates


def grid_picture(camera: PlenopticCamera, raw: NDArray[Any]) -> NDArray[np.uint8]:
    """RGB picture of five crops (corners and centre) with each lens's usable circle, coloured by type."""
    array = MicroLensArray.of(camera)
    height, width = raw.shape[:2]
    side = int(min(LENSES_ACROSS * array.diameter, width, height))
    right, bottom = width - side, height - side
    corners = [(0, 0), (right, 0), (right // 2, bottom // 2), (0, bottom), (right, bottom)]
    panels = [_panel(array, raw, x, y, side) for x, y in corners]
    gap = np.full((PANEL, 8, 3), 255, np.uint8)
    return np.concatenate([part for panel in panels for part in (panel, gap)][:-1], axis=1)


def _panel(array: MicroLensArray, raw: NDArray[Any], x0: int, y0: int, side: int) -> NDArray[np.uint8]:
    crop = raw[y0 : y0 + side, x0 : x0 + side].astype(np.float32)
    crop = crop / max(float(crop.max()), 1.0) * 255.0
    if crop.ndim == 2:
        crop = np.repeat(crop[..., None], 3, axis=2)
    zoom = PANEL / side
    canvas = cv2.resize(crop.astype(np.uint8), (PANEL, PANEL), interpolation=cv2.INTER_NEAREST)
    reach = side + array.diameter
    centres = array.image_centres - (x0, y0)
    near = ((centres > -array.diameter) & (centres < reach)).all(1)
    for centre, kind in zip(centres[near], array.lens_type[near]):
        x, y = ((c + 0.5) * zoom - 0.5 for c in centre)
        color = TYPE_COLORS[int(kind) % len(TYPE_COLORS)]
        at = (round(x * 2**_SHIFT), round(y * 2**_SHIFT))
        radius = round(array.usable_radius * zoom * 2**_SHIFT)
        cv2.circle(canvas, at, radius, color, 1, cv2.LINE_AA, _SHIFT)
        cv2.circle(canvas, at, 2 * 2**_SHIFT, color, -1, cv2.LINE_AA, _SHIFT)
    return np.asarray(canvas, dtype=np.uint8)
