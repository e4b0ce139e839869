# SPDX-License-Identifier: Apache-2.0
"""Who imports whom in src/prism_vo, and whether that is allowed: ``python tools/import_graph.py`` prints what is not.

Read from the source, so imports inside functions, under ``TYPE_CHECKING`` and by a name that is put together
(``f"prism_vo.commands.{module}"``) count like all others. A *room* is a package or a single module directly under
``prism_vo``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "prism_vo"
PACKAGE = "prism_vo"
FACE = "__init__"  # the public names; above everything that they stand for

# The order of the house, from the ground up: a room may import from lower floors only, neither from its own nor from
# above. A new room gets a place here; nowhere else is the order written down.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("arrays", "errors", "kernel_cache", "shelf"),
    ("bilinear", "bounded", "compiled", "prefetch"),
    ("atomic", "interruption", "workers"),
    (
        "output_folder",
        "stopwatch",
        "read_ahead",
        "frame_rate",
        "photometry",
        "se3",
        "linear",
        "yaml_files",
        "config",
        "config_ranges",
        "notebook",
    ),
    ("trajectory", "cloud", "optics", "config_file"),
    ("types", "evaluate", "simulate"),
    ("sensor", "tracking"),
    ("lightfield", "points", "loading"),
    ("datasets", "calibrate", "batch"),
    ("window", "baselines", "places", "board_fit", "dense"),
    ("map", "frame_report", "beginning"),
    ("variants", "copies", "doubtful_scale", "poor_frames", "poor_segments"),
    ("repeats",),
    ("following", "withdrawal"),
    ("odometry",),
    ("results", "recognition", "notices", "map_file", "checkpoint", "live", "compile_beside"),
    ("kept_run", "known_map", "run_result"),
    ("pipeline",),
    ("dense_run",),
    ("report",),
    ("view", "bench", "camera_fit", "export"),
    (FACE,),
    ("commands",),
    ("cli",),
    ("__main__",),
)

Graph = dict[str, set[str]]


def module_graph(source: Path = SOURCE) -> Graph:
    """Every module (dotted name below the package; ``""`` is the package itself) and the modules it imports."""
    files = {_module_name(path, source): path for path in sorted(source.rglob("*.py"))}
    return {
        name: {found for found in _imports(path, name, files.keys()) if found != name}
        for name, path in files.items()
    }


def room(module: str) -> str:
    """The room a module belongs to."""
    return module.split(".")[0] or FACE


def room_graph(modules: Graph) -> Graph:
    """The same, between rooms."""
    rooms: Graph = {room(module): set() for module in modules}
    for module, imported in modules.items():
        rooms[room(module)] |= {room(other) for other in imported} - {room(module)}
    return rooms


def cycles(graph: Graph) -> list[list[str]]:
    """Groups of nodes that can all reach each other (Tarjan's strongly connected components of two and more)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            start = stack.index(node)
            if len(stack) - start > 1:
                found.append(sorted(stack[start:]))
            del stack[start:]

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def floors() -> dict[str, int]:
    """Room → floor, 0 on the ground."""
    return {name: level for level, names in enumerate(LAYERS) for name in names}


def homeless(modules: Graph) -> list[str]:
    """Rooms that stand in the source but on no floor of ``LAYERS``."""
    return sorted({room(module) for module in modules} - floors().keys())


def upward_imports(modules: Graph) -> list[tuple[str, str]]:
    """(module, imported module) between different rooms where the second is not on a lower floor than the first."""
    level = floors()
    return sorted(
        (module, other)
        for module, imported in modules.items()
        for other in imported
        if room(module) != room(other)
        and level.get(room(other), len(LAYERS)) >= level.get(room(module), len(LAYERS))
    )


def _module_name(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path, name: str, known: Iterable[str]) -> Iterator[str]:
    """Modules of the package that a file names in any kind of import, or at the start of an f-string."""
    known = set(known)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (_below(alias.name) for alias in node.names if _below(alias.name) in known)
        elif isinstance(node, ast.ImportFrom):
            base = _relative(package, node) if node.level else node.module or ""
            if not (base == PACKAGE or base.startswith(f"{PACKAGE}.")):
                continue
            for alias in node.names:
                if (base, alias.name) == (PACKAGE, "__version__"):
                    continue  # a constant, set before the package imports anything
                inner = f"{_below(base)}.{alias.name}".lstrip(".")
                yield inner if inner in known else _below(base)
        elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
            written = re.fullmatch(rf"{PACKAGE}\.([\w.]+)\.", str(node.values[0].value))
            if written and written[1] in known:
                yield written[1]


def _below(dotted: str) -> str:
    """``prism_vo.optics.camera`` → ``optics.camera``; a name of another package stays as it is."""
    return "" if dotted == PACKAGE else dotted.removeprefix(f"{PACKAGE}.")


def _relative(package: str, node: ast.ImportFrom) -> str:
    parts = [PACKAGE, *filter(None, package.split("."))]
    return ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [node.module])])


def main() -> None:
    """Print what is wrong; nothing when all is well."""
    modules = module_graph()
    for name in homeless(modules):
        print(f"no floor in LAYERS: {name}")
    for group in cycles(modules):
        print(f"cycle of modules: {', '.join(group)}")
    for group in cycles(room_graph(modules)):
        print(f"cycle of rooms: {', '.join(group)}")
    for module, other in upward_imports(modules):
        print(f"upwards: {module or FACE} imports {other or FACE}")


if __name__ == "__main__":
    main()
