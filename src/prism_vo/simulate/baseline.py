# SPDX-License-Identifier: Apache-2.0
"""What other cameras would have recorded from the same place: a monocular one, and a depth camera."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Floats

DEPTH_SCALE = 5000.0  # 16-bit numbers a metre, as in the TUM RGB-D files
RANGE = (0.3, 8.0)  # m


def monocular(truth: Floats, noise: float, seed: tuple[int, int]) -> NDArray[np.uint8]:
    """The ideal central view through an ordinary 8-bit sensor."""
    rng = np.random.default_rng((*seed, 0xBEEF))
    sigma = noise * np.sqrt(np.maximum(truth, 0) * 255.0 / 12000.0 + 0.05)
    noisy = truth + sigma.astype(np.float32) * rng.standard_normal(truth.shape, np.float32)
    return np.clip(np.rint(noisy), 0, 255).astype(np.uint8)


def depth_camera(depth: Floats, focal_px: float, seed: tuple[int, int]) -> NDArray[np.uint16]:
    """16-bit depth with the errors of a structured-light camera.

    Axial noise 1.2 mm + 1.9 mm (z − 0.4)² and half a pixel of lateral noise (Nguyen et al. 2012), disparity in
    steps of 1/8 px of a 75 mm baseline, no return at depth edges, out of range, or in random speckles.
    """
    rng = np.random.default_rng((*seed, 0xD0D0))
    h, w = depth.shape
    yy, xx = np.mgrid[0:h, 0:w]
    shift = np.rint(rng.normal(0.0, 0.5, (2, h, w))).astype(int)
    z = depth[np.clip(yy + shift[0], 0, h - 1), np.clip(xx + shift[1], 0, w - 1)].astype(np.float64)
    near, far = _neighbours(depth)
    finite = np.isfinite(z) & np.isfinite(far)
    z = np.where(finite, z, RANGE[1] * 2)
    z = z + (0.0012 + 0.0019 * (z - 0.4) ** 2) * rng.standard_normal((h, w))
    disparity = np.rint(focal_px * 0.075 / np.maximum(z, 0.05) * 8.0) / 8.0
    z = focal_px * 0.075 / np.maximum(disparity, 1e-3)
    edge = np.where(finite, far - near, np.inf) > 0.06 * z
    lost = ~finite | edge | (z < RANGE[0]) | (z > RANGE[1]) | (rng.random((h, w)) < 0.01)
    return np.where(lost, 0, np.clip(np.rint(z * DEPTH_SCALE), 0, 65535)).astype(np.uint16)


def _neighbours(depth: Floats) -> tuple[Floats, Floats]:
    """Nearest and farthest depth among a pixel and its four neighbours."""
    padded = np.pad(depth, 1, mode="edge")
    stack = [depth, padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]]
    return np.minimum.reduce(stack), np.maximum.reduce(stack)
