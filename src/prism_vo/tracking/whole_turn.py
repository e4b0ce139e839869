# SPDX-License-Identifier: Apache-2.0
"""How far a camera turned between two images, whatever it was foreseen to do: the shift of the image as a whole.

A guess that is farther from the truth than a few pixels of the coarsest level ends in a false minimum. The phases of
two images tell their shift from anywhere (turns by 2.4 to 9.6° to 0.3 px of 75, at 3 µs a pixel); the pose that is
right is then found from there. A step sideways is taken for a turn, as alignment itself would begin with.
"""

from __future__ import annotations

import cv2
import numpy as np

from prism_vo import se3
from prism_vo.arrays import Array, Floats
from prism_vo.optics.pinhole import Pinhole

LARGEST = 0.5  # of the image's width: beyond, hardly anything is seen in both


def whole_turn(reference: Floats, image: Floats, plane: Pinhole) -> list[Array]:
    """T_frame_ref of a camera that only turned, from its two images (h, w); empty: they show nothing in common."""
    if min(float(np.ptp(reference)), float(np.ptp(image))) <= 0.0:
        return []
    window = cv2.createHanningWindow((plane.width, plane.height), cv2.CV_32F)
    # copies: OpenCV multiplies what it is given by the window
    (right, down), _ = cv2.phaseCorrelate(reference.copy(), image.copy(), window)
    if not np.hypot(right, down) < LARGEST * plane.width:
        return []
    turn = np.array([-np.arctan(down / plane.focal), np.arctan(right / plane.focal), 0.0])
    out = np.eye(4)
    out[:3, :3] = se3.so3_exp(turn)
    return [out]
