# SPDX-License-Identifier: Apache-2.0
"""The scenes that can be rendered: what they are, how they are filmed, which camera suits them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prism_vo.errors import ConfigError
from prism_vo.simulate import scenes_close as close
from prism_vo.simulate import scenes_indoor as indoor
from prism_vo.simulate import scenes_outdoor as outdoor
from prism_vo.simulate.mesh import MeshBuilder
from prism_vo.simulate.path import PathSpec
from prism_vo.simulate.scene import Scene
from prism_vo.simulate.textures import atlas_for

Builder = Callable[[np.random.Generator], MeshBuilder]


@dataclass(frozen=True)
class SceneEntry:
    """One scene of the catalogue."""

    name: str
    summary: str
    builder: Builder
    path: PathSpec
    camera: str
    moving: Callable[[float], MeshBuilder] | None = None


def _oval(rx: float, rz: float, y: float = 0.0, corners: int = 12) -> tuple[tuple[float, float, float], ...]:
    """A rounded rectangle, once around, starting in the middle of its near side and walking along +x."""
    out = []
    for k in range(corners):
        a = -np.pi / 2 + 2 * np.pi * k / corners
        c, s = np.cos(a), np.sin(a)
        out.append((float(rx * np.sign(c) * abs(c) ** 0.4), y, float(rz * np.sign(s) * abs(s) ** 0.4)))
    return tuple(out)


def _inside(rx: float, rz: float, step: float, clear: tuple[float, float], pitch: float = 0.0) -> PathSpec:
    """A walk around a room or hall."""
    return PathSpec("walk", _oval(rx, rz), step, clear, pitch=pitch)


def _outside(rx: float, rz: float, step: float, clear: tuple[float, float]) -> PathSpec:
    """A walk in the open, filmed with the 35-mm lens: slower turns, a calmer hand."""
    return PathSpec("walk", _oval(rx, rz), step, clear, turn=0.55, sway=0.6)


def _close(
    target: float, frames: int = 240, extent: tuple[float, float, float] = (0.22, 0.1, 0.12)
) -> PathSpec:
    """A sweep of the hand before things at ``target`` metres."""
    return PathSpec(
        "sweep", ((0.0, 0.0, 0.0),), 0.01, target=(0.0, 0.15, target), extent=extent, frames=frames
    )


STAIRS = (
    (1.6, 0.0, -1.5),
    (1.6, 0.0, -0.2),
    (1.6, -0.9, 1.8),
    (1.6, -1.9, 3.7),
    (1.4, -2.0, 5.2),
    (0.0, -2.0, 6.3),
    (-1.4, -2.0, 5.2),
    (-1.6, -1.9, 3.7),
    (-1.6, -0.9, 1.8),
    (-1.6, 0.0, -0.2),
    (-1.4, 0.0, -1.8),
    (0.0, 0.0, -3.0),
    (1.4, 0.0, -2.4),
)

_ENTRIES = (
    SceneEntry(
        "table",
        "cluttered table before a stone wall, 0.6–2.6 m",
        close.table,
        _close(1.5, 200, (0.3, 0.12, 0.16)),
        "r5",
    ),
    SceneEntry(
        "room", "office room, loop of 13 m", indoor.office, _inside(2.1, 1.75, 0.05, (0.9, 0.55), 0.08), "r5"
    ),
    SceneEntry(
        "street",
        "around a block of houses, loop of 200 m",
        outdoor.street,
        _outside(33.5, 21.5, 0.14, (6.0, 2.6)),
        "r5-35mm",
    ),
    SceneEntry(
        "seq_001",
        "office room, loop of 13 m",
        indoor.office,
        _inside(2.1, 1.75, 0.05, (0.9, 0.55), 0.08),
        "r5",
    ),
    SceneEntry(
        "seq_002",
        "living room, loop of 10 m",
        indoor.living_room,
        _inside(1.75, 1.35, 0.05, (0.9, 0.5), 0.08),
        "r5",
    ),
    SceneEntry(
        "seq_003",
        "corridor around a core, loop of 40 m",
        indoor.corridor,
        _inside(6.1, 4.6, 0.07, (1.5, 0.5)),
        "r5",
    ),
    SceneEntry(
        "seq_004",
        "up one flight of stairs and down another, loop of 25 m",
        indoor.stairs,
        PathSpec("walk", STAIRS, 0.06, (0.5, 0.7), pitch=0.05),
        "r5",
    ),
    SceneEntry(
        "seq_005",
        "library hall with columns, loop of 37 m",
        indoor.hall,
        _inside(6.0, 3.6, 0.08, (2.0, 0.8)),
        "r5",
    ),
    SceneEntry(
        "seq_006",
        "courtyard between houses, loop of 55 m",
        outdoor.courtyard,
        _outside(9.0, 6.2, 0.10, (4.0, 1.2)),
        "r5-35mm",
    ),
    SceneEntry(
        "seq_007",
        "around a block of houses, loop of 200 m",
        outdoor.street,
        _outside(33.5, 21.5, 0.14, (6.0, 2.6)),
        "r5-35mm",
    ),
    SceneEntry(
        "seq_008",
        "narrow lanes of an old town, loop of 100 m",
        outdoor.old_town,
        _outside(18.3, 13.3, 0.12, (5.0, 1.2)),
        "r5-35mm",
    ),
    SceneEntry(
        "seq_009",
        "park with trees, loop of 100 m",
        outdoor.park,
        _outside(17.0, 13.0, 0.12, (5.0, 1.2)),
        "r5-35mm",
    ),
    SceneEntry(
        "seq_010", "parking deck, loop of 60 m", indoor.garage, _inside(10.5, 4.2, 0.10, (2.5, 0.8)), "r5"
    ),
    SceneEntry(
        "seq_011",
        "garden around a house, loop of 50 m",
        outdoor.garden,
        _outside(8.3, 6.6, 0.10, (3.0, 1.0)),
        "r5-35mm",
    ),
    SceneEntry("01_plants", "potted plants with thin stems", close.plants, _close(1.2), "r32-half"),
    SceneEntry("02_tools", "work bench with rods and tins", close.tools, _close(1.1), "r32-half"),
    SceneEntry("03_books", "book cases and stacks of books", close.books, _close(1.2), "r32-half"),
    SceneEntry("04_toys", "balls, blocks and cones", close.toys, _close(1.2), "r32-half"),
    SceneEntry("05_wires", "cables and grilles", close.wires, _close(1.2), "r32-half"),
    SceneEntry("06_kitchen", "jars before a tiled wall", close.kitchen, _close(1.1), "r32-half"),
    SceneEntry("07_workshop", "a mirror, glass and a glossy table", close.workshop, _close(1.3), "r32-half"),
    SceneEntry(
        "board",
        "checkerboard of 9×6 corners, 30-mm squares, on the table",
        close.board,
        PathSpec(
            "sweep",
            ((0.0, 0.0, 0.0),),
            0.01,
            target=(0.0, 0.08, 0.86),
            extent=(0.42, 0.3, 0.22),
            sway=2.0,
            frames=160,
        ),
        "r5",
    ),
    SceneEntry(
        "calibration",
        "the table, filmed as a calibration asks for: sideways, up, near and far, tilted and turned",
        close.table,
        PathSpec(
            "sweep",
            ((0.0, 0.0, -0.15),),
            0.02,
            target=(0.0, 0.15, 1.5),
            extent=(0.3, 0.2, 0.25),
            sway=2.0,
            frames=120,
            roll=0.35,
        ),
        "r5",
    ),
    SceneEntry(
        "fan",
        "crossing grilles, translucent turning blades, a mirror",
        close.fan_still,
        _close(1.2, 200, (0.2, 0.1, 0.1)),
        "r5",
        close.fan_blades,
    ),
)
CATALOGUE = {entry.name: entry for entry in _ENTRIES}


def entry_of(name: str) -> SceneEntry:
    """The catalogue's entry of this name."""
    if name not in CATALOGUE:
        raise ConfigError(f"There is no scene '{name}'; `prism-vo simulate --list` shows them all.")
    return CATALOGUE[name]


def build_scene(name: str, seed: int = 0) -> Scene:
    """Build a scene of the catalogue; other seeds place and texture things differently."""
    entry = entry_of(name)
    builder = entry.builder(np.random.default_rng((seed, 99)))
    used = {m.texture for m in builder.materials}
    if entry.moving is not None:
        used |= {m.texture for m in entry.moving(0.0).materials}
    return Scene(name, builder, atlas_for(used), entry.moving)
