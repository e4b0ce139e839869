# SPDX-License-Identifier: Apache-2.0
"""A scene ready to be traced: geometry, shading tables, textures, sky — at rest or moving with time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prism_vo.arrays import Floats
from prism_vo.errors import MissingExtraError
from prism_vo.simulate.kernels import MACRO_TILES
from prism_vo.simulate.mesh import Material, MeshBuilder, triangle_table
from prism_vo.simulate.records import REFLECT, TRANSMIT, Hits, Surfaces
from prism_vo.simulate.textures import Atlas, atlas_for

SKY = ((0.62, 0.76, 1.0), (0.80, 0.82, 0.85))  # RGB of bright sky, of haze
TINT_LUMINANCE = 0.8
LUMINANCE = np.array([0.299, 0.587, 0.114])


def check_ray_tracer() -> None:
    """One sentence if the extra the simulator needs is not installed."""
    try:
        import embreex.rtcore_scene  # noqa: F401
        import trimesh  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "The simulator needs embreex and trimesh: pip install 'prism-vo[sim]'."
        ) from error


class Geometry:
    """Triangles in embree, with the tables their shading needs."""

    def __init__(self, builder: MeshBuilder, atlas: Atlas) -> None:
        check_ray_tracer()
        from embreex.mesh_construction import TriangleMesh
        from embreex.rtcore_scene import EmbreeScene

        corners, uv, owners = builder.arrays()
        self.corners = np.ascontiguousarray(corners, np.float32)
        self.triangles = triangle_table(corners, uv)
        self.materials = owners
        self.surfaces, self.tints = material_tables(builder.materials, atlas)
        self.has_special = bool((self.surfaces[np.unique(owners), REFLECT : TRANSMIT + 1] > 0).any())
        self._atlas = atlas
        self._embree = EmbreeScene()
        TriangleMesh(self._embree, self.corners)

    def surfaces_under(self, sky: Floats) -> Surfaces:
        """What hits are shaded with, beneath a sky."""
        atlas = self._atlas
        tables = (self.triangles, self.materials, self.surfaces, self.tints)
        return Surfaces(*tables, sky, atlas.texels, atlas.starts)

    def intersect(self, origin: Floats, direction: Floats) -> Hits:
        """Nearest hits of N rays (embree; releases the interpreter lock)."""
        out = self._embree.run(origin, direction, query="INTERSECT", output=True)
        return Hits(out["primID"], out["u"], out["v"], out["tfar"])


def material_tables(materials: list[Material], atlas: Atlas) -> tuple[Floats, Floats]:
    """``surfaces`` (M, 8) and ``tints`` (M, 2, 4: R, G, B, grey) for the shading kernel."""
    surfaces = [
        (
            atlas.layer(m.texture),
            atlas.layer("rough"),
            MACRO_TILES,
            m.macro,
            m.own,
            m.reflect,
            m.transmit,
            m.contrast,
        )
        for m in materials
    ]
    tints = np.array([[m.dark, m.bright] for m in materials], float)
    tints *= (
        TINT_LUMINANCE / np.maximum(tints @ LUMINANCE, 1e-3)[..., None]
    )  # hue only: grey stays the texture's
    grey = tints @ LUMINANCE
    return np.array(surfaces, np.float32), np.concatenate([tints, grey[..., None]], -1).astype(np.float32)


@dataclass
class Scene:
    """A world to film. ``moving`` adds what moves: it is called with the time for every (sub-)exposure."""

    name: str
    still: MeshBuilder
    atlas: Atlas
    moving: Callable[[float], MeshBuilder] | None = None
    start: tuple[float, float, float] = (0.0, 0.0, 0.0)  # where an observer may stand, looking along +z

    def __post_init__(self) -> None:
        self._at: tuple[float | None, Geometry] | None = None
        bright, haze = (np.append(rgb, np.dot(rgb, LUMINANCE)) for rgb in SKY)
        layer = np.full(4, float(self.atlas.layer("clouds")))
        self.sky = np.array([layer, bright, haze], np.float32)

    def geometry(self, time: float = 0.0) -> Geometry:
        """The geometry at a time (built once for a scene at rest)."""
        key = None if self.moving is None else float(time)
        if self._at is None or self._at[0] != key:
            builder = self.still if self.moving is None else merged(self.still, self.moving(time))
            self._at = (key, Geometry(builder, self.atlas))
        return self._at[1]


def merged(first: MeshBuilder, second: MeshBuilder) -> MeshBuilder:
    """Both meshes as one."""
    out = MeshBuilder(list(first.corners), list(first.uvs), list(first.owners), list(first.materials))
    for corners, uv, owners in zip(second.corners, second.uvs, second.owners):
        for index in np.unique(owners):
            pick = owners == index
            out.triangles(corners[pick], uv[pick], second.materials[int(index)])
    return out


def plane_scene(
    depth: float, texture: str = "clutter", tile: float = 0.5, size: float | None = None
) -> Scene:
    """A textured plane at z = depth, square to the axis: for tests and measurements."""
    half = (size or 4.0 * depth) / 2
    builder = MeshBuilder()
    material = Material(texture, tile, macro=0.0)
    builder.quad((-half, -half, depth), (2 * half, 0, 0), (0, 2 * half, 0), material)
    return Scene("plane", builder, atlas_for({texture}))
