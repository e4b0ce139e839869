# SPDX-License-Identifier: Apache-2.0
"""A cloud as the report's viewer reads it: eleven bytes a point, in an order whose every part covers the whole."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Floats
from prism_vo.cloud import PointCloud

MOST_POINTS = 300_000
STEPS = 65535  # of a coordinate between the ends of the cloud
PER_OCTAVE = 8  # steps of σ and of a point's size
FINEST = 2.0**-20  # m: step 0 of both


def packed(cloud: PointCloud, spacing: Floats) -> dict[str, Any]:
    """Coordinates, colours, σ and sizes of at most :data:`MOST_POINTS` points, base64.

    ``spacing`` (N,): metres between neighbours, so that points are drawn as large as leaves no gap between them.
    """
    order = np.random.default_rng(0).permutation(len(cloud))[:MOST_POINTS]
    points = cloud.points[order].astype(np.float64)
    share = np.sqrt(len(cloud) / max(len(order), 1))  # what is left stands further apart
    low, high = (points.min(0), points.max(0)) if len(points) else (np.zeros(3), np.ones(3))
    step = np.maximum(high - low, 1e-9) / STEPS
    colors = cloud.colors[order] if cloud.colors is not None else np.full(points.shape, 160, np.uint8)
    sigma = cloud.sigma[order] if cloud.sigma is not None else np.zeros(len(points), np.float32)
    return {
        "count": len(points),
        "total": len(cloud),
        "low": low.tolist(),
        "step": step.tolist(),
        "points": encoded(np.rint((points - low) / step).astype("<u2")),
        "colors": encoded(colors),
        "sigma": encoded(octaves(sigma)),
        "sizes": encoded(octaves(share * spacing[order])),
        "per_octave": PER_OCTAVE,
        "finest": FINEST,
    }


def octaves(lengths: Floats | Array) -> NDArray[np.uint8]:
    """Metres in steps of an eighth of an octave: to 4 %."""
    steps = PER_OCTAVE * np.log2(np.maximum(lengths, FINEST) / FINEST)
    return np.clip(np.rint(steps), 0, 255).astype(np.uint8)


def encoded(array: NDArray[Any]) -> str:
    """Base64 of the bytes."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
