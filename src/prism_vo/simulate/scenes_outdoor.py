# SPDX-License-Identifier: Apache-2.0
"""Outdoor loops: streets, an alley, a courtyard, a park, a garden. Horizons of hundreds of metres."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from prism_vo.simulate import furniture as f
from prism_vo.simulate.mesh import MeshBuilder

GROUND = 1.55
HILLS = f.Material("rough", 60.0, (0.4, 0.5, 0.5), (0.8, 0.9, 0.9))


def _horizon(b: MeshBuilder, rng: np.random.Generator, near: float, count: int = 26) -> None:
    """Ground to 600 m, hills, and blocks of houses 80–350 m away: something to see at every distance."""
    b.quad(
        (-600, GROUND + 0.02, -600),
        (1200, 0, 0),
        (0, 0, 1200),
        f.Material("grass", 9.0, f.GRASS.dark, f.GRASS.bright),
    )
    for k in range(count):
        angle, distance = 2 * np.pi * (k + rng.uniform(0, 0.8)) / count, rng.uniform(near, 4.5 * near)
        at = distance * np.array([np.sin(angle), np.cos(angle)])
        f.house(b, at, rng.uniform((14, 8, 10), (40, 30, 24)), GROUND, rng)
    ring = np.linspace(0, 2 * np.pi, 49)
    for a, n in pairwise(ring):
        p, q = np.array([np.sin(a), 0, np.cos(a)]) * 500, np.array([np.sin(n), 0, np.cos(n)]) * 500
        rise = 25 + 22 * np.sin(3 * a + 1) + 12 * np.sin(7 * a)
        b.quad(p - np.array([0, rise - GROUND, 0]), q - p, (0, rise, 0), HILLS, rng.random(2))


def _row_of_houses(
    b: MeshBuilder, start: np.ndarray, end: np.ndarray, depth: float, rng: np.random.Generator
) -> None:
    """Houses wall to wall (with some gaps) along a side of a street; ``depth`` to the right of start → end."""
    length = float(np.linalg.norm(end - start))
    direction = (end - start) / length
    right = np.array([direction[1], -direction[0]])
    s = 0.0
    while s < length - 5:
        w = float(rng.uniform(7, 14))
        w = min(w, length - s)
        middle = start + direction * (s + w / 2) + right * (depth / 2 + rng.uniform(0, 0.8))
        along_x = abs(direction[0]) > 0.5
        size = (w, rng.uniform(6, 13), depth) if along_x else (depth, rng.uniform(6, 13), w)
        f.house(b, middle, size, GROUND, rng)
        s += w + (float(rng.uniform(2, 5)) if rng.random() < 0.25 else 0.0)


def _street_furniture(
    b: MeshBuilder, start: np.ndarray, end: np.ndarray, rng: np.random.Generator, every: float
) -> None:
    """Lamps, trees, parked cars, bins along a kerb."""
    length = float(np.linalg.norm(end - start))
    direction = (end - start) / length
    yaw = float(np.arctan2(direction[0], direction[1]))
    for s in np.arange(5.0, length - 5, every):
        at = start + direction * s
        choice = rng.random()
        if choice < 0.3:
            f.car(b, at, GROUND, yaw, rng)
        elif choice < 0.55:
            f.tree(b, at, GROUND, float(rng.uniform(4, 8)), rng)
        elif choice < 0.75:
            f.lamp(b, at, GROUND)
        elif choice < 0.9:
            f.clutter(b, at - 0.5, at + 0.5, GROUND, 4, rng, (0.4, 1.1))
        else:
            f.fence(b, at, at + direction * 3, GROUND)


def _block(b: MeshBuilder, half: tuple[float, float], street: float, rng: np.random.Generator) -> None:
    """A block of houses with streets around it and houses on the far sides."""
    (hx, hz), w = half, street
    corners = np.array([[-hx, -hz], [hx, -hz], [hx, hz], [-hx, hz]])
    for k in range(4):
        a, e = corners[k], corners[(k + 1) % 4]
        d = (e - a) / np.linalg.norm(e - a)
        out = np.array([d[1], -d[0]])
        _row_of_houses(b, e - d * 0.5, a + d * 0.5, 8.0, rng)  # the block itself: depth points inwards
        _row_of_houses(b, a + out * w - d * w, e + out * w + d * w, 10.0, rng)
        _street_furniture(b, a + out * 1.4, e + out * 1.4, rng, 6.5)
        _street_furniture(b, a + out * (w - 1.2), e + out * (w - 1.2), rng, 6.0)
    b.quad((-hx - w, GROUND, -hz - w), (2 * (hx + w), 0, 0), (0, 0, 2 * (hz + w)), f.ASPHALT)
    for sx, sz in ((hx + 1.8, hz + 1.8),):
        b.quad((-sx, GROUND - 0.12, -sz), (2 * sx, 0, 0), (0, 0, 2 * sz), f.PAVING)


def street(rng: np.random.Generator) -> MeshBuilder:
    """Around a block of 58 × 34 m: 200 m."""
    b = MeshBuilder()
    _horizon(b, rng, 95)
    _block(b, (29, 17), 10.0, rng)
    return b


def old_town(rng: np.random.Generator) -> MeshBuilder:
    """Narrow lanes around a block of 30 × 20 m: 120 m."""
    b = MeshBuilder()
    _horizon(b, rng, 80, 18)
    _block(b, (15, 10), 7.0, rng)
    return b


def courtyard(rng: np.random.Generator) -> MeshBuilder:
    """A paved yard of 26 × 20 m between houses, trees and benches in its middle."""
    b = MeshBuilder()
    _horizon(b, rng, 90, 14)
    b.quad((-13, GROUND, -10), (26, 0, 0), (0, 0, 20), f.Material("cells", 3.0, f.STONE.dark, f.STONE.bright))
    for centre, size in (
        ((0, -14), (30, 9, 8)),
        ((17.5, 0), (9, 12, 19)),
        ((0, 14), (30, 8, 8)),
        ((-17.5, 0), (9, 10, 19)),
    ):
        f.house(b, centre, size, GROUND, rng)
    for x, z in ((-4.5, -1.5), (0, 1.0), (4.5, -1.0), (2.0, 2.0)):
        f.tree(b, (x, z), GROUND, float(rng.uniform(3.5, 6)), rng, 220)
        b.box((x + 1, GROUND - 0.25, z - 0.6), (1.6, 0.5, 0.5), f.WOOD, float(rng.uniform(0, 3)), rng)
    for start, end in (
        ((-11.5, -9), (11.5, -9)),
        ((11.8, -8), (11.8, 8)),
        ((11.5, 9), (-11.5, 9)),
        ((-11.8, 8), (-11.8, -8)),
    ):
        a, e = np.array(start, float), np.array(end, float)
        for s in np.arange(0.05, 1.0, 0.09):
            at = a + s * (e - a)
            if rng.random() < 0.35:
                f.plant(b, (at[0], GROUND, at[1]), float(rng.uniform(1, 1.9)), rng, 70)
            elif rng.random() < 0.5:
                f.clutter(b, at - 0.4, at + 0.4, GROUND, 3, rng, (0.3, 0.8))
    return b


def park(rng: np.random.Generator) -> MeshBuilder:
    """Paths between trees on rolling ground: 100 m."""
    b = MeshBuilder()
    _horizon(b, rng, 110)
    x, z = np.linspace(-45, 45, 61), np.linspace(-45, 45, 61)
    xx, zz = np.meshgrid(x, z)
    bumps = 0.25 * np.sin(0.33 * xx + 1) * np.sin(0.27 * zz) + 0.5 * np.sin(0.09 * xx) * np.cos(
        0.11 * zz + 0.5
    )
    edge = np.clip((45 - np.maximum(abs(xx), abs(zz))) / 8, 0, 1)
    b.height_field(x, z, GROUND - 0.05 + bumps * edge * 0.6, f.GRASS)
    for _ in range(110):
        at = rng.uniform(-42, 42, 2)
        radius = np.hypot(at[0] / 17.5, at[1] / 13.5)
        if 0.82 < radius < 1.2:
            continue
        f.tree(b, at, GROUND + 0.1, float(rng.uniform(4, 9)), rng, 120)
    for k in range(26):
        a = 2 * np.pi * k / 26
        at = np.array([17.5 * np.cos(a), 13.5 * np.sin(a)]) * (1.25 if k % 2 else 0.77)
        if k % 3 == 0:
            b.box((at[0], GROUND - 0.25, at[1]), (1.7, 0.5, 0.5), f.WOOD, float(rng.uniform(0, 3)), rng)
        elif k % 3 == 1:
            f.lamp(b, at, GROUND)
        else:
            b.sphere((at[0], GROUND - 0.1, at[1]), float(rng.uniform(0.4, 0.9)), f.STONE)
    return b


def garden(rng: np.random.Generator) -> MeshBuilder:
    """Around a house, between hedges, fences and flower beds: 60 m."""
    b = MeshBuilder()
    _horizon(b, rng, 75, 20)
    f.house(b, (0, 0), (10, 6, 7), GROUND, rng)
    b.quad((-7, GROUND - 0.02, -5.5), (14, 0, 0), (0, 0, 11), f.PAVING)
    for start, end in (
        ((-12, -10.5), (12, -10.5)),
        ((12, -10.5), (12, 10.5)),
        ((12, 10.5), (-12, 10.5)),
        ((-12, 10.5), (-12, -10.5)),
    ):
        f.fence(b, start, end, GROUND, 1.3, 0.3, 0.06)
        a, e = np.array(start, float), np.array(end, float)
        for s in np.arange(0.04, 1.0, 0.07):
            at = (a + s * (e - a)) * 0.93
            if rng.random() < 0.45:
                f.plant(b, (at[0], GROUND, at[1]), float(rng.uniform(0.8, 2.0)), rng, 80)
            elif rng.random() < 0.4:
                f.tree(b, at * 1.2, GROUND, float(rng.uniform(3, 6)), rng)
    for x, z in ((-5.6, -4.2), (5.7, -4.3), (5.5, 4.2), (-5.6, 4.3), (0, -4.3), (0.5, 4.3)):
        f.clutter(b, (x - 0.4, z - 0.3), (x + 0.4, z + 0.3), GROUND, 4, rng, (0.2, 0.6))
    return b
