# SPDX-License-Identifier: Apache-2.0
"""One call of this program in a process of its own, with its output in a log."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from prism_vo.workers.processes import Workers

PROGRAM, CHILD = "prism_vo", "prism_vo.workers.child"
INPUT_ERROR = 2  # exit code of calls that cannot be carried out


@dataclass(frozen=True)
class Ended:
    """How a call ended."""

    code: int
    words: str  # the last line it printed


def call_program(
    arguments: list[str], log: Path, workers: Workers | None = None, module: str = PROGRAM
) -> Ended:
    """``python -m module arguments``; whatever happens to it, this process goes on."""
    workers = workers or Workers()
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with log.open("wb") as output:
        command = [sys.executable, "-m", CHILD, str(os.getpid()), module, *arguments]
        process = workers.start(command, output, environment)
        try:
            process.communicate()
        finally:
            workers.end(process)
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return Ended(process.returncode, lines[-1].strip() if lines else "")
