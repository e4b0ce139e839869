# SPDX-License-Identifier: Apache-2.0
"""Triangle meshes with materials: the primitives scenes are built from.

World axes as the camera's at rest: x right, y down, z forward, metres. Texture coordinates count tiles.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from prism_vo.arrays import Array, Floats, Integers

LIGHTS = (  # direction towards the light, strength: the lambert term is baked into the corners, fixed to the surface
    (np.array([-0.45, -0.80, -0.40]), 0.80),
    (np.array([0.70, -0.35, -0.30]), 0.36),
    (np.array([0.10, -0.20, 0.97]), 0.26),
)
AMBIENT = 0.52


@dataclass(frozen=True)
class Material:
    """A surface. ``tile``: metres one repeat of the texture covers; tints are RGB of its dark and bright parts."""

    texture: str
    tile: float = 1.0
    dark: tuple[float, float, float] = (1.0, 1.0, 1.0)
    bright: tuple[float, float, float] = (1.0, 1.0, 1.0)
    macro: float = 0.5  # gain of a coarse second texture, so that repeats differ
    contrast: float = 0.7
    own: float = 1.0  # share of its own (Lambertian) light
    reflect: float = 0.0  # share of mirrored light
    transmit: float = 0.0  # share of light passing through


@dataclass
class MeshBuilder:
    """Collects faces; every face has three corners, texture coordinates and a material."""

    corners: list[Array] = field(default_factory=list)  # (n, 3, 3) each
    uvs: list[Array] = field(default_factory=list)  # (n, 3, 2) each
    owners: list[Integers] = field(default_factory=list)
    materials: list[Material] = field(default_factory=list)

    def material(self, material: Material) -> int:
        """Index of a material, added if new."""
        if material not in self.materials:
            self.materials.append(material)
        return self.materials.index(material)

    def triangles(self, corners: ArrayLike, uv: ArrayLike, material: Material) -> None:
        """Add triangles (n, 3, 3) with texture coordinates (n, 3, 2) in tiles."""
        c = np.asarray(corners, float).reshape(-1, 3, 3)
        self.corners.append(c)
        self.uvs.append(np.asarray(uv, float).reshape(-1, 3, 2))
        self.owners.append(np.full(len(c), self.material(material), np.int32))

    def quad(
        self,
        origin: ArrayLike,
        edge_u: ArrayLike,
        edge_v: ArrayLike,
        material: Material,
        shift: ArrayLike = (0.0, 0.0),
    ) -> None:
        """A parallelogram, textured in metres along its edges; ``shift`` moves the texture by tiles."""
        o, a, b = (np.asarray(v, float) for v in (origin, edge_u, edge_v))
        wide, high = np.linalg.norm(a) / material.tile, np.linalg.norm(b) / material.tile
        uv = np.array([[0, 0], [wide, 0], [wide, high], [0, high]]) + np.asarray(shift, float)
        p = np.array([o, o + a, o + a + b, o + b])
        self.triangles(p[[0, 1, 2, 0, 2, 3]], uv[[0, 1, 2, 0, 2, 3]], material)

    def box(
        self,
        centre: ArrayLike,
        size: ArrayLike,
        material: Material,
        yaw: float = 0.0,
        rng: np.random.Generator | None = None,
        rotation: Array | None = None,
    ) -> None:
        """A box turned about the vertical (or by ``rotation``), every side with its own piece of the texture."""
        c, s = np.cos(yaw), np.sin(yaw)
        r = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) if rotation is None else rotation
        half, middle = np.asarray(size, float) / 2, np.asarray(centre, float)
        for axis, sign in ((0, 1), (0, -1), (1, 1), (1, -1), (2, 1), (2, -1)):
            u, v = [k for k in (0, 1, 2) if k != axis]
            if axis == 0:
                u, v = 2, 1  # keep textures upright: v runs down
            origin, eu, ev = np.zeros(3), np.zeros(3), np.zeros(3)
            origin[axis], origin[u], origin[v] = sign * half[axis], -half[u], -half[v]
            eu[u], ev[v] = 2 * half[u], 2 * half[v]
            shift = rng.random(2) if rng is not None else (0.0, 0.0)
            self.quad(middle + r @ origin, r @ eu, r @ ev, material, shift)

    def cylinder(
        self,
        base: ArrayLike,
        axis: ArrayLike,
        radius: float,
        material: Material,
        sides: int = 12,
        top_radius: float | None = None,
        caps: bool = True,
    ) -> None:
        """A (truncated) cone or cylinder from ``base`` along ``axis``."""
        b, a = np.asarray(base, float), np.asarray(axis, float)
        height = float(np.linalg.norm(a))
        w = a / height
        u = np.cross(w, [0.0, 0.0, 1.0] if abs(w[2]) < 0.9 else [1.0, 0.0, 0.0])
        u /= np.linalg.norm(u)
        v = np.cross(w, u)
        angle = np.linspace(0, 2 * np.pi, sides + 1)
        ring = np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * v
        r1 = radius if top_radius is None else top_radius
        low, high = b + radius * ring, b + a + r1 * ring
        across = angle * radius / material.tile
        tall = height / material.tile
        for k in range(sides):
            p = np.array([low[k], low[k + 1], high[k + 1], high[k]])
            t = np.array([[across[k], 0], [across[k + 1], 0], [across[k + 1], tall], [across[k], tall]])
            self.triangles(p[[0, 1, 2, 0, 2, 3]], t[[0, 1, 2, 0, 2, 3]], material)
            for end, edge in ((b, low), (b + a, high)) if caps else ():
                cap = np.array([end, edge[k], edge[k + 1]])
                flat = np.stack([(cap - b) @ u, (cap - b) @ v], -1) / material.tile
                self.triangles(cap, flat, material)

    def sphere(self, centre: ArrayLike, radius: float, material: Material, rings: int = 10) -> None:
        """A ball, textured by longitude and latitude (metres at the equator)."""
        theta, phi = np.linspace(0, np.pi, rings + 1), np.linspace(0, 2 * np.pi, 2 * rings + 1)
        t, p = np.meshgrid(theta, phi, indexing="ij")
        points = np.stack([np.sin(t) * np.cos(p), -np.cos(t), np.sin(t) * np.sin(p)], -1) * radius
        points += np.asarray(centre, float)
        uv = np.stack([p, t], -1) * radius / material.tile
        a, b, c, d = (
            (slice(None, -1), slice(None, -1)),
            (slice(1, None), slice(None, -1)),
            (slice(1, None), slice(1, None)),
            (slice(None, -1), slice(1, None)),
        )
        for first, second, third in ((a, b, c), (a, c, d)):
            corners = np.stack([points[first], points[second], points[third]], -2).reshape(-1, 3, 3)
            tiles = np.stack([uv[first], uv[second], uv[third]], -2).reshape(-1, 3, 2)
            area = np.linalg.norm(
                np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
            )
            keep = area > 1e-12
            self.triangles(corners[keep], tiles[keep], material)

    def height_field(self, x: Array, z: Array, height: Array, material: Material) -> None:
        """Ground: y = height[iz, ix] over the grid x (n), z (m)."""
        xx, zz = np.meshgrid(x, z)
        points = np.stack([xx, height, zz], -1)
        uv = np.stack([xx, zz], -1) / material.tile
        for pick in (((0, 0), (0, 1), (1, 1)), ((0, 0), (1, 1), (1, 0))):
            m, n = len(z) - 1, len(x) - 1
            corners = np.stack([points[j : j + m, i : i + n] for j, i in pick], -2)
            tiles = np.stack([uv[j : j + m, i : i + n] for j, i in pick], -2)
            self.triangles(corners, tiles, material)

    def arrays(self) -> tuple[Array, Array, Integers]:
        """All corners (F, 3, 3), texture coordinates (F, 3, 2) and material indices (F,)."""
        return np.concatenate(self.corners), np.concatenate(self.uvs), np.concatenate(self.owners)


def triangle_table(corners: Array, uv: Array) -> Floats:
    """The per-triangle numbers the shading kernel reads (see `kernels.shade`), lighting baked in."""
    e1, e2 = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normal = np.cross(e1, e2)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-20)
    d1, d2 = uv[:, 1] - uv[:, 0], uv[:, 2] - uv[:, 0]
    # ∂uv/∂X: rows g with g·e1 = d1, g·e2 = d2, g·n = 0
    frame = np.stack([e1, e2, normal], 1)
    degenerate = np.abs(np.linalg.det(frame)) < 1e-14
    frame[degenerate] = np.eye(3)
    right = np.stack([d1, d2, np.zeros_like(d1)], 1)
    gradient = np.linalg.solve(frame, right).transpose(0, 2, 1)
    light = np.full(len(corners), AMBIENT)
    for towards, strength in LIGHTS:
        light += strength * np.abs(normal @ (towards / np.linalg.norm(towards)))  # surfaces are two-sided
    shade = np.repeat(light[:, None], 3, 1)
    columns = [uv[:, 0], d1, d2, gradient.reshape(-1, 6), normal, shade]
    return np.ascontiguousarray(np.concatenate(columns, 1), np.float32)
