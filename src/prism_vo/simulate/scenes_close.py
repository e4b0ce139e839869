# SPDX-License-Identifier: Apache-2.0
"""Close-range scenes (0.4–2.6 m): tables, plants, thin structures, and the fan that breaks monocular methods."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from prism_vo.simulate import furniture as f
from prism_vo.simulate.mesh import Material, MeshBuilder

TOP = 0.32  # height of table tops below the camera
FLOOR = 1.1
GLASS = Material("plain", 1.0, macro=0.0, own=0.05, reflect=0.06, transmit=0.9)
MIRROR = Material("plain", 1.0, macro=0.0, own=0.04, reflect=0.9)
BLACK, WHITE = Material("plain", own=0.12, macro=0.0), Material("plain", macro=0.0)
BOARD_COLUMNS, BOARD_ROWS, BOARD_SQUARE = 10, 7, 0.03  # squares; m
GLOSSY = Material("wood", 0.7, (0.45, 0.3, 0.2), (0.9, 0.7, 0.5), own=0.8, reflect=0.18)


def _backdrop(b: MeshBuilder, depth: float, wall: Material, side: Material = f.PLASTER) -> None:
    f.room(b, (-2.4, -1.6, -1.8), (2.4, FLOOR, depth), (f.POSTERS, side, wall, f.BRICK), f.CARPET, f.PLASTER)


def table(rng: np.random.Generator) -> MeshBuilder:
    """A cluttered table in front of a stone wall, 0.6–2.6 m."""
    b = MeshBuilder()
    _backdrop(b, 2.5, f.STONE)
    f.table(b, (0, TOP, 1.45), (2.6, 1.9), FLOOR)
    f.clutter(b, (-0.95, 0.95), (0.95, 2.2), TOP, 16, rng, (0.12, 0.42))
    f.clutter(b, (-0.5, 0.72), (0.5, 1.0), TOP, 5, rng, (0.05, 0.14))
    return b


def plants(rng: np.random.Generator) -> MeshBuilder:
    """Potted plants with thin stems on a table."""
    b = MeshBuilder()
    _backdrop(b, 2.0, f.BRICK)
    f.table(b, (0, TOP, 1.2), (2.2, 1.5), FLOOR, f.DARK_WOOD)
    for x, z in ((-0.55, 0.95), (0.05, 0.8), (0.6, 1.0), (-0.25, 1.4), (0.4, 1.55), (-0.8, 1.6)):
        f.plant(b, (x, TOP, z), float(rng.uniform(0.4, 0.75)), rng, 60)
    f.clutter(b, (-0.7, 0.7), (0.7, 1.6), TOP, 6, rng, (0.05, 0.12))
    return b


def tools(rng: np.random.Generator) -> MeshBuilder:
    """A work bench: rods, boxes, tins, a board with printed sheets."""
    b = MeshBuilder()
    _backdrop(b, 1.7, f.POSTERS)
    f.table(b, (0, TOP, 1.1), (2.4, 1.2), FLOOR, f.WOOD)
    for _ in range(26):
        start = np.array([rng.uniform(-0.8, 0.8), TOP - 0.02, rng.uniform(0.65, 1.5)])
        axis = rng.uniform((-0.3, -0.25, -0.2), (0.3, 0.0, 0.2))
        b.cylinder(start, axis, float(rng.uniform(0.006, 0.018)), f.pick(rng, (f.METAL, f.WOOD, f.BRICK)), 8)
    f.clutter(b, (-0.9, 0.7), (0.9, 1.5), TOP, 14, rng, (0.05, 0.22))
    return b


def books(rng: np.random.Generator) -> MeshBuilder:
    """Book cases at half an arm's length, with stacks in front."""
    b = MeshBuilder()
    _backdrop(b, 1.9, f.PLASTER)
    for x in (-1.2, 0.05, 1.3):
        f.shelf(b, (x, 1.55), FLOOR, np.pi, rng, 1.2, 2.2)
    f.table(b, (0, TOP + 0.1, 0.95), (1.5, 0.6), FLOOR)
    for x in np.linspace(-0.6, 0.6, 6):
        y = TOP + 0.1
        for _ in range(int(rng.integers(2, 6))):
            size = rng.uniform((0.14, 0.02, 0.1), (0.24, 0.06, 0.2))
            b.box(
                (x, y - size[1] / 2, rng.uniform(0.8, 1.1)),
                size,
                f.pick(rng),
                float(rng.uniform(-0.6, 0.6)),
                rng,
            )
            y -= size[1]
    return b


def toys(rng: np.random.Generator) -> MeshBuilder:
    """Balls, blocks and cones on a carpet."""
    b = MeshBuilder()
    _backdrop(b, 2.0, f.Material("clutter", 1.8, (0.3, 0.4, 0.6), (1.0, 0.9, 0.8)))
    f.table(b, (0, TOP, 1.2), (2.4, 1.6), FLOOR, f.Material("fabric", 0.8, (0.6, 0.3, 0.3), (1.0, 0.95, 0.8)))
    for _ in range(9):
        r = rng.uniform(0.05, 0.13)
        b.sphere((rng.uniform(-0.8, 0.8), TOP - r, rng.uniform(0.7, 1.8)), r, f.pick(rng), 16)
    for _ in range(6):
        h = rng.uniform(0.15, 0.4)
        b.cylinder(
            (rng.uniform(-0.8, 0.8), TOP, rng.uniform(0.8, 1.8)), (0, -h, 0), 0.35 * h, f.pick(rng), 18, 0.01
        )
    f.clutter(b, (-0.9, 0.7), (0.9, 1.8), TOP, 12, rng, (0.05, 0.2))
    return b


def wires(rng: np.random.Generator) -> MeshBuilder:
    """Racks, cables and grilles: thin structures at several depths."""
    b = MeshBuilder()
    _backdrop(b, 2.0, f.PLASTER, f.BRICK)
    f.table(b, (0, TOP, 1.3), (2.4, 1.3), FLOOR, f.METAL)
    for z, gap in ((0.8, 0.11), (1.2, 0.08), (1.6, 0.06)):
        f.fence(b, (-0.8, z), (0.8, z), TOP, 0.7, gap, 0.008, f.METAL)
    for _ in range(30):
        points = np.cumsum(rng.normal(0, 0.09, (8, 3)), 0)
        points += np.array([rng.uniform(-0.6, 0.6), -0.1, rng.uniform(0.8, 1.7)])
        for p, q in pairwise(points):
            b.cylinder(p, q - p, 0.006, f.pick(rng, (f.BRICK, f.DARK_WOOD, f.LEAVES)), 5, caps=False)
    f.clutter(b, (-0.9, 0.9), (0.9, 1.8), TOP, 10, rng, (0.08, 0.25))
    return b


def kitchen(rng: np.random.Generator) -> MeshBuilder:
    """Jars, bowls and a glossy board before a tiled wall."""
    b = MeshBuilder()
    _backdrop(b, 1.8, f.PAVING)
    f.table(b, (0, TOP, 1.15), (2.4, 1.3), FLOOR, f.STONE)
    for _ in range(14):
        h, r = rng.uniform(0.08, 0.32), rng.uniform(0.03, 0.09)
        at = (rng.uniform(-0.8, 0.8), TOP, rng.uniform(0.65, 1.65))
        b.cylinder(at, (0, -h, 0), r, f.pick(rng), 18, r * rng.uniform(0.7, 1.2))
    f.shelf(b, (0.7, 1.7), TOP - 0.45, np.pi, rng, 0.9, 0.7)
    f.clutter(b, (-0.9, 0.7), (0.9, 1.6), TOP, 8, rng, (0.05, 0.16))
    return b


def workshop(rng: np.random.Generator) -> MeshBuilder:
    """A mirror, glass panes and a glossy table among the clutter."""
    b = MeshBuilder()
    _backdrop(b, 2.1, f.BRICK)
    f.table(b, (0, TOP, 1.3), (2.4, 1.5), FLOOR, GLOSSY)
    b.quad((-0.9, -0.6, 1.75), (0.7, 0, 0.15), (0, 0.85, 0), MIRROR)
    b.quad((0.1, -0.25, 0.95), (0.45, 0, 0.1), (0, 0.55, 0), GLASS)
    f.clutter(b, (-0.9, 0.75), (0.9, 1.7), TOP, 18, rng, (0.06, 0.26))
    f.plant(b, (0.6, TOP, 1.5), 0.6, rng)
    return b


def fan_still(rng: np.random.Generator) -> MeshBuilder:
    """What stands still around the fan: grilles crossing each other, a mirror, the table behind."""
    b = MeshBuilder()
    _backdrop(b, 2.4, f.POSTERS)
    f.table(b, (0, TOP + 0.1, 1.5), (2.4, 1.2), FLOOR)
    f.clutter(b, (-0.9, 1.3), (0.9, 2.0), TOP + 0.1, 12, rng, (0.1, 0.3))
    b.quad((0.55, -0.5, 1.9), (0.6, 0, -0.25), (0, 0.8, 0), MIRROR)
    turn = np.deg2rad(rng.uniform(20, 40))
    for angle, z in ((turn, 0.86), (turn + np.pi / 2, 0.9)):
        c, s = np.cos(angle), np.sin(angle)
        rotation = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        for k in np.arange(-0.33, 0.34, 0.06):
            b.box((-s * k, c * k, z), (0.72, 0.008, 0.008), f.METAL, rotation=rotation)
    for k in range(16):
        a, n = 2 * np.pi * k / 16, 2 * np.pi * (k + 1) / 16
        p, q = np.array([np.cos(a), np.sin(a), 0]), np.array([np.cos(n), np.sin(n), 0])
        b.cylinder(0.36 * p + (0, 0, 0.88), 0.36 * (q - p), 0.014, f.METAL, 6)
    b.cylinder((0, 0.36, 0.98), (0, TOP + 0.1 - 0.36, 0.1), 0.03, f.DARK_WOOD, 10)
    return b


def fan_blades(time: float) -> MeshBuilder:
    """Four translucent blades, 1.3 turns a second."""
    b = MeshBuilder()
    blade = Material("print", 0.4, (0.5, 0.55, 0.7), (0.9, 0.95, 1.0), own=0.28, reflect=0.05, transmit=0.72)
    b.cylinder((0, 0, 0.95), (0, 0, 0.08), 0.05, f.DARK_WOOD, 14)
    for k in range(4):
        a = 2 * np.pi * (1.3 * time + k / 4)
        radial, across = np.array([np.cos(a), np.sin(a), 0]), np.array([-np.sin(a), np.cos(a), 0.35])
        b.quad(0.05 * radial - 0.06 * across + (0, 0, 0.98), 0.26 * radial, 0.13 * across, blade)
    return b


def board(rng: np.random.Generator) -> MeshBuilder:
    """A checkerboard of 9 × 6 inner corners on the cluttered table, leaning back."""
    b = table(rng)
    right, down = np.array([1.0, 0.05, 0.12]), np.array([-0.02, 0.96, -0.2])
    right /= np.linalg.norm(right)
    down -= (down @ right) * right
    down /= np.linalg.norm(down)
    toward = np.cross(down, right)  # to the camera
    wide, high = BOARD_COLUMNS * BOARD_SQUARE, BOARD_ROWS * BOARD_SQUARE
    corner = np.array([0.0, 0.08, 0.86]) - 0.5 * (wide * right + high * down)
    rim = 0.6 * BOARD_SQUARE
    b.quad(corner - rim * (right + down), (wide + 2 * rim) * right, (high + 2 * rim) * down, WHITE)
    for row in range(BOARD_ROWS):
        for column in range(row % 2, BOARD_COLUMNS, 2):
            place = corner + BOARD_SQUARE * (column * right + row * down) + 2e-4 * toward
            b.quad(place, BOARD_SQUARE * right, BOARD_SQUARE * down, BLACK)
    return b
