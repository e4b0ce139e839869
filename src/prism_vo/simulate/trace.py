# SPDX-License-Identifier: Apache-2.0
"""Bundles of rays through the scene: nearest hit, own light, and what mirrors and glass add."""

from __future__ import annotations

import numpy as np

from prism_vo.arrays import Floats
from prism_vo.simulate import kernels
from prism_vo.simulate.records import TRANSMIT, Bundle
from prism_vo.simulate.scene import Geometry, Scene

MAX_BOUNCES = 5


def gather(scene: Scene, geometry: Geometry, rays: Bundle, count: int, spread: Floats, out: Floats) -> None:
    """Add the light of the first ``count`` rays to ``out[target]``."""
    surfaces = geometry.surfaces_under(scene.sky)
    for _ in range(MAX_BOUNCES):
        light, flag = np.empty(count, np.float32), np.empty(count, np.uint8)
        hits = geometry.intersect(rays.origin[:count], rays.direction[:count])
        kernels.shade(count, hits, rays, surfaces, spread, light, flag)
        kernels.accumulate(count, rays.target, rays.weight, light, out)
        if not geometry.has_special or not (marked := int(flag.sum())):
            return
        following = Bundle.empty(2 * marked)  # glass doubles the number of rays
        count = kernels.scatter(count, hits, rays, flag, surfaces, following)
        if count == 0:
            return
        rays = following


def first_depth(geometry: Geometry, origin: Floats, direction: Floats) -> Floats:
    """Depth of the first surface that is not glass, inf where there is none."""
    depth = np.zeros(len(origin), np.float32)
    open_rays, start = np.arange(len(origin)), origin
    for _ in range(MAX_BOUNCES + 1):
        hits = geometry.intersect(start, direction[open_rays])
        missed = hits.face < 0
        depth[open_rays] += np.where(missed, np.float32(np.inf), hits.depth)
        surface = geometry.surfaces[geometry.materials[hits.face]]
        glass = ~missed & (surface[:, TRANSMIT] > 0.5)
        if not glass.any():
            break
        open_rays = open_rays[glass]
        step = np.float32(1e-4) / np.linalg.norm(direction[open_rays], axis=1).astype(np.float32)
        depth[open_rays] += step
        start = origin[open_rays] + depth[open_rays, None] * direction[open_rays]
    return depth
