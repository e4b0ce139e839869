# SPDX-License-Identifier: Apache-2.0
"""Indoor loops: rooms, corridors, stairs, a hall, a garage. Eyes at y = 0, floors about 1.5 m below."""

from __future__ import annotations

import numpy as np

from prism_vo.simulate import furniture as f
from prism_vo.simulate.mesh import MeshBuilder

FLOOR = 1.5


def _along_walls(
    b: MeshBuilder,
    low: tuple[float, float],
    high: tuple[float, float],
    rng: np.random.Generator,
    every: float,
) -> None:
    """Shelves, boxes, plants and posters along the four walls of (x, z) low to high."""
    sides = (
        ((low[0], low[1]), (high[0], low[1]), 0.0),
        ((high[0], low[1]), (high[0], high[1]), -np.pi / 2),
        ((high[0], high[1]), (low[0], high[1]), np.pi),
        ((low[0], high[1]), (low[0], low[1]), np.pi / 2),
    )
    for start, end, yaw in sides:
        a, e = np.array(start), np.array(end)
        length = np.linalg.norm(e - a)
        inward = np.array([np.sin(yaw), np.cos(yaw)])
        for s in np.arange(0.9, length - 0.8, every):
            x, z = a + (e - a) / length * s + inward * 0.25
            choice = rng.random()
            if choice < 0.4:
                f.shelf(b, (x, z), FLOOR, yaw, rng, 1.1, float(rng.uniform(1.2, 2.1)))
            elif choice < 0.6:
                f.plant(b, (x, FLOOR, z), float(rng.uniform(0.9, 1.6)), rng, 60)
            elif choice < 0.8:
                f.clutter(b, (x - 0.3, z - 0.15), (x + 0.3, z + 0.15), FLOOR, 5, rng, (0.2, 0.6))
            elif choice < 0.92:
                size = (0.9, 1.2)
                middle = np.array([x, FLOOR - 1.7, z]) - np.array([inward[0], 0, inward[1]]) * 0.23
                right = np.array([-np.cos(yaw), 0, np.sin(yaw)]) * size[0]
                b.quad(middle - right / 2, right, (0, size[1], 0), f.POSTERS, rng.random(2))


def office(rng: np.random.Generator) -> MeshBuilder:
    """A room of 7 × 6 m with desks in its middle."""
    b = MeshBuilder()
    f.room(
        b,
        (-3.5, -1.2, -3.0),
        (3.5, FLOOR, 3.0),
        (f.PLASTER, f.BRICK, f.PLAIN, f.POSTERS),
        f.CARPET,
        f.PLASTER,
    )
    _along_walls(b, (-3.5, -3.0), (3.5, 3.0), rng, 1.35)
    for x in (-0.7, 0.7):
        f.table(b, (x, FLOOR - 0.74, 0.0), (1.3, 1.0), FLOOR)
        f.clutter(b, (x - 0.55, -0.4), (x + 0.55, 0.4), FLOOR - 0.74, 9, rng, (0.08, 0.35))
        f.chair(b, (x, 0.75), FLOOR, float(rng.uniform(-0.4, 0.4)))
    return b


def living_room(rng: np.random.Generator) -> MeshBuilder:
    """A room of 6 × 5 m: sofa blocks, low table, plants, book cases, one bare wall."""
    b = MeshBuilder()
    f.room(
        b, (-3.0, -1.1, -2.5), (3.0, FLOOR, 2.5), (f.POSTERS, f.PLASTER, f.BRICK, f.PLAIN), f.WOOD, f.PLAIN
    )
    _along_walls(b, (-3.0, -2.5), (3.0, 2.5), rng, 1.5)
    f.table(b, (0, FLOOR - 0.45, 0), (1.2, 0.7), FLOOR, f.DARK_WOOD)
    f.clutter(b, (-0.5, -0.3), (0.5, 0.3), FLOOR - 0.45, 8, rng, (0.06, 0.25))
    b.box(
        (0, FLOOR - 0.02, 0), (2.4, 0.03, 1.8), f.Material("fabric", 0.9, (0.2, 0.25, 0.5), (0.95, 0.9, 0.8))
    )
    for z, yaw in ((0.0, 0.1),):
        b.box((-1.1, FLOOR - 0.3, z), (0.5, 0.6, 0.9), f.CARPET, yaw, rng)
    return b


def corridor(rng: np.random.Generator) -> MeshBuilder:
    """A corridor of 2.2 m around a block of 10 × 7 m, with doors, notice boards and niches."""
    b = MeshBuilder()
    outer, inner = (7.2, 5.7), (4.7, 3.2)
    f.room(
        b,
        (-outer[0], -1.1, -outer[1]),
        (outer[0], FLOOR, outer[1]),
        (f.PLASTER, f.BRICK, f.PLASTER, f.PLAIN),
        f.PAVING,
        f.PLAIN,
    )
    b.box((0, 0.2, 0), (2 * inner[0], 2.6, 2 * inner[1]), f.PLASTER, 0.0, rng)
    for half, axis in ((outer, 1), (outer, 0), (inner, 1), (inner, 0)):
        inside = half is inner
        for sign in (-1, 1):
            for s in np.arange(-half[1 - axis] + 1.1, half[1 - axis] - 0.9, 1.45):
                at = np.zeros(3)
                at[0 if axis else 2], at[2 if axis else 0] = (
                    s,
                    sign * (half[axis] + (0.03 if inside else -0.03)),
                )
                size = (0.9, 0.0, 0.05) if axis else (0.05, 0.0, 0.9)
                if rng.random() < 0.4:
                    b.box(
                        (at[0], FLOOR - 1.0, at[2]),
                        (size[0], 2.0, size[2]),
                        f.pick(rng, (f.WOOD, f.DARK_WOOD)),
                    )
                elif rng.random() < 0.75:
                    b.box((at[0], FLOOR - 1.5, at[2]), (size[0], 0.9, size[2]), f.POSTERS, 0.0, rng)
                else:
                    f.clutter(b, at[[0, 2]] - 0.15, at[[0, 2]] + 0.15, FLOOR, 3, rng, (0.2, 0.5))
    return b


def stairs(rng: np.random.Generator) -> MeshBuilder:
    """Two flights side by side between two landings: up one, along, down the other."""
    b = MeshBuilder()
    rise = 2.0
    f.room(
        b, (-3.2, -4.2, -4.6), (3.2, FLOOR, 8.6), (f.PLASTER, f.BRICK, f.STONE, f.POSTERS), f.PAVING, f.PLAIN
    )
    steps = 12
    for x in (-1.6, 1.6):
        for k in range(steps):
            h = rise * (k + 1) / steps
            b.box((x, FLOOR - h / 2, 0.2 + 0.3 * k), (2.2, h, 0.3), f.STONE, 0.0, rng)
        f.fence(b, (x * 0.3, 0.1), (x * 0.3, 3.6), FLOOR - 1.0, 1.0, 0.3, 0.03, f.METAL)
    b.box((0, FLOOR - rise / 2, 6.2), (6.4, rise, 5.0), f.PAVING, 0.0, rng)
    for x, z, y in (
        (-2.6, 8.0, FLOOR - rise),
        (2.5, 8.1, FLOOR - rise),
        (-2.7, -4.0, FLOOR),
        (2.6, -4.1, FLOOR),
    ):
        f.plant(b, (x, y, z), 1.3, rng, 60)
    for x in np.arange(-2.4, 2.6, 1.2):
        f.clutter(b, (x, 8.0), (x + 0.5, 8.3), FLOOR - rise, 3, rng, (0.2, 0.5))
        b.quad((x, -1.6, 8.58), (0.9, 0, 0), (0, 0.9, 0), f.POSTERS, rng.random(2))
        b.quad((x, -0.7, -4.58), (0.9, 0, 0), (0, 0.9, 0), f.POSTERS, rng.random(2))
    return b


def hall(rng: np.random.Generator) -> MeshBuilder:
    """A library hall of 16 × 12 m with columns and rows of shelves."""
    b = MeshBuilder()
    f.room(b, (-8, -3.5, -6), (8, FLOOR, 6), (f.STONE, f.BRICK, f.PLASTER, f.BOOKS), f.WOOD, f.PLASTER)
    _along_walls(b, (-8, -6), (8, 6), rng, 1.5)
    for x in (-3.0, 0.0, 3.0):
        for z in (-1.3, 1.3):
            b.cylinder((x, FLOOR, z), (0, -5.0, 0), 0.3, f.STONE, 16)
        for yaw in (0.0, np.pi):
            f.shelf(b, (x + 1.3, 0.2 if yaw == 0.0 else -0.2), FLOOR, yaw, rng, 1.4, 1.7)
    return b


def garage(rng: np.random.Generator) -> MeshBuilder:
    """A parking deck of 26 × 18 m: pillars, parked cars, pipes under the ceiling."""
    b = MeshBuilder()
    f.room(b, (-13, -1.3, -9), (13, FLOOR, 9), (f.PLASTER, f.BRICK, f.PLASTER, f.STONE), f.ASPHALT, f.PLASTER)
    for x in np.arange(-9, 9.1, 6):
        for z in (-2.5, 2.5):
            b.box((x, 0.1, z), (0.5, 2.8, 0.5), f.POSTERS if rng.random() < 0.4 else f.PLASTER, 0.0, rng)
        for z in (-7.0, 0.0, 7.0):
            if rng.random() < 0.85:
                f.car(
                    b,
                    (x + 1.6, z),
                    FLOOR,
                    float(rng.uniform(-0.08, 0.08)) + np.pi * int(rng.integers(2)),
                    rng,
                )
            f.clutter(b, (x - 1.4, z - 0.4), (x - 0.8, z + 0.4), FLOOR, 2, rng, (0.3, 0.7))
    for z in (-4.0, -3.8, 3.6):
        b.cylinder((-13, -1.1, z), (26, 0, 0), 0.08, f.METAL, 8)
    return b
