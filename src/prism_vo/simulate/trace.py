# SPDX-License-Identifier: Apache-2.0
"""Bundles of rays through the scene: nearest hit, own light, and what mirrors and glass add."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Floats, Integers
from prism_vo.simulate import kernels
from prism_vo.simulate.scene import Geometry, Scene

MAX_BOUNCES = 5


@dataclass
class Bundle:
    """Rays with the pixel each belongs to. ``kind`` picks the footprint, ``channel`` the colour (3: grey)."""

    origin: Floats  # (N, 3)
    direction: Floats  # (N, 3), not normalised: its length is one unit of depth
    target: Integers
    kind: NDArray[np.int8]
    channel: NDArray[np.int8]
    weight: Floats
    travelled: Floats

    @classmethod
    def empty(cls, size: int) -> Bundle:
        """Room for ``size`` rays of weight 1."""
        return cls(
            origin=np.empty((size, 3), np.float32),
            direction=np.empty((size, 3), np.float32),
            target=np.empty(size, np.int32),
            kind=np.zeros(size, np.int8),
            channel=np.full(size, 3, np.int8),
            weight=np.ones(size, np.float32),
            travelled=np.zeros(size, np.float32),
        )


def gather(scene: Scene, geometry: Geometry, rays: Bundle, count: int, spread: Floats, out: Floats) -> None:
    """Add the light of the first ``count`` rays to ``out[target]``."""
    atlas = scene.atlas
    for _ in range(MAX_BOUNCES):
        light, flag = (
            np.empty(count, np.float32),
            np.empty(count, np.uint8),
        )  # glass doubles the number of rays
        hits = geometry.intersect(rays.origin[:count], rays.direction[:count])
        kernels.shade(
            count,
            hits.face,
            hits.u,
            hits.v,
            hits.depth,
            rays.travelled,
            rays.direction,
            rays.kind,
            rays.channel,
            spread,
            scene.sky,
            geometry.triangles,
            geometry.materials,
            geometry.surfaces,
            geometry.tints,
            atlas.texels,
            atlas.starts,
            light,
            flag,
        )
        kernels.accumulate(count, rays.target, rays.weight, light, out)
        if not geometry.has_special or not (marked := int(flag.sum())):
            return
        following = Bundle.empty(2 * marked)
        count = kernels.scatter(
            count,
            hits.face,
            hits.depth,
            rays.origin,
            rays.direction,
            rays.target,
            rays.kind,
            rays.channel,
            rays.weight,
            rays.travelled,
            flag,
            geometry.triangles,
            geometry.materials,
            geometry.surfaces,
            following.origin,
            following.direction,
            following.target,
            following.kind,
            following.channel,
            following.weight,
            following.travelled,
        )
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
        glass = ~missed & (surface[:, 6] > 0.5)
        if not glass.any():
            break
        open_rays = open_rays[glass]
        step = np.float32(1e-4) / np.linalg.norm(direction[open_rays], axis=1).astype(np.float32)
        depth[open_rays] += step
        start = origin[open_rays] + depth[open_rays, None] * direction[open_rays]
    return depth
