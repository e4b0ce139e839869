# SPDX-License-Identifier: Apache-2.0
"""Draws docs/figures/import-graph.svg: ``python tools/import_graph_figure.py``. Without dependencies; always the same.

Rooms stand on their floors, the ground at the bottom. Arrows into the two lowest floors, which everybody uses, are left
out, and so are imports that follow from others (a room's room imports it anyway). An import that goes up or sideways is
red.
"""

from __future__ import annotations

from pathlib import Path

import import_graph

FIGURE = Path(__file__).resolve().parent.parent / "docs" / "figures" / "import-graph.svg"
INK, MUTED, ROOM, WRONG = "#33393f", "#8a939b", "#0b7285", "#d9480f"
WIDTH, ROW, BOX, GAP, CHARACTER = 900, 58, 28, 26, 8.2
NAMES = {import_graph.FACE: "prism_vo (public names)", "__main__": "python -m prism_vo"}

Point = tuple[float, float]
Edge = tuple[str, str]
GROUND = {name for layer in import_graph.LAYERS[:2] for name in layer}


def draw(rooms: import_graph.Graph) -> str:
    """The figure for a graph of rooms, as SVG."""
    rows = _rows(rooms)
    place = _places(rows, rooms)
    height = ROW * len(rows) + 46
    parts = [f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#fcfcfa"/>']
    parts += [_arrow(place[a], place[b], (a, b)) for a, b in _needed(rooms) if b not in GROUND]
    parts += [_box(name, place[name]) for row in rows for name in row]
    words = (
        "An arrow points at what is imported. Left out: imports that follow from other arrows, "
        "and those of the grey rooms, which all use."
    )
    parts.append(_text((WIDTH / 2, height - 14), words, MUTED, 12))
    size = f'viewBox="0 0 {WIDTH} {height}" font-family="system-ui, sans-serif"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{_tips()}'
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def _rows(rooms: import_graph.Graph) -> list[list[str]]:
    """Rooms that exist, top floor first; those without a floor above all others, so that they are seen."""
    known = [[name for name in layer if name in rooms] for layer in reversed(import_graph.LAYERS)]
    lost = sorted(rooms.keys() - import_graph.floors().keys())
    return [row for row in [lost, *known] if row]


def _places(rows: list[list[str]], rooms: import_graph.Graph) -> dict[str, Point]:
    """Centre of every box. Within a row, boxes stand in the order of the mean place of those who import them."""
    place: dict[str, Point] = {}
    for index, row in enumerate(rows):

        def wish(name: str) -> float:
            above = [
                place[other][0]
                for other, imported in sorted(rooms.items())
                if name in imported and other in place
            ]
            return sum(above) / len(above) if above else WIDTH / 2

        order = sorted(row, key=lambda name: (round(wish(name), 3), name))
        x = (WIDTH - sum(_width(name) for name in row) - GAP * (len(row) - 1)) / 2
        if index % 2 == 1 and len(row) == 1:
            x += 0.12 * WIDTH  # lone boxes stand left and right in turn: arrows past them stay visible
        elif len(row) == 1:
            x -= 0.12 * WIDTH
        for name in order:
            place[name] = (x + _width(name) / 2, 34 + ROW * index)
            x += _width(name) + GAP
    return place


def _needed(rooms: import_graph.Graph) -> list[Edge]:
    """Edges that do not follow from a longer way; all edges between rooms that import each other."""
    return [
        (name, other)
        for name in sorted(rooms)
        for other in sorted(rooms[name])
        if not any(other in _reached(rooms, step, name) for step in rooms[name] - {other})
    ]


def _reached(rooms: import_graph.Graph, start: str, avoid: str) -> set[str]:
    """Everything ``start`` imports, directly or not, on ways that do not lead through ``avoid``."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for other in rooms[waiting.pop()] - found - {avoid}:
            found.add(other)
            waiting.append(other)
    return found


def _width(name: str) -> float:
    return CHARACTER * len(NAMES.get(name, name)) + 24


def _box(name: str, centre: Point) -> str:
    color = WRONG if name not in import_graph.floors() else MUTED if name in GROUND else ROOM
    width, (x, y) = _width(name), centre
    corner = f'x="{x - width / 2:.1f}" y="{y - BOX / 2:.1f}" width="{width:.1f}" height="{BOX}" rx="6"'
    fill = "#f1f3f4" if name in GROUND else "#eef6f7"
    return f'<rect {corner} fill="{fill}" stroke="{color}"/>' + _text(
        (x, y + 5), NAMES.get(name, name), INK, 14
    )


def _arrow(start: Point, end: Point, edge: Edge) -> str:
    floors = import_graph.floors()
    down = floors.get(edge[1], len(floors)) < floors.get(edge[0], len(floors))
    color, tip = (MUTED, "tip") if down else (WRONG, "wrong")
    sign = 1 if end[1] >= start[1] else -1
    (x0, y0), (x1, y1) = (start[0], start[1] + sign * BOX / 2), (end[0], end[1] - sign * BOX / 2)
    bend = sign * max(0.45 * abs(y1 - y0), 12.0)
    path = f"M{x0:.1f} {y0:.1f}C{x0:.1f} {y0 + bend:.1f} {x1:.1f} {y1 - bend:.1f} {x1:.1f} {y1:.1f}"
    return f'<path d="{path}" fill="none" stroke="{color}" stroke-width="1.2" marker-end="url(#{tip})"/>'


def _text(at: Point, words: str, color: str, size: int) -> str:
    style = f'fill="{color}" font-size="{size}" text-anchor="middle"'
    return f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" {style}>{words}</text>'


def _tips() -> str:
    marker = (
        '<marker id="{}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="{}"/></marker>'
    )
    return f"<defs>{marker.format('tip', MUTED)}{marker.format('wrong', WRONG)}</defs>"


if __name__ == "__main__":
    FIGURE.write_text(draw(import_graph.room_graph(import_graph.module_graph())), encoding="utf-8")
