# SPDX-License-Identifier: Apache-2.0
"""What a vendor's file says about the grid, in our words: one reading, or two where the file can mean both."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from prism_vo.errors import CalibrationError
from prism_vo.optics.vendor.xml_file import Pair

Layout = Literal["hexagonal", "rectangular"]
NOMINAL_FOCUS = (
    3.0  # virtual depth in focus when a file has no lens types: the middle of what multi-focus arrays cover
)
SMALLEST_PITCH = 3.0  # px


class AmbiguousGridError(CalibrationError):
    """The file alone does not tell how the grid is turned; an image does."""


@dataclass(frozen=True)
class GridReading:
    """The grid in image axes (x right, y down), as camera.yaml has it.

    ``rotation`` is the smallest of the equivalent ones (six of a hexagonal grid, four of a rectangular one).
    ``focus`` holds one virtual depth a lens class: lens (i, j) is of class (i − j) mod ``len(focus)``.
    """

    meaning: str  # how the file was read, a half-sentence for messages
    layout: Layout
    pitch: float  # px
    rotation: float  # rad
    origin: Pair  # px, a lens of class 0
    focus: tuple[float, ...]
    type_order: tuple[int, ...] = ()  # the file's lens type id of each class; () where it has no lens types
    misfit: float = 0.0  # px, root mean square of the file's own lens centres about the regular grid
    likely: bool = True  # False: possible, but only an image can make it right

    def corrected(self, pitch: float, rotation: float, origin: Pair) -> GridReading:
        """The same lenses where images show them."""
        return replace(self, pitch=pitch, rotation=rotation, origin=origin)


def sector(layout: Layout) -> float:
    """Angle by which a grid can be turned and is the same."""
    return math.pi / 3 if layout == "hexagonal" else math.pi / 2


def smallest_turn(angle: float, layout: Layout) -> float:
    """The equivalent rotation nearest to zero; an angle that is small already stays the same number."""
    step = sector(layout)
    return angle - round(angle / step) * step


def check_pitch(diameter: float) -> None:
    """Refuse a diameter that no micro-lens grid has."""
    if diameter <= SMALLEST_PITCH:
        raise CalibrationError(
            f"The micro-lens grid has a diameter of {diameter:g} px; more than {SMALLEST_PITCH:g} are needed."
        )
