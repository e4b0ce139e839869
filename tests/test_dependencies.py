# SPDX-License-Identifier: Apache-2.0
"""Every dependency names the oldest version it was tried with, so that `make test-oldest` can try it again."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import oldest  # noqa: E402


def test_every_dependency_has_a_lower_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {line.split("==")[0] for line in oldest.oldest(project)}
    assert {"numpy", "numba", "dask[distributed]", "rerun-sdk", "pytest"} <= names
    assert not names & oldest.TOOLS


def test_a_dependency_without_a_bound_is_named() -> None:
    project = {"name": "x", "dependencies": ["numpy"], "optional-dependencies": {}}
    with pytest.raises(SystemExit, match="'numpy' has no lower bound"):
        oldest.oldest(project)
