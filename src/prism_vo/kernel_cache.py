# SPDX-License-Identifier: Apache-2.0
"""Where compiled kernels are kept: a folder for each state of the sources they were compiled from.

Numba looks at the file of a kernel only, but compiles into it what it calls and every constant it reads from other
files. After an update of one of those it would go on with the old code, without a word. Here the folder's name says
what the kernel's file and all files of the package that it imports, directly or not, contained.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba

PACKAGE = Path(__file__).resolve().parent
settings: Any = numba.config  # of Numba; read from the environment, without declared types
KEPT = 6  # the last used: states of one file whose kernels are kept, and installations with the same state
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(prism_vo[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*)|import[ \t]+(prism_vo[\w.]*))",
    re.M,
)


def kernel_folder(file: Path) -> Path | None:
    """The folder for kernels of one source file of the package; None where nothing can be kept."""
    home = _home()
    if home is None:
        return None
    name = _module_name(file)
    folder = home / f"{name}-{state_of(file)}"
    try:
        folder.mkdir()
    except FileExistsError:
        with suppress(OSError):
            os.utime(folder)  # it was used now: others go first
    except OSError:
        return None
    else:
        _keep_newest(home, name)
    return folder


@cache
def state_of(file: Path) -> str:
    """A hash of a source file and of all files of the package it imports, directly or not."""
    digest = hashlib.sha256()
    for module in sorted(imported_modules(_module_name(file))):
        digest.update(f"{module} {_hash_and_imports(module)[0]}\n".encode())
    return digest.hexdigest()[:16]


def imported_modules(module: str) -> set[str]:
    """A module of the package (``lightfield.score``) and all others that it imports, directly or not."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _hash_and_imports(name)[1]
    return found


def _module_name(file: Path) -> str:
    return ".".join(file.relative_to(PACKAGE).with_suffix("").parts)


@cache
def _hash_and_imports(module: str) -> tuple[str, tuple[str, ...]]:
    """What a module contains, and the modules named in its imports; a name may be that of something in a module."""
    with open(os.path.join(PACKAGE, *module.split(".")) + ".py", "rb") as file:
        content = file.read()
    known, found = _modules(), []
    for line in _IMPORT.finditer(content.decode()):
        place = (line[1] or line[3])[len("prism_vo.") :]
        if place in known:
            found.append(place)
            continue
        inside = [f"{place}.{name}".lstrip(".") for name in re.findall(r"\w+", line[2] or "")]
        found += [name for name in inside if name in known]
        if not inside or not known.issuperset(inside):
            found.append(f"{place}.__init__".lstrip("."))
    return hashlib.sha256(content).hexdigest(), tuple(found)


@cache
def _modules() -> frozenset[str]:
    """All modules of the package; that of a folder is ``folder.__init__``."""
    found, root = [], len(str(PACKAGE)) + 1
    for folder, _, names in os.walk(PACKAGE):
        inside = folder[root:].replace(os.sep, ".")
        found += [f"{inside}.{name[:-3]}".lstrip(".") for name in names if name.endswith(".py")]
    return frozenset(found)


@cache
def _home() -> Path | None:
    """The first folder that can be written: the one chosen by the user, the user's cache, the package's own."""
    for candidate in _candidates():
        try:
            candidate.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=candidate).close()
        except OSError:
            continue
        return candidate
    return None


def _candidates() -> Iterator[Path]:
    if settings.CACHE_DIR:  # the variable NUMBA_CACHE_DIR
        yield Path(settings.CACHE_DIR).absolute() / "prism-vo"
    chosen = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    with suppress(RuntimeError):  # a user without a home
        usual = "Library/Caches" if sys.platform == "darwin" else ".cache"
        parent = Path(chosen) if chosen and Path(chosen).is_absolute() else Path.home() / usual
        yield parent / "prism-vo" / "kernels"
    yield PACKAGE / "__pycache__" / "kernels"


def _keep_newest(home: Path, name: str) -> None:
    """Remove kernels of older states of a file, and those of installations that have not been used for longest."""
    states = [path for path in home.glob(f"{name}-*") if path.name.rpartition("-")[0] == name]
    _remove_oldest(states)
    for state in states:
        with suppress(OSError):
            _remove_oldest(list(state.iterdir()))


def _remove_oldest(folders: list[Path]) -> None:
    """All but the newest; another process may be doing the same."""
    dated = []
    for folder in folders:
        with suppress(OSError):
            dated.append((folder.stat().st_mtime, folder))
    for _, folder in sorted(dated)[:-KEPT]:
        shutil.rmtree(folder, ignore_errors=True)
