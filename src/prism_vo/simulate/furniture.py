# SPDX-License-Identifier: Apache-2.0
"""Things that stand in the scenes: furniture, clutter, plants, trees, houses. y is down: up is −y."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from prism_vo.simulate.mesh import Material, MeshBuilder

WHITE = (1.0, 1.0, 1.0)
WOOD = Material("wood", 1.62, (0.55, 0.38, 0.25), (1.0, 0.82, 0.6))
DARK_WOOD = Material("wood", 1.26, (0.4, 0.28, 0.2), (0.75, 0.55, 0.4))
METAL = Material("metal", 0.72, (0.7, 0.72, 0.75), (0.95, 0.97, 1.0))
BRICK = Material("brick", 3.6, (0.8, 0.42, 0.32), (1.0, 0.9, 0.82))
PLASTER = Material("plaster", 3.96, (0.9, 0.85, 0.75), (1.0, 0.97, 0.9))
PLAIN = Material("plain", 5.4, (0.95, 0.95, 0.92), WHITE, macro=0.06)
STONE = Material("cells", 2.88, (0.6, 0.6, 0.62), (1.0, 0.98, 0.95))
POSTERS = Material("posters", 2.88, (0.25, 0.3, 0.45), WHITE)
BOOKS = Material("books", 2.7, (0.6, 0.3, 0.25), (0.9, 0.95, 0.9))
LEAVES = Material("foliage", 0.9, (0.25, 0.4, 0.15), (0.7, 1.0, 0.5))
SOIL = Material("gravel", 0.72, (0.4, 0.3, 0.22), (0.8, 0.68, 0.5))
BARK = Material("rough", 1.08, (0.35, 0.28, 0.22), (0.8, 0.7, 0.6))
GRASS = Material("grass", 2.88, (0.3, 0.45, 0.15), (0.75, 0.95, 0.45))
ASPHALT = Material("asphalt", 4.32, (0.6, 0.6, 0.62), (1.0, 1.0, 1.0), macro=0.7)
PAVING = Material("tiles", 3.6, (0.65, 0.63, 0.6), (1.0, 0.97, 0.92))
ROOF = Material("brick", 4.68, (0.7, 0.35, 0.25), (0.95, 0.55, 0.4))
CARPET = Material("fabric", 2.52, (0.5, 0.2, 0.2), (1.0, 0.85, 0.65))
GOODS = (  # what clutter is printed with
    Material("clutter", 0.99, (0.3, 0.35, 0.6), (1.0, 0.95, 0.8)),
    Material("print", 0.81, (0.6, 0.25, 0.2), (1.0, 1.0, 0.9)),
    Material("posters", 1.26, (0.2, 0.25, 0.4), WHITE),
    Material("cells", 0.9, (0.5, 0.5, 0.5), WHITE),
    Material("wood", 0.9, (0.55, 0.38, 0.25), (1.0, 0.82, 0.6)),
    Material("fabric", 0.9, (0.2, 0.3, 0.5), (0.9, 0.95, 1.0)),
    Material("rough", 0.9, (0.45, 0.5, 0.35), (1.0, 0.98, 0.85)),
)
SIDING = (
    Material("facade", 11.0, (0.75, 0.68, 0.55), (1.0, 0.95, 0.82)),
    Material("facade", 12.5, (0.6, 0.62, 0.68), (0.95, 0.97, 1.0)),
    Material("facade", 10.0, (0.8, 0.5, 0.42), (1.0, 0.85, 0.75)),
)


def pick(rng: np.random.Generator, materials: tuple[Material, ...] = GOODS) -> Material:
    """One of several materials."""
    return materials[int(rng.integers(len(materials)))]


def room(
    b: MeshBuilder,
    low: ArrayLike,
    high: ArrayLike,
    walls: tuple[Material, Material, Material, Material],
    floor: Material,
    ceiling: Material | None = PLAIN,
) -> None:
    """The inside of a box: walls in the order −z, +x, +z, −x."""
    (x0, y0, z0), (x1, y1, z1) = np.asarray(low, float), np.asarray(high, float)
    w, h, d = x1 - x0, y1 - y0, z1 - z0
    b.quad((x1, y0, z0), (-w, 0, 0), (0, h, 0), walls[0])  # edges run to the right as seen from inside
    b.quad((x1, y0, z1), (0, 0, -d), (0, h, 0), walls[1], (0.3, 0.0))
    b.quad((x0, y0, z1), (w, 0, 0), (0, h, 0), walls[2], (0.6, 0.0))
    b.quad((x0, y0, z0), (0, 0, d), (0, h, 0), walls[3], (0.9, 0.0))
    b.quad((x0, y1, z0), (w, 0, 0), (0, 0, d), floor)
    if ceiling is not None:
        b.quad((x0, y0, z0), (w, 0, 0), (0, 0, d), ceiling)


def table(b: MeshBuilder, centre: ArrayLike, size: ArrayLike, floor: float, top: Material = WOOD) -> None:
    """A table: ``centre`` of its top surface, ``size`` (x, z)."""
    (x, y, z), (w, d) = np.asarray(centre, float), np.asarray(size, float)
    b.box((x, y + 0.02, z), (w, 0.04, d), top)
    for sx in (-1, 1):
        for sz in (-1, 1):
            leg = floor - y - 0.04
            b.box(
                (x + sx * (w / 2 - 0.05), y + 0.04 + leg / 2, z + sz * (d / 2 - 0.05)),
                (0.05, leg, 0.05),
                METAL,
            )


def chair(b: MeshBuilder, at: ArrayLike, floor: float, yaw: float, seat: Material = CARPET) -> None:
    """A chair standing at (x, z)."""
    x, z = np.asarray(at, float)
    c, s = np.cos(yaw), np.sin(yaw)
    b.box((x, floor - 0.45, z), (0.44, 0.05, 0.44), seat, yaw)
    b.box((x + s * 0.2, floor - 0.72, z + c * 0.2), (0.44, 0.5, 0.04), seat, yaw)
    for u in (-0.19, 0.19):
        for v in (-0.19, 0.19):
            b.cylinder((x + c * u + s * v, floor, z - s * u + c * v), (0, -0.44, 0), 0.015, METAL, 6)


def shelf(
    b: MeshBuilder,
    at: ArrayLike,
    floor: float,
    yaw: float,
    rng: np.random.Generator,
    width: float = 1.2,
    height: float = 2.0,
) -> None:
    """A book case facing +z (turned by yaw), with books and boxes."""
    x, z = np.asarray(at, float)
    c, s = np.cos(yaw), np.sin(yaw)

    def place(u: float, v: float) -> tuple[float, float]:
        return x + c * u + s * v, z - s * u + c * v

    px, pz = place(0, -0.14)
    b.box((px, floor - height / 2, pz), (width, height, 0.03), BOOKS, yaw, rng)
    for u in (-width / 2, width / 2):
        px, pz = place(u, 0)
        b.box((px, floor - height / 2, pz), (0.03, height, 0.32), WOOD, yaw)
    for k in range(5):
        px, pz = place(0, 0)
        b.box((px, floor - 0.05 - k * height / 4.4, pz), (width, 0.03, 0.32), WOOD, yaw)
        if k < 4:
            for _ in range(3):
                size = rng.uniform((0.08, 0.12, 0.1), (0.3, 0.3, 0.22))
                px, pz = place(rng.uniform(-0.42, 0.42) * width, 0.02)
                b.box((px, floor - 0.065 - k * height / 4.4 - size[1] / 2, pz), size, pick(rng), yaw, rng)


def clutter(
    b: MeshBuilder,
    low: ArrayLike,
    high: ArrayLike,
    top: float,
    count: int,
    rng: np.random.Generator,
    sizes: tuple[float, float] = (0.06, 0.26),
) -> None:
    """Boxes, tins and balls scattered on a surface at height ``top`` between (x, z) low and high."""
    for _ in range(count):
        x, z = rng.uniform(np.asarray(low, float), np.asarray(high, float))
        size = rng.uniform(*sizes, 3)
        kind, material = rng.random(), pick(rng)
        if kind < 0.62:
            b.box((x, top - size[1] / 2, z), size, material, float(rng.uniform(0, np.pi)), rng)
        elif kind < 0.85:
            b.cylinder((x, top, z), (0, -size[1], 0), size[0] * 0.4, material, 16)
        else:
            b.sphere((x, top - size[0] / 2, z), size[0] / 2, material)


def plant(
    b: MeshBuilder,
    base: ArrayLike,
    height: float,
    rng: np.random.Generator,
    leaves: int = 40,
    leaf: float = 0.08,
) -> None:
    """A potted plant: pot, thin stems, leaves of two triangles each."""
    x, y, z = np.asarray(base, float)
    b.cylinder((x, y, z), (0, -0.22 * height, 0), 0.13 * height, SOIL, 14, 0.17 * height)
    root = np.array([x, y - 0.2 * height, z])
    stems = 5
    for k in range(stems):
        lean = rng.uniform(-0.35, 0.35, 2) * height
        axis = np.array([lean[0], -height * rng.uniform(0.6, 0.95), lean[1]])
        b.cylinder(root, axis, 0.004 + 0.006 * height, BARK, 6, 0.003, caps=False)
        for _ in range(leaves // stems):
            at = root + axis * rng.uniform(0.35, 1.0)
            blade(b, at, rng, leaf * height * rng.uniform(0.6, 1.4) * 2, k)


def blade(b: MeshBuilder, at: np.ndarray, rng: np.random.Generator, length: float, shift: float) -> None:
    """One leaf: a bent rhomb."""
    along = rng.normal(size=3) * (1, 0.5, 1)
    along *= length / np.linalg.norm(along)
    across = np.cross(along, rng.normal(size=3))
    across *= 0.28 * length / np.linalg.norm(across)
    tip = at + along + np.array([0, 0.2 * length, 0])
    middle = at + 0.5 * along
    corners = np.array([[at, middle + across, tip], [at, tip, middle - across]])
    uv = np.array([[[0, 0], [0.5, 0.28], [1, 0]], [[0, 0], [1, 0], [0.5, -0.28]]]) * length / LEAVES.tile
    b.triangles(corners, uv + rng.random(2) + 0.1 * shift, LEAVES)


def tree(
    b: MeshBuilder, at: ArrayLike, ground: float, height: float, rng: np.random.Generator, leaves: int = 160
) -> None:
    """Trunk, branches and a crown of large leafy sprays."""
    x, z = np.asarray(at, float)
    lean = rng.uniform(-0.05, 0.05, 2) * height
    b.cylinder(
        (x, ground, z), (lean[0], -0.7 * height, lean[1]), 0.035 * height, BARK, 9, 0.015 * height, False
    )
    crown = np.array([x + lean[0], ground - 0.7 * height, z + lean[1]])
    for _ in range(7):
        axis = rng.normal(size=3) * (0.25, 0.12, 0.25) * height
        b.cylinder(
            crown + np.array([0, 0.15 * height, 0]),
            axis - np.array([0, 0.12 * height, 0]),
            0.012 * height,
            BARK,
            5,
            0.004,
            False,
        )
    for k in range(leaves):
        direction = rng.normal(size=3)
        direction /= np.linalg.norm(direction)
        at3 = crown + direction * rng.uniform(0.3, 1.0) ** 0.5 * height * np.array([0.28, 0.27, 0.28])
        blade(b, at3, rng, 0.13 * height * rng.uniform(0.6, 1.2), k % 7)


def house(
    b: MeshBuilder, centre: ArrayLike, size: ArrayLike, ground: float, rng: np.random.Generator
) -> None:
    """A block with windows in its walls, a plinth and a pitched roof; ``size`` (x, height, z)."""
    (x, z), (w, h, d) = np.asarray(centre, float), np.asarray(size, float)
    b.box((x, ground - h / 2, z), (w, h, d), pick(rng, SIDING), 0.0, rng)
    b.box((x, ground - 0.4, z), (w + 0.12, 0.8, d + 0.12), pick(rng, (STONE, BRICK)), 0.0, rng)
    ridge = rng.uniform(1.5, 3.5)
    top = ground - h
    for side in (-1, 1):
        eave = np.array([x - w / 2 - 0.4, top, z + side * (d / 2 + 0.4)])
        b.quad(eave, (w + 0.8, 0, 0), (0, -ridge, -side * (d / 2 + 0.4)), ROOF, rng.random(2))
    if rng.random() < 0.7:
        b.box((x + rng.uniform(-w / 4, w / 4), top - ridge, z), (0.7, 1.6, 0.7), BRICK, 0.0, rng)
    if rng.random() < 0.8:
        b.box(
            (x + rng.uniform(-w / 3, w / 3), ground - 1.1, z - d / 2 - 0.05),
            (1.1, 2.2, 0.1),
            DARK_WOOD,
            0.0,
            rng,
        )


def car(b: MeshBuilder, at: ArrayLike, ground: float, yaw: float, rng: np.random.Generator) -> None:
    """A parked car, roughly."""
    x, z = np.asarray(at, float)
    paint = Material("metal", 1.1, tuple(rng.uniform(0.2, 0.8, 3)), tuple(rng.uniform(0.6, 1.0, 3)))
    c, s = np.cos(yaw), np.sin(yaw)
    b.box((x, ground - 0.62, z), (1.7, 0.62, 4.2), paint, yaw, rng)
    b.box(
        (x, ground - 1.15, z),
        (1.5, 0.5, 2.2),
        Material("print", 1.3, (0.1, 0.1, 0.12), (0.5, 0.55, 0.6)),
        yaw,
        rng,
    )
    for u in (-0.85, 0.85):
        for v in (-1.35, 1.35):
            px, pz = x + c * u + s * v, z - s * u + c * v
            side = np.sign(u) * 0.2
            b.cylinder(
                (px - c * side, ground - 0.32, pz + s * side), (c * side, 0, -s * side), 0.32, BARK, 14
            )


def lamp(b: MeshBuilder, at: ArrayLike, ground: float, height: float = 4.5) -> None:
    """A street lamp: thin pole, arm, head."""
    x, z = np.asarray(at, float)
    b.cylinder((x, ground, z), (0, -height, 0), 0.06, METAL, 8, 0.04)
    b.box((x + 0.4, ground - height, z), (0.9, 0.05, 0.05), METAL)
    b.box((x + 0.8, ground - height + 0.08, z), (0.4, 0.12, 0.2), PLAIN)


def fence(
    b: MeshBuilder,
    start: ArrayLike,
    end: ArrayLike,
    ground: float,
    height: float = 1.0,
    gap: float = 0.16,
    thick: float = 0.03,
    material: Material = DARK_WOOD,
) -> None:
    """Vertical bars with two rails from (x, z) to (x, z)."""
    a, e = np.asarray(start, float), np.asarray(end, float)
    length = float(np.linalg.norm(e - a))
    direction = (e - a) / length
    yaw = float(np.arctan2(-direction[1], direction[0]))
    for k in range(int(length / gap) + 1):
        x, z = a + direction * k * gap
        b.box((x, ground - height / 2, z), (thick, height, thick), material, yaw)
    for level in (0.2, 0.8):
        x, z = (a + e) / 2
        b.box((x, ground - level * height, z), (length, 0.6 * thick, 0.5 * thick), material, yaw)
