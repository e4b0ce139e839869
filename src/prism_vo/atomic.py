# SPDX-License-Identifier: Apache-2.0
"""Files replaced in one step: a crash or a full disk never leaves half of one, nor destroys the old one."""

from __future__ import annotations

import os
from pathlib import Path


def write_bytes_atomically(path: Path, data: bytes) -> None:
    """Write beside the target, then rename over it."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text_atomically(path: Path, text: str) -> None:
    """The same for UTF-8 text."""
    write_bytes_atomically(path, text.encode("utf-8"))
