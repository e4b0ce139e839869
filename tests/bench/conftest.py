# SPDX-License-Identifier: Apache-2.0
"""A recording for the benchmark's tests, and workers that find the methods of these tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from loops import write_loop


@pytest.fixture
def loop_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    before = os.environ.get("PYTHONPATH")
    folders = [str(Path(__file__).parent), *([before] if before else [])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))
    return write_loop(tmp_path / "recordings" / "loop")
