# SPDX-License-Identifier: Apache-2.0
"""A small simulated recording, and the program as a process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def program(*arguments: str) -> list[str]:
    """The command line that starts the program in this interpreter."""
    return [sys.executable, "-m", "prism_vo", *arguments]


def recording(folder: Path, frames: int) -> Path:
    """A sweep over a table, seen by the smallest camera."""
    options = ["--camera", "mini", "--frames", str(frames), "--truth-every", "0"]
    done = subprocess.run(program("simulate", "table", str(folder), *options), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder
