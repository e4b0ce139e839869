# SPDX-License-Identifier: Apache-2.0
"""Can this commit be released? ``make release-check`` prints one line a question and ends with 1 if an answer is no."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent))

import distribution

ROOT = distribution.ROOT
NEEDED = ("cff-version", "title", "message", "type", "version", "license", "authors")  # of CITATION.cff
REFERENCE = ("type", "title", "authors", "year")  # of its preferred citation


def version() -> str:
    """Of the package."""
    text = (ROOT / "src/prism_vo/__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.M)
    assert found is not None
    return found[1]


def citation_faults() -> list[str]:
    """Its keys, and whether it cites this version; with cffconvert installed, its whole schema."""
    data = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    faults = [f"CITATION.cff lacks {key}" for key in NEEDED if not data.get(key)]
    preferred = data.get("preferred-citation", {})
    faults += [f"CITATION.cff: preferred-citation lacks {key}" for key in REFERENCE if not preferred.get(key)]
    people = [*data.get("authors", []), *preferred.get("authors", [])]
    if not all(person.get("name") or person.get("family-names") for person in people):
        faults.append("CITATION.cff: an author has neither name nor family-names")
    if str(data.get("version")) != version():
        faults.append(f"CITATION.cff cites version {data.get('version')}, the package is {version()}")
    return faults


def changelog_faults() -> list[str]:
    """Changes must stand under the version that is released."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased = re.search(r"^## Unreleased\n(.*?)(?=^## |\Z)", text, re.S | re.M)
    if unreleased is not None and unreleased[1].strip():
        return [f"CHANGELOG.md: the changes under Unreleased belong under ## {version()} or a newer version"]
    return [] if f"## {version()}" in text else [f"CHANGELOG.md has no section ## {version()}"]


def version_faults() -> list[str]:
    """A release has no suffix."""
    return [] if re.fullmatch(r"\d+\.\d+\.\d+", version()) else [f"{version()} is not a version to release"]


def address_faults() -> list[str]:
    """An index shows where a project lives."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if {"Repository", "Source", "Homepage"} & set(project.get("urls", {})):
        return []
    return ["pyproject.toml: project.urls names no address of the repository"]


def tree_faults() -> list[str]:
    """What is released is what is committed."""
    done = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True)
    return [f"not committed: {line[3:]}" for line in done.stdout.splitlines()]


def distribution_faults() -> list[str]:
    """Wheel and sdist."""
    with tempfile.TemporaryDirectory() as out:
        return distribution.faults_of_both(Path(out))


QUESTIONS: tuple[tuple[str, Callable[[], list[str]]], ...] = (
    ("version", version_faults),
    ("changelog", changelog_faults),
    ("citation", citation_faults),
    ("addresses", address_faults),
    ("working tree", tree_faults),
    ("wheel and sdist", distribution_faults),
)


def main() -> int:
    """All answers, not only the first bad one."""
    bad = 0
    for name, ask in QUESTIONS:
        faults = ask()
        bad += len(faults)
        print(f"{'ok ' if not faults else 'NO '} {name}")
        for fault in faults:
            print(f"      {fault}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
