# SPDX-License-Identifier: Apache-2.0
"""Compiled code follows the sources it was compiled from, also those in other files; a broken cache breaks nothing."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.errors import NumbaError
from numba.extending import overload

from prism_vo import kernel_cache
from prism_vo.compiled import njit
from prism_vo.kernel_cache import KEPT, PACKAGE, imported_modules

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
from import_graph import module_graph

CALLER = """
from prism_vo.compiled import njit
from prism_vo.callee import (
    scaled,
)
@njit(nogil=True, cache=True)
def value(x):
    return scaled(x) + 0.5
"""
CALLEE = """
from prism_vo.compiled import njit
from prism_vo import numbers_of_it
FACTOR = numbers_of_it.FACTOR
@njit(cache=True, inline="always")
def scaled(x):
    return FACTOR * x
"""
ASK = "from prism_vo.caller import value as v; print(v(1.0), sum(v.stats.cache_hits.values()))"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of that name with one kernel that calls another, which reads a number of a third file."""
    folder = tmp_path / "prism_vo"
    folder.mkdir()
    for name in ("compiled.py", "kernel_cache.py"):
        shutil.copy(PACKAGE / name, folder)
    for name, text in (
        ("__init__", ""),
        ("caller", CALLER),
        ("callee", CALLEE),
        ("numbers_of_it", "FACTOR = 2.0"),
    ):
        (folder / f"{name}.py").write_text(text)
    return folder


def ask(package: Path, **variables: str) -> tuple[float, int]:
    """The kernel's answer in a new process, and how often it came from the cache."""
    places = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(package.parent / "cache")}
    done = subprocess.run(
        [sys.executable, "-B", "-c", ASK],
        env={**os.environ, **places, **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    answer, hits = done.stdout.split()
    return float(answer), int(hits)


def test_a_changed_number_two_files_away_changes_the_compiled_kernel(package: Path) -> None:
    number = package / "numbers_of_it.py"
    before = number.stat()
    assert ask(package) == (2.5, 0)
    assert ask(package) == (2.5, 1)
    number.write_text("FACTOR = 3.0")
    os.utime(number, ns=(before.st_atime_ns, before.st_mtime_ns))  # neither size nor date tell
    assert ask(package) == (3.5, 0)
    number.write_text("FACTOR = 2.0")
    assert ask(package) == (2.5, 1)  # what was compiled before is still there


def test_damaged_files_of_the_cache_mean_compiling(package: Path) -> None:
    ask(package)
    damaged = list((package.parent / "cache").rglob("*.nb?"))
    assert damaged
    for path in damaged:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert ask(package) == (2.5, 0)
    for path in damaged:
        path.write_bytes(b"")
    assert ask(package) == (2.5, 0)
    assert ask(package) == (2.5, 1)


def test_where_nothing_can_be_written_kernels_are_compiled_in_every_process(package: Path) -> None:
    nowhere = package / "a_file"
    nowhere.write_text("")
    (package / "__pycache__").write_text("")
    places = {"NUMBA_CACHE_DIR": str(nowhere), "XDG_CACHE_HOME": str(nowhere), "LOCALAPPDATA": str(nowhere)}
    for _ in range(2):
        assert ask(package, **places) == (2.5, 0)


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_is_collected_after_compiling_as_before(collecting: bool) -> None:
    seen = []

    def probe(x: float) -> float:
        return x

    @overload(probe)
    def _while_compiling(x):  # type: ignore[no-untyped-def]
        seen.append(gc.isenabled())
        return lambda x: x

    @njit()
    def kernel(x):  # type: ignore[no-untyped-def]
        return probe(x) + 1.0

    (gc.enable if collecting else gc.disable)()
    try:
        assert kernel(1.5) == 2.5
        assert seen and not any(seen)
        assert gc.isenabled() == collecting
        with pytest.raises(NumbaError):
            kernel("no number")
        assert gc.isenabled() == collecting
    finally:
        gc.enable()


def test_folders_of_older_states_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = PACKAGE / "linear" / "schur.py"
    monkeypatch.setattr(kernel_cache, "_home", lambda: tmp_path)
    for number in range(2 * KEPT):
        monkeypatch.setattr(kernel_cache, "state_of", lambda _, state=f"{number:016x}": state)
        folder = kernel_cache.kernel_folder(file)
        assert folder is not None and folder.is_dir()
        os.utime(folder, (number, number))
        (folder / "kernel").mkdir()
    (tmp_path / "linear.schur-other-0000").mkdir()
    kept = sorted(path.name for path in tmp_path.glob("linear.schur-0*"))
    assert len(kept) == KEPT and kept[-1].endswith(f"{2 * KEPT - 1:016x}")


def test_every_kernel_is_kept_by_its_sources_and_no_import_is_overlooked() -> None:
    graph = {name or "__init__": found for name, found in module_graph().items()}
    packages = {name for name in graph if (PACKAGE / name.replace(".", "/")).is_dir()}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert path.name == "compiled.py" or "from numba import" not in text, path
        if "from prism_vo.compiled import njit" in text:
            module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
            found, waiting = imported_modules(module), [module]
            seen: set[str] = set()
            while waiting:  # by the syntax tree; what a folder's __init__ imports is not what is called
                name = waiting.pop()
                if name not in seen and name not in packages:
                    seen.add(name)
                    waiting += graph[name]
            assert seen <= found, (module, seen - found)
