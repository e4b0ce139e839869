# SPDX-License-Identifier: Apache-2.0
"""Where the edges of a checkerboard cross in a micro-image, from the pixels of that micro-image alone.

Every gradient near a corner stands at right angles to an edge through it, so the corner is the point that minimises
``Σ w (∇I·(q − p))²`` over pixels p: two linear equations, repeated with the window about the last answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Array, Floats, Mask

REACH = 5  # px, half a side of the window that is read
WINDOW = 2.0  # px, σ of the weights
ROUNDS = 8
LARGEST_MOVE = 2.5  # px from where a corner was expected
LEAST_ROUND = 0.15  # smaller over larger eigenvalue of Σ w ∇I∇Iᵀ: else it is an edge, not a corner
LEAST_CONTRAST = 8.0  # grey levels a pixel, root mean square gradient
STILL = 0.01  # px


@dataclass(frozen=True)
class Saddles:
    """N corners."""

    place: Array  # (N, 2) raw px
    found: Mask  # (N,)


def refine_saddles(image: Floats, expected: Array, centre: Array, radius: float) -> Saddles:
    """``image`` (H, W) without vignetting; pixels beyond ``radius`` of their micro-image's ``centre`` do not count."""
    height, width = image.shape
    middle = np.rint(expected).astype(int)
    dy, dx = np.mgrid[-REACH : REACH + 1, -REACH : REACH + 1]
    x = middle[:, 0, None, None] + dx
    y = middle[:, 1, None, None] + dy
    inside = (x >= 1) & (y >= 1) & (x < width - 1) & (y < height - 1)
    cx, cy = np.clip(x, 1, width - 2), np.clip(y, 1, height - 2)
    away = np.hypot(x - centre[:, 0, None, None], y - centre[:, 1, None, None])
    usable = inside & (away <= radius - 1.0)  # the pixels beside it count, too
    gx = 0.5 * (image[cy, cx + 1] - image[cy, cx - 1]).astype(np.float64)
    gy = 0.5 * (image[cy + 1, cx] - image[cy - 1, cx]).astype(np.float64)
    place = expected.astype(np.float64).copy()
    moved = np.full(len(place), np.inf)
    round_enough = np.zeros(len(place), np.bool_)
    for _ in range(ROUNDS):
        far = (x - place[:, 0, None, None]) ** 2 + (y - place[:, 1, None, None]) ** 2
        weight = np.exp(-0.5 * far / WINDOW**2) * usable
        a, b, c = ((weight * g).sum((1, 2)) for g in (gx * gx, gx * gy, gy * gy))
        u = (weight * (gx * gx * x + gx * gy * y)).sum((1, 2))
        v = (weight * (gx * gy * x + gy * gy * y)).sum((1, 2))
        det, trace = a * c - b * b, a + c
        round_enough = 4.0 * det > LEAST_ROUND * trace**2 / (1 + LEAST_ROUND) ** 2 * 4.0
        round_enough &= trace > LEAST_CONTRAST**2 * weight.sum((1, 2))
        safe = np.where(det > 0, det, 1.0)
        now = np.stack([(c * u - b * v) / safe, (a * v - b * u) / safe], -1)
        now = np.where(round_enough[:, None], now, place)
        now = np.clip(now, expected - LARGEST_MOVE, expected + LARGEST_MOVE)
        moved = np.linalg.norm(now - place, axis=1)
        place = now
    kept = np.linalg.norm(place - centre, axis=1) < radius - 1.0
    return Saddles(place, round_enough & (moved < STILL * 10) & kept)
