# SPDX-License-Identifier: Apache-2.0
"""Imports go down the floors declared in tools/import_graph.py, never in a circle; the figure shows them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import import_graph  # noqa: E402
import import_graph_figure  # noqa: E402


@pytest.fixture(scope="module")
def modules() -> import_graph.Graph:
    return import_graph.module_graph()


def test_every_room_has_a_floor(modules: import_graph.Graph) -> None:
    assert not import_graph.homeless(modules), "name its floor in LAYERS of tools/import_graph.py"


def test_no_circles_between_modules_or_rooms(modules: import_graph.Graph) -> None:
    assert not import_graph.cycles(modules)
    assert not import_graph.cycles(import_graph.room_graph(modules))


def test_imports_lead_to_lower_floors(modules: import_graph.Graph) -> None:
    wrong = [f"{module} imports {other}" for module, other in import_graph.upward_imports(modules)]
    assert not wrong, "\n".join(wrong)


def test_figure_is_what_the_script_draws(modules: import_graph.Graph) -> None:
    drawn = import_graph_figure.draw(import_graph.room_graph(modules))
    assert import_graph_figure.FIGURE.read_text(encoding="utf-8") == drawn, (
        "run: python tools/import_graph_figure.py"
    )


def test_all_kinds_of_imports_are_seen(tmp_path: Path) -> None:
    """At the top, in a function, for types only, relative, by a composed name; not the version, not other packages."""
    files = {
        "__init__.py": "",
        "a.py": "import numpy\nfrom prism_vo.b import name\nfrom prism_vo import __version__",
        "b.py": "def f():\n    import prism_vo.c",
        "c.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from prism_vo import a",
        "room/__init__.py": "from .inner import x",
        "room/inner.py": "from ..d import y\nfrom . import other",
        "room/other.py": "",
        "d.py": 'load(f"prism_vo.room.{name}")',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = import_graph.module_graph(tmp_path)
    assert found == {
        "": set(),
        "a": {"b"},
        "b": {"c"},
        "c": {"a"},
        "room": {"room.inner"},
        "room.inner": {"d", "room.other"},
        "room.other": set(),
        "d": {"room"},
    }
    assert import_graph.cycles(found) == [["a", "b", "c"], ["d", "room", "room.inner"]]
    assert import_graph.cycles(import_graph.room_graph(found)) == [["a", "b", "c"], ["d", "room"]]
