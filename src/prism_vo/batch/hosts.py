# SPDX-License-Identifier: Apache-2.0
"""Which points are followed: corners of every keyframe, none of them twice.

Two points on the same texture have the same errors, so they would count twice what is known once. A corner of a later
keyframe is a new point only away from where points of earlier ones were found.
"""

from __future__ import annotations

import cv2
import numpy as np

from prism_vo.arrays import Array, Floats
from prism_vo.batch.patches import MARGIN

APART = 6.0  # TF px between points: errors of nearer ones hang together
QUALITY = 0.005  # of the best corner of the image


def host_order(count: int) -> list[int]:
    """All keyframes, each as far as can be from those before it: early ones choose their points freely."""
    order = [count // 2]
    while len(order) < count:
        away = np.abs(np.arange(count)[:, None] - np.array(order)).min(1)
        order.append(int(np.argmax(away)))
    return order


def corners_of(image: Floats, count: int, taken: Array) -> Array:
    """The most distinct corners (N, 2), spread over the image, whole pixels, away from places that are ``taken``."""
    height, width = image.shape
    grey = np.clip(np.rint(image), 0, 255).astype(np.uint8)
    mask = np.zeros_like(grey)
    inside = MARGIN + 1
    mask[inside : height - inside, inside : width - inside] = 255
    for x, y in np.rint(taken).astype(int):
        cv2.circle(mask, (int(x), int(y)), round(APART), 0, -1)
    found = cv2.goodFeaturesToTrack(grey, count, QUALITY, APART, mask=mask, blockSize=7)
    return np.zeros((0, 2)) if found is None else np.rint(found.reshape(-1, 2)).astype(np.float64)
