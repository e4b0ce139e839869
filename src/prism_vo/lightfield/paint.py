# SPDX-License-Identifier: Apache-2.0
"""A focused picture in colour, of luminance at every pixel and the smooth colour of a mosaic."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats, Integers
from prism_vo.compiled import njit
from prism_vo.lightfield.bands import Bands
from prism_vo.lightfield.focus import FocusTable
from prism_vo.lightfield.mosaic import PreparedMosaic

COLOUR_STEP = 2  # TF pixels to one of colour, which is smooth


def painted(
    prepared: PreparedMosaic,
    table: FocusTable,
    image: Floats,
    channels: Integers,
    site_gains: Array,
    bands: Bands,
) -> NDArray[np.uint8]:
    """Luminance ``image`` (h, w) in the colours of the scene as it was recorded (h, w, 3).

    ``table`` focuses every COLOUR_STEP-th pixel; the gains, which even the sites for matching only, are taken back.
    """
    planes = []
    for channel in (0, 2):
        row, column = np.argwhere(channels == channel)[0]
        coarse = table(prepared.channel(int(row), int(column)))
        size = coarse.shape[1] * COLOUR_STEP, coarse.shape[0] * COLOUR_STEP
        planes.append(cv2.resize(coarse, size, interpolation=cv2.INTER_LINEAR))
    red, blue = planes
    gains = np.array([site_gains[channels == n].mean() for n in range(3)])
    out = np.empty((*image.shape, 3), np.uint8)
    bands.run(len(image), lambda first, last: paint_rows(image, red, blue, gains, first, last, out))
    return out


@njit(nogil=True, cache=True, fastmath=True)
def paint_rows(image, red, blue, gains, first, last, out):  # type: ignore[no-untyped-def]
    """RGB rows of luminance and colour. (R + 2G + B)/4 is the luminance, so green follows from red and blue.

    ``gains`` (3,) by which the channels were multiplied are taken back.
    """
    f = np.float32
    undo = (f(1.0 / gains[0]), f(1.0 / gains[1]), f(1.0 / gains[2]))
    half, least, most = f(0.5), f(0.0), f(255.0)
    for y in range(first, last):
        for x in range(image.shape[1]):
            light, r, b = image[y, x], red[y, x], blue[y, x]
            out[y, x, 0] = np.uint8(min(max((light + r) * undo[0], least), most) + half)
            out[y, x, 1] = np.uint8(min(max((light - half * (r + b)) * undo[1], least), most) + half)
            out[y, x, 2] = np.uint8(min(max((light + b) * undo[2], least), most) + half)
