# SPDX-License-Identifier: Apache-2.0
"""Prints the requirements that `make test-oldest` installs: every declared lower bound, pinned.

``python tools/oldest.py > oldest.txt`` reads ``pyproject.toml``: ``numpy>=2.0`` becomes ``numpy==2.0``. A
dependency without a lower bound is an error, because nobody could say with which version it was tried.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
BOUND = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(?P<extra>\[[^\]]*\])?>=(?P<version>[0-9][^,;\s]*)$")
# they look at the code or build the documentation, and want newer libraries than the package does
TOOLS = {"ruff", "mypy", "pre-commit", "types-PyYAML", "zensical", "mkdocstrings"}


def oldest(project: dict[str, object]) -> list[str]:
    """``name==version`` for every dependency of the project and of its extras."""
    extras = project["optional-dependencies"]
    assert isinstance(extras, dict)
    declared = [*project["dependencies"], *(line for lines in extras.values() for line in lines)]  # type: ignore[misc]
    pins: dict[str, str] = {}
    for line in declared:
        if line.startswith(f"{project['name']}["):
            continue
        found = BOUND.match(line)
        if found is None:
            raise SystemExit(f"pyproject.toml: {line!r} has no lower bound; write it as name>=version.")
        if found["name"] not in TOOLS:
            pins[found["name"] + (found["extra"] or "")] = found["version"]
    return [f"{name}=={version}" for name, version in pins.items()]


if __name__ == "__main__":
    with PYPROJECT.open("rb") as file:
        sys.stdout.write("\n".join(oldest(tomllib.load(file)["project"])) + "\n")
