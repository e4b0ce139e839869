# SPDX-License-Identifier: Apache-2.0
"""A picture of the micro-lens grid over a raw image: circles must lie on the micro-images everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Integers
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.optics.mla import MicroLensArray

PANEL = 560  # px, side of one panel
LENSES_ACROSS = 12
TYPE_COLORS = ((230, 80, 60), (70, 200, 90), (70, 130, 240), (230, 190, 40))  # RGB
GAP = 8  # px between panels
_SHIFT = 4  # fractional bits of OpenCV's drawing coordinates


@dataclass(frozen=True)
class LensCircles:
    """What is drawn over a raw image: one circle a lens, coloured by its type."""

    centres: Array  # (N, 2): raw pixels
    lens_type: Integers  # (N,)
    pitch: float  # raw pixels
    radius: float  # raw pixels


def grid_picture(camera: PlenopticCamera, raw: NDArray[Any]) -> NDArray[np.uint8]:
    """RGB picture of five crops (corners and centre) with each lens's usable circle, coloured by type."""
    array = MicroLensArray.of(camera)
    circles = LensCircles(array.image_centres, array.lens_type, array.diameter, array.usable_radius)
    return circles_picture(raw, circles)


def circles_picture(
    raw: NDArray[Any], circles: LensCircles, panel: int = PANEL, lenses_across: int = LENSES_ACROSS
) -> NDArray[np.uint8]:
    """RGB picture (panel, 5 panel + 4 GAP, 3) of the corners and the centre of a raw image with circles."""
    height, width = raw.shape[:2]
    side = int(min(lenses_across * circles.pitch, width, height))
    right, bottom = width - side, height - side
    corners = [(0, 0), (right, 0), (right // 2, bottom // 2), (0, bottom), (right, bottom)]
    panels = [_panel(circles, raw, x, y, side, panel) for x, y in corners]
    gap = np.full((panel, GAP, 3), 255, np.uint8)
    return np.concatenate([part for piece in panels for part in (piece, gap)][:-1], axis=1)


def _panel(
    circles: LensCircles, raw: NDArray[Any], x0: int, y0: int, side: int, panel: int
) -> NDArray[np.uint8]:
    crop = raw[y0 : y0 + side, x0 : x0 + side].astype(np.float32)
    crop = crop / max(float(crop.max()), 1.0) * 255.0
    if crop.ndim == 2:
        crop = np.repeat(crop[..., None], 3, axis=2)
    zoom = panel / side
    canvas = cv2.resize(crop.astype(np.uint8), (panel, panel), interpolation=cv2.INTER_NEAREST)
    reach = side + circles.pitch
    centres = circles.centres - (x0, y0)
    near = ((centres > -circles.pitch) & (centres < reach)).all(1)
    for centre, kind in zip(centres[near], circles.lens_type[near]):
        x, y = ((c + 0.5) * zoom - 0.5 for c in centre)
        color = TYPE_COLORS[int(kind) % len(TYPE_COLORS)]
        at = (round(x * 2**_SHIFT), round(y * 2**_SHIFT))
        radius = round(circles.radius * zoom * 2**_SHIFT)
        cv2.circle(canvas, at, radius, color, 1, cv2.LINE_AA, _SHIFT)
        cv2.circle(canvas, at, 2 * 2**_SHIFT, color, -1, cv2.LINE_AA, _SHIFT)
    return np.asarray(canvas, dtype=np.uint8)
