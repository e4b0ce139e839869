# SPDX-License-Identifier: Apache-2.0
"""What shows the grid in raw images: light (dark gaps between micro-images) and edges (content breaks off there).

Vignetting is the same in every frame, so the mean of the frames shows it best. Where vignetting was removed, only the
jump of content from one micro-image to the next is left; it differs from frame to frame, so edges are measured in
each frame and averaged afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Floats
from prism_vo.errors import InputError
from prism_vo.optics.photometric import luminance

FeatureName = Literal["light", "edges"]
BRIGHTEST_SHARE = 4.0  # of the surrounding mean: highlights count no more than this
STRONGEST_EDGE = 4.0  # of the surrounding mean: one edge must not outweigh a whole zone
DARKEST_SHARE = 0.03  # of the mean of the image: where it is darker there is nothing to divide by
SMALLEST_EDGE = 0.3  # grey levels of 255: below quantisation there are no edges


@dataclass(frozen=True)
class FeatureMap:
    """One number a pixel whose mean over micro-images has the grid's symmetry; about 1 on average."""

    name: FeatureName
    values: Floats  # (H, W)


def grey_frames(images: Sequence[NDArray[Any]] | NDArray[Any]) -> list[Floats]:
    """Images (H, W) or (H, W, 3), or one of them, as float32 grey frames of one size, 0–255."""
    frames = [images] if isinstance(images, np.ndarray) and images.ndim == 2 else list(images)
    if isinstance(images, np.ndarray) and images.ndim == 3 and images.shape[2] == 3:
        frames = [images]
    if not frames:
        raise InputError("No raw image was given; at least one is needed to find the micro-lens grid.")
    if len({frame.shape[:2] for frame in frames}) > 1:
        raise InputError("The raw images differ in size; give images of one camera only.")
    return [_grey(frame) for frame in frames]


def _grey(frame: NDArray[Any]) -> Floats:
    scale = np.float32(257.0 if frame.dtype == np.uint16 else 1.0)
    return np.ascontiguousarray(luminance(frame.astype(np.float32) / scale))


def light_map(frames: Sequence[Floats], width: float) -> FeatureMap:
    """Mean of the frames, each by its own brightness, over its surroundings of ``width`` pixels."""
    mean = np.zeros_like(frames[0])
    for frame in frames:
        mean += frame / max(float(frame.mean()), 1e-6)
    mean /= np.float32(len(frames))
    return FeatureMap("light", _over_surroundings(mean, width, DARKEST_SHARE, BRIGHTEST_SHARE))


def edge_map(frames: Sequence[Floats], width: float) -> FeatureMap:
    """Mean over the frames of the edge strength over its surroundings of ``width`` pixels."""
    total = np.zeros_like(frames[0])
    for frame in frames:
        total += _over_surroundings(_edge_strength(frame), width, SMALLEST_EDGE, STRONGEST_EDGE)
    return FeatureMap("edges", total / np.float32(len(frames)))


def _edge_strength(frame: Floats) -> Floats:
    """Root mean square difference to the four neighbours: the same to both sides, so that nothing is shifted."""
    energy = np.zeros_like(frame)
    across = (frame[:, 1:] - frame[:, :-1]) ** 2
    down = (frame[1:] - frame[:-1]) ** 2
    energy[:, 1:] += across
    energy[:, :-1] += across
    energy[1:] += down
    energy[:-1] += down
    return np.asarray(np.sqrt(energy * np.float32(0.25)), np.float32)


def _over_surroundings(values: Floats, width: float, floor: float, largest: float) -> Floats:
    size = 2 * int(np.ceil(width / 2)) + 1
    around = cv2.blur(values, (size, size), borderType=cv2.BORDER_REFLECT)
    around = cv2.blur(around, (size, size), borderType=cv2.BORDER_REFLECT)
    return np.minimum(values / (around + np.float32(floor)), np.float32(largest))
